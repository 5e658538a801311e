"""Replay jobs: their view for callers, and their execution."""
