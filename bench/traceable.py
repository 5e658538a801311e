"""A variant of `angarium` whose process its own account can inspect, to measure it: `python -m
bench.traceable`.

A server forbids that (`api/core_dumps.py`), and then only root could count its descriptors or reset the
peak of its memory. Nothing else is different.
"""


def stay_traceable() -> None:
    """Let the server of this process be as open as the system has it. Before its serving is imported."""
    from api import core_dumps

    core_dumps.forbid_core_dumps = lambda: None


if __name__ == "__main__":
    stay_traceable()
    from api.cli import main

    main(prog_name="angarium")
