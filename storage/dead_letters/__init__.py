"""The dead-letter queue: its reads, requeue and discard."""
