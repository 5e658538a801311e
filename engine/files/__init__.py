"""Files: what is uploaded, or fetched for an event, and kept for as long as its event is."""
