"""Tests that the simulated database does as PostgreSQL does: the same calls, answers and rows."""
