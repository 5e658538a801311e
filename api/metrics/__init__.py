"""Metrics for Prometheus: the list of them, their exposition, and the files that are made of the list."""
