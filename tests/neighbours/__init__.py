"""Tests of two workspaces on one server. The clients, receivers or stores of one workspace hang or are
hostile. The other workspace must not notice it.

These tests check that the first workspace stays within its limits. `bench.isolation` measures how long
the events of the other workspace are delayed.
"""
