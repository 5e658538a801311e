# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium audit`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "audit_logs.list",
        help=(
            "List changes of configuration.\n\nNewest first. MCP keys also see changes of the "
            "whole workspace, such as its plan and its MCP keys. A change and its entry are "
            "written together, and entries are never removed. A search for rare values stops "
            "after a limited time. A page can then hold fewer than `limit` entries, even "
            "none, and still have a `nextCursor`. Such a page has `searchedTo`: the search "
            "has examined all entries after this time."
        ),
        columns=(
            TableColumn("AT", "createdAt"),
            TableColumn("ID", "id"),
            TableColumn("ACTOR", "actorType"),
            TableColumn("ACTOR ID", "actorId"),
            TableColumn("ACTION", "action"),
            TableColumn("OBJECT", "objectId"),
        ),
        options=(
            Option(
                "--action",
                "action",
                metavar="TEXT",
                help=("Changes with this action, such as `destination.update`."),
                repeated=True,
            ),
            Option(
                "--object-type",
                "object_type",
                metavar="TEXT",
                help=("Changes of this type of object, such as `destination`."),
                repeated=True,
            ),
            Option(
                "--object",
                "object_id",
                metavar="ID",
                help=("Changes of the object with this id."),
                repeated=True,
            ),
            Option(
                "--actor",
                "actor_id",
                metavar="ID",
                help=("Changes by the actor with this id, such as a key."),
                repeated=True,
            ),
        ),
        paged=True,
        spans=True,
    ),
    Plain(
        "get",
        "audit_logs.get",
        help=("Show a change of configuration."),
        arguments=(("entry_id", "ID"),),
    ),
)
