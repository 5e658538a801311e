"""Where the time goes: CPU by stage, module and statement, allocations, and the depths of queues.

`bench.profiling.profile.Profile` is what a run uses. What runs within the server is `sampler`, `depths`
and `recording`; the rest reads what they wrote.
"""
