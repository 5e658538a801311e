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
            "may. One server is ACTIVE and does all work, or each of several workers has its "
            "slots and does their work. A STANDBY relays its clients' connections to the "
            "active server, and takes over when that is gone."
        ),
        columns=(
            Column("NAME", "name"),
            Column("ID", "id"),
            Column("STATE", "state"),
            Column("VERSION", "version"),
            Column("STARTED", "startedAt"),
            Column("ROLE", "role"),
            Column("SLOTS", "slots"),
        ),
        paged=True,
    ),
)
