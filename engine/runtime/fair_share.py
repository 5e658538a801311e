"""The fair share of a resource that workspaces have in common: a dynamic threshold, not a fixed number.

A workspace can have at most `portion` times the amount that is still free. So a part of the resource
always stays free for the next workspace. If n workspaces take all that they can,
1 / (n * `portion` + 1) of the resource stays free. Network switches share their buffers in this way.
"""


def may_have_more(own: int, free: int, portion: int) -> bool:
    """Return True if a workspace can have one more unit of the resource. `own`: the units that the
    workspace has. `free`: the units that are free."""
    return own < portion * free


def room(own: int, free: int, portion: int) -> int:
    """Return how many more units the workspace can take, one after the other. Each unit that it takes
    raises `own` by one and lowers `free` by one."""
    return max(0, (portion * free - own + portion) // (portion + 1))
