"""The log of events and deliveries: its partitions, and its pages for callers."""
