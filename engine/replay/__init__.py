"""Replay jobs: they send past deliveries again. The deliveries of new events are sent first."""
