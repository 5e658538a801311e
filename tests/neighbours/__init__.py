"""Stuck or hostile neighbours on a whole server: another workspace does not notice them.

`bench.isolation` measures the delay of the other workspace's events. These tests count the limits.
"""
