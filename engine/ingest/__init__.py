"""Ingestion: from a request's bytes to submissions, for events, batches, files and own events."""
