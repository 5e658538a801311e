"""The doors, one per module."""
