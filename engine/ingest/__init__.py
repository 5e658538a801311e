"""Ingestion: from a request's bytes to submissions, for events, batches and files, and for the service's
own events."""
