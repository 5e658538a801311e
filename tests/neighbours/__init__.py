"""Stuck or hostile neighbours on a whole server: another workspace does not notice them.

`bench.isolation` measures the delay of the other workspace's events. These tests check that each
neighbour stays within its limits.
"""
