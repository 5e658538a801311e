"""A variant of `angarium` that allows other processes of its user account to inspect its process:
`python -m bench.traceable`.

A normal server forbids this (`api/core_dumps.py`). Only root can then count the descriptors of the
server's process or reset the peak of its memory.
"""


def stay_traceable() -> None:
    """Allow other processes of the same user account to inspect this process. Call this function before
    you import the server."""
    from api import core_dumps

    core_dumps.forbid_core_dumps = lambda: None


if __name__ == "__main__":
    stay_traceable()
    from api.cli import main

    main(prog_name="angarium")
