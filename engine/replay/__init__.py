"""Replay jobs: they send past deliveries again, behind all live ones."""
