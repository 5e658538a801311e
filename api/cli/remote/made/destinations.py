# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium destinations`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "destinations.list",
        help=("List destinations."),
        columns=(
            TableColumn("ID", "id"),
            TableColumn("STATUS", "status"),
            TableColumn("ORDERING", "delivery.ordering"),
            TableColumn("CUSTOMER", "customerExternalId"),
            TableColumn("TEMPLATE", "templateId"),
            TableColumn("NAME", "name"),
            TableColumn("URL", "url"),
        ),
        options=(
            Option(
                "--status",
                "status",
                words=("ACTIVE", "DISABLED", "ARCHIVED"),
                help=("Destinations with this status. By default ACTIVE and DISABLED ones."),
                repeated=True,
            ),
            Option(
                "--customer-account",
                "customer_account_id",
                metavar="ID",
                help=("Destinations of this account."),
            ),
        ),
        paged=True,
    ),
    Plain(
        "get",
        "destinations.get",
        help=("Show a destination."),
        arguments=(("destination_id", "ID"),),
    ),
    Plain(
        "delete",
        "destinations.archive",
        help=(
            "Archive a destination.\n\nWaiting deliveries and dead letters of the destination "
            "are discarded. The destination stays readable."
        ),
        arguments=(("destination_id", "ID"),),
        confirm="Archive {} and discard its waiting deliveries?",
    ),
    Plain(
        "enable",
        "destinations.enable",
        help=("Enable a destination.\n\nThe deliveries that were held as PENDING are sent."),
        arguments=(("destination_id", "ID"),),
    ),
    Plain(
        "disable",
        "destinations.disable",
        help=(
            "Disable a destination.\n\nIts deliveries are held as PENDING until the destination "
            "is enabled."
        ),
        arguments=(("destination_id", "ID"),),
    ),
    Plain(
        "summaries",
        "destinations.summaries",
        help=(
            "List destinations with their health and their last 24 hours.\n\nArchived "
            "destinations are left out. With the order `trouble`, failing destinations and "
            "disabled ones with waiting deliveries come first, then degraded, healthy, idle, "
            "and other disabled ones. Within each kind the longest queue comes first. A "
            "destination that has not recovered counts as failing, even if no delivery waits "
            "for it. The order is at most a second old: a destination can move between two "
            "pages."
        ),
        columns=(
            TableColumn("STATE", "health.state"),
            TableColumn("PENDING", "health.queue.pending"),
            TableColumn("IN FLIGHT", "health.queue.inFlight"),
            TableColumn("DLQ", "inDlq"),
            TableColumn("ATTEMPTS 24H", "totals.attempts"),
            TableColumn("FAILED 24H", "totals.failed"),
            TableColumn("ID", "destination.id"),
            TableColumn("NAME", "destination.name"),
        ),
        options=(
            Option(
                "--name",
                "name",
                metavar="TEXT",
                help=("A part of the name, in upper or lower case."),
            ),
            Option(
                "--state",
                "state",
                words=("HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"),
                help=("Destinations whose health has this state."),
                repeated=True,
            ),
            Option(
                "--customer",
                "customer_external_id",
                metavar="EXTERNAL_ID",
                help=("Destinations of this customer."),
                repeated=True,
            ),
            Option(
                "--sort",
                "sort",
                words=("trouble", "pending", "age", "name"),
                help=(
                    "The order. `trouble`: the worst first. `pending`: the longest queue first. "
                    "`age`: the longest wait first."
                ),
            ),
        ),
    ),
    Plain(
        "resume",
        "destinations.resume",
        help=(
            "Lift the hold on a destination.\n\nEnds the pause that the receiver asked for with "
            "Retry-After. An open circuit sends a probe at once, and closes if the probe "
            "succeeds. The answer is the destination's health, which can still show the hold "
            "for a moment. 409 if the destination is DISABLED or ARCHIVED."
        ),
        arguments=(("destination_id", "ID"),),
    ),
    Plain(
        "health",
        "destinations.health",
        help=("Show the health of a destination."),
        arguments=(("destination_id", "ID"),),
    ),
    Plain(
        "lanes",
        "destinations.lanes",
        help=(
            "List a destination's lanes.\n\nLists the ordered lanes with waiting deliveries. "
            "The lane whose head, its first delivery, is the oldest comes first. A "
            "destination with ordering NONE has no lanes. The server examines the "
            "destination's 5,000 oldest unsettled deliveries; if there are more, `atLeast` is "
            "true."
        ),
        arguments=(("destination_id", "ID"),),
        columns=(
            TableColumn("KIND", "kind"),
            TableColumn("KEY", "key"),
            TableColumn("DEPTH", "depth"),
            TableColumn("HEAD", "head.id"),
            TableColumn("STATUS", "head.status"),
            TableColumn("ERROR", "head.errorCategory"),
            TableColumn("UNTIL", "until"),
        ),
        paged=True,
    ),
)
