"""The files of events: uploaded or fetched, and kept for as long as their event."""
