"""The dead-letter queue: read oldest first, requeued and discarded."""
