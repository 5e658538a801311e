# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium nodes`."""

from api.cli.remote.plain import Plain
from api.cli.remote.tables import Column

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "nodes.list",
        help=(
            "List the servers of this installation.\n\nBy name, from the memory of the server "
            "that answers. Only a key of scope `manage` of the installation's first workspace "
            "may. Today one server works at a time: one that starts takes over, and its "
            "predecessor stops."
        ),
        columns=(
            Column("NAME", "name"),
            Column("ID", "id"),
            Column("STATE", "state"),
            Column("VERSION", "version"),
            Column("STARTED", "startedAt"),
            Column("HOME SLOTS", "homeSlots"),
            Column("SHARDS", "shards"),
        ),
        paged=True,
    ),
)
