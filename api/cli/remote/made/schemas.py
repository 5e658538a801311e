# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium schemas`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "schemas.list",
        help=("List versions of event schemas."),
        columns=(
            TableColumn("ID", "id"),
            TableColumn("VERSION", "version"),
            TableColumn("STATUS", "status"),
            TableColumn("CREATED", "createdAt"),
            TableColumn("EVENT TYPE", "eventType"),
            TableColumn("DESCRIPTION", "description"),
        ),
        options=(
            Option(
                "--type",
                "event_type",
                metavar="EVENT_TYPE",
                help=("Versions of this event type."),
                repeated=True,
            ),
            Option("--status", "status", words=("DRAFT", "ACTIVE", "DEPRECATED"), repeated=True),
        ),
        paged=True,
    ),
    Plain(
        "versions",
        "schemas.versions",
        help=("List the versions of an event type's schema."),
        arguments=(("event_type", "EVENT_TYPE"),),
        columns=(
            TableColumn("ID", "id"),
            TableColumn("VERSION", "version"),
            TableColumn("STATUS", "status"),
            TableColumn("CREATED", "createdAt"),
            TableColumn("EVENT TYPE", "eventType"),
            TableColumn("DESCRIPTION", "description"),
        ),
    ),
    Plain(
        "active",
        "schemas.active",
        help=("Show the active schema of an event type."),
        arguments=(("event_type", "EVENT_TYPE"),),
    ),
    Plain(
        "get",
        "schemas.get",
        help=("Show a version of an event schema."),
        arguments=(("schema_id", "ID"),),
    ),
    Plain(
        "activate",
        "schemas.activate",
        help=(
            "Activate a version of an event schema.\n\nFrom now on, events of the schema's type "
            "must conform to this version. The version that was active becomes DEPRECATED. An "
            "event that does not conform gets 400 `schema_violation` with the failing paths."
        ),
        arguments=(("schema_id", "ID"),),
    ),
    Plain(
        "deprecate",
        "schemas.deprecate",
        help=(
            "Deprecate the active version of an event schema.\n\nFrom now on, events of its "
            "type are not checked, until a version is activated."
        ),
        arguments=(("schema_id", "ID"),),
    ),
)
