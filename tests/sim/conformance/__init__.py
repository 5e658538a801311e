"""Tests that the simulated database behaves like PostgreSQL: the same calls, answers and rows."""
