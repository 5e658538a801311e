# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium destinations`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import Column

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "destinations.list",
        help=("List destinations."),
        columns=(
            Column("ID", "id"),
            Column("STATUS", "status"),
            Column("ORDERING", "delivery.ordering"),
            Column("CUSTOMER", "customerExternalId"),
            Column("TEMPLATE", "templateId"),
            Column("NAME", "name"),
            Column("URL", "url"),
        ),
        options=(
            Option(
                "--status",
                "status",
                words=("ACTIVE", "DISABLED", "ARCHIVED"),
                help=("Destinations of this status; without it ACTIVE and DISABLED ones."),
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
            "Archive a destination.\n\nWaiting deliveries and those in the dead-letter queue "
            "are discarded. The destination's record stays readable."
        ),
        arguments=(("destination_id", "ID"),),
        confirm="Archive {} and discard its waiting deliveries?",
    ),
    Plain(
        "enable",
        "destinations.enable",
        help=("Enable a destination.\n\nDeliveries held as PENDING are sent."),
        arguments=(("destination_id", "ID"),),
    ),
    Plain(
        "disable",
        "destinations.disable",
        help=("Disable a destination.\n\nDeliveries are held as PENDING until it is enabled."),
        arguments=(("destination_id", "ID"),),
    ),
    Plain(
        "summaries",
        "destinations.summaries",
        help=(
            "List destinations with their health and their last 24 hours.\n\nArchived "
            "destinations are left out. Sorted by `trouble`, failing destinations and "
            "disabled ones with waiting deliveries come first, then degraded ones, healthy "
            "ones, idle ones and other disabled ones. Within each kind the longest queue "
            "comes first. A destination that has not recovered counts as failing, even if no "
            "delivery waits for it. The order is at most a second old: a destination can "
            "change its place between two pages."
        ),
        columns=(
            Column("STATE", "health.state"),
            Column("PENDING", "health.queue.pending"),
            Column("IN FLIGHT", "health.queue.inFlight"),
            Column("DLQ", "inDlq"),
            Column("ATTEMPTS 24H", "totals.attempts"),
            Column("FAILED 24H", "totals.failed"),
            Column("ID", "destination.id"),
            Column("NAME", "destination.name"),
        ),
        options=(
            Option(
                "--name",
                "name",
                metavar="TEXT",
                help=("A part of the name; upper and lower case are equal."),
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
                    "`pending`: the longest queues first. `age`: first where a delivery waits "
                    "longest."
                ),
            ),
        ),
    ),
    Plain(
        "resume",
        "destinations.resume",
        help=(
            "Lift the hold on a destination.\n\nA Retry-After of its receiver ends, and an open "
            "circuit sends a probe at once; a success closes it. The answer is the "
            "destination's health, which can still show the hold for a moment. 409 if it is "
            "DISABLED or ARCHIVED."
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
            "List a destination's lanes.\n\nThe ordered lanes with waiting deliveries, the one "
            "with the oldest head first. A destination with ordering NONE has no lanes. The "
            "destination's 5,000 oldest unsettled deliveries are examined; if there are more, "
            "`atLeast` is true."
        ),
        arguments=(("destination_id", "ID"),),
        columns=(
            Column("KIND", "kind"),
            Column("KEY", "key"),
            Column("DEPTH", "depth"),
            Column("HEAD", "head.id"),
            Column("STATUS", "head.status"),
            Column("ERROR", "head.errorCategory"),
            Column("UNTIL", "until"),
        ),
        paged=True,
    ),
)
