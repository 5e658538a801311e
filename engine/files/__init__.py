"""Files: uploaded, or fetched for an event, and kept for as long as their event."""
