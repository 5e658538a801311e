"""A variant of `angarium` whose process can be inspected by its own user account: `python -m
bench.traceable`.

A server forbids that (`api/core_dumps.py`), so only root could count its descriptors or reset the peak of
its memory.
"""


def stay_traceable() -> None:
    """Let this process be inspected when it becomes a server. Call it before the import of the server."""
    from api import core_dumps

    core_dumps.forbid_core_dumps = lambda: None


if __name__ == "__main__":
    stay_traceable()
    from api.cli import main

    main(prog_name="angarium")
