"""Rows of nodes and of leases."""
