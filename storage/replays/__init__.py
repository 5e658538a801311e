"""Replay jobs: as callers see them, and as they are run."""
