# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium rules`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "routing_rules.list",
        help=("List routing rules."),
        columns=(
            TableColumn("ID", "id"),
            TableColumn("ENABLED", "enabled"),
            TableColumn("PRIORITY", "priority"),
            TableColumn("DESTINATION", "destinationId"),
            TableColumn("EVENT TYPES", "eventTypes"),
            TableColumn("FILTER", "filter"),
            TableColumn("NAME", "name"),
        ),
        options=(
            Option(
                "--destination",
                "destination_id",
                metavar="ID",
                help=("Rules of this destination."),
                repeated=True,
            ),
            Option(
                "--enabled/--disabled",
                "enabled",
                help=("Only enabled rules, or only disabled ones."),
            ),
        ),
        paged=True,
    ),
    Plain(
        "get", "routing_rules.get", help=("Show a routing rule."), arguments=(("rule_id", "ID"),)
    ),
    Plain(
        "delete",
        "routing_rules.delete",
        help=("Delete a routing rule."),
        arguments=(("rule_id", "ID"),),
    ),
    Plain(
        "enable",
        "routing_rules.enable",
        help=("Enable a routing rule."),
        arguments=(("rule_id", "ID"),),
    ),
    Plain(
        "disable",
        "routing_rules.disable",
        help=("Disable a routing rule."),
        arguments=(("rule_id", "ID"),),
    ),
)
