"""Neighbours that are stuck or hostile, on a whole server: another workspace does not notice them.

`bench.isolation` measures how much later the other workspace's events arrive. Here the bounds are
counted.
"""
