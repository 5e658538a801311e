"""Metrics for Prometheus: their list, their exposition, and the files generated from the list."""
