"""The fair share of something that workspaces have in common: a dynamic threshold, not a fixed number.

A workspace has at most `portion` times what is free, so some is always left for the next one: a
workspace alone stops at `portion` of `portion` + 1 parts, and n of them leave one part of
n * `portion` + 1. Switches share their buffers so. A fixed limit would be wrong for one tenant or for a
thousand.
"""


def may_have_more(own: int, free: int, portion: int) -> bool:
    """Return whether a workspace that has `own` of something may have one more while `free` are left."""
    return own < portion * free


def room(own: int, free: int, portion: int) -> int:
    """Return how many more such a workspace may take at once, one after the other, by the same rule."""
    return max(0, (portion * free - own + portion) // (portion + 1))
