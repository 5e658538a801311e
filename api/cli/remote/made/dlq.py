# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium dlq`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "dlq.list",
        help=(
            "List the dead-letter queue.\n\nLists deliveries that have no attempts left, or got "
            "a 410 from their receiver. The latest dead letter comes first. A search for rare "
            "values stops after a limited time. A page can then hold fewer than `limit` dead "
            "letters, even none, and still have a `nextCursor`. Such a page has `searchedTo`: "
            "the search has examined all dead letters after this time."
        ),
        columns=(
            TableColumn("DEAD SINCE", "deadLetteredAt"),
            TableColumn("DELIVERY", "deliveryId"),
            TableColumn("TRIES", "attemptCount"),
            TableColumn("ERROR", "errorCategory"),
            TableColumn("HTTP", "responseStatus"),
            TableColumn("DESTINATION", "destinationId"),
            TableColumn("EVENT TYPE", "eventType"),
            TableColumn("LAST ERROR", "lastError"),
        ),
        options=(
            Option(
                "--destination",
                "destination_id",
                metavar="ID",
                help=("Deliveries to this destination."),
                repeated=True,
            ),
            Option(
                "--event-type",
                "event_type",
                metavar="EVENT_TYPE",
                help=("Deliveries of this event type."),
                repeated=True,
            ),
            Option(
                "--error-category",
                "error_category",
                words=(
                    "TIMEOUT",
                    "DNS",
                    "CONNECTION",
                    "TLS",
                    "BLOCKED_ADDRESS",
                    "PROTOCOL",
                    "REDIRECT",
                    "HTTP_4XX",
                    "HTTP_5XX",
                    "RATE_LIMITED",
                    "TRANSFORM",
                    "DESTINATION_GONE",
                    "INTERNAL",
                    "AUTHENTICATION",
                ),
                help=("Deliveries whose last attempt had this error."),
                repeated=True,
            ),
            Option(
                "--signature",
                "signature",
                metavar="TEXT",
                help=("Deliveries of this group."),
                repeated=True,
            ),
            Option(
                "--replay-job",
                "replay_job_id",
                metavar="ID",
                help=("Deliveries of this replay job."),
                repeated=True,
            ),
        ),
        paged=True,
        spans=True,
    ),
    Plain(
        "groups",
        "dlq.groups",
        help=(
            "Group the dead-letter queue by cause.\n\nThe entries of a group have the same "
            "destination, error category, response status, and error text apart from numbers. "
            "The largest group comes first. The server examines the latest 20,000 entries: if "
            "there are more, `atLeast` is true, and `searchedTo` is the time of the earliest "
            "examined entry. Give a group's `signature` to the retry or discard in bulk."
        ),
        columns=(
            TableColumn("COUNT", "count"),
            TableColumn("ERROR", "errorCategory"),
            TableColumn("HTTP", "responseStatus"),
            TableColumn("LAST", "lastAt"),
            TableColumn("DESTINATION", "destinationId"),
            TableColumn("SIGNATURE", "signature"),
            TableColumn("LAST ERROR", "lastError"),
        ),
        options=(
            Option(
                "--destination",
                "destination_id",
                metavar="ID",
                help=("Deliveries to this destination."),
                repeated=True,
            ),
            Option(
                "--type",
                "event_type",
                metavar="EVENT_TYPE",
                help=("Deliveries of this event type."),
                repeated=True,
            ),
            Option(
                "--error-category",
                "error_category",
                words=(
                    "TIMEOUT",
                    "DNS",
                    "CONNECTION",
                    "TLS",
                    "BLOCKED_ADDRESS",
                    "PROTOCOL",
                    "REDIRECT",
                    "HTTP_4XX",
                    "HTTP_5XX",
                    "RATE_LIMITED",
                    "TRANSFORM",
                    "DESTINATION_GONE",
                    "INTERNAL",
                    "AUTHENTICATION",
                ),
                help=("Deliveries whose last attempt had this error."),
                repeated=True,
            ),
            Option(
                "--signature",
                "signature",
                metavar="TEXT",
                help=("Deliveries of this group."),
                repeated=True,
            ),
            Option(
                "--replay-job",
                "replay_job_id",
                metavar="ID",
                help=("Deliveries of this replay job."),
                repeated=True,
            ),
        ),
        spans=True,
    ),
)
