"""Tests that the simulated database behaves like PostgreSQL."""
