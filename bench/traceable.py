"""`angarium` whose process its own account may look into, to measure it: `python -m bench.traceable`.

A server forbids that (`api/composition/process_limits.py`), and then only root could count its
descriptors or reset the peak of its memory. Nothing else is different.
"""


def stay_traceable() -> None:
    """Let the server of this process be as open as the system has it. Before its serving is imported."""
    # The whole server: not before its clock or pace is another.
    from api.composition import process_limits

    process_limits.forbid_core_dumps = lambda: None


if __name__ == "__main__":
    stay_traceable()
    from api.cli import main

    main(prog_name="angarium")
