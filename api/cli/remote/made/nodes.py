# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium nodes`."""

from api.cli.remote.plain import Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "nodes.list",
        help=(
            "List the servers of this installation.\n\nSorted by name. The list shows what the "
            "answering server knows. The call needs a key of scope `manage` of the "
            "installation's first workspace. Each part of the workspaces has one ACTIVE "
            "server, which does the work of the part. A STANDBY of the part takes over if the "
            "ACTIVE server fails."
        ),
        columns=(
            TableColumn("NAME", "name"),
            TableColumn("ID", "id"),
            TableColumn("STATE", "state"),
            TableColumn("VERSION", "version"),
            TableColumn("STARTED", "startedAt"),
            TableColumn("ROLE", "role"),
            TableColumn("PART", "part"),
            TableColumn("SLOTS", "slots"),
            TableColumn("DRAINED", "drained"),
            TableColumn("ACCEPTED/S", "acceptedPerSecond"),
            TableColumn("DELIVERED/S", "deliveredPerSecond"),
            TableColumn("WAITING", "waiting"),
            TableColumn("LINK", "link"),
            TableColumn("HEARTBEAT MS", "heartbeatAgeMs"),
        ),
        paged=True,
    ),
    Plain(
        "drain",
        "nodes.drain",
        help=(
            "Drain a machine.\n\nOther machines take the parts of this machine over within "
            "seconds. The machine gets no parts until the drain ends, also after a restart. "
            "It still relays its clients' requests, and keeps its parts while no other "
            "machine can take them."
        ),
        arguments=(("machine", "MACHINE"),),
    ),
    Plain(
        "undrain",
        "nodes.undrain",
        help=(
            "End the drain of a machine.\n\nThe machine gets its share of the parts within seconds."
        ),
        arguments=(("machine", "MACHINE"),),
    ),
)
