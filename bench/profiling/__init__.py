"""The profiles of the server: CPU by stage, module and statement, allocations, and depths of queues.

`sampler`, `depths` and `recording` run within the server and import no other module of the bench.
"""
