# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium deliveries`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "deliveries.list",
        help=(
            "List deliveries.\n\nA search for rare values stops after a limited time. A page "
            "can then hold fewer than `limit` deliveries, even none, and still have a "
            "`nextCursor`. Such a page has `searchedTo`: the search has examined all "
            "deliveries after this time."
        ),
        columns=(
            TableColumn("CREATED", "createdAt"),
            TableColumn("ID", "id"),
            TableColumn("STATUS", "status"),
            TableColumn("TRY", "attemptCount"),
            TableColumn("HTTP", "responseStatus"),
            TableColumn("ERROR", "errorCategory"),
            TableColumn("DLQ", "dlqStatus"),
            TableColumn("DESTINATION", "destinationId"),
            TableColumn("EVENT TYPE", "eventType"),
        ),
        options=(
            Option(
                "--examine",
                "examine",
                metavar="TEXT",
                help=(
                    "The most rows that the server compares with the filters one by one, by default "
                    "2,000. If these do not fill the page, an index search in all older rows follows, "
                    "for at most 100 ms."
                ),
            ),
            Option(
                "--event",
                "event_id",
                metavar="ID",
                help=("Deliveries of this event."),
                repeated=True,
            ),
            Option(
                "--destination",
                "destination_id",
                metavar="ID",
                help=("Deliveries to this destination."),
                repeated=True,
            ),
            Option(
                "--status",
                "status",
                words=("PENDING", "DELIVERING", "DELIVERED", "FAILED", "RETRYING", "DRY_RUN"),
                repeated=True,
            ),
            Option(
                "--replays/--no-replays",
                "is_replay",
                help=("Only replays, or no replays. Empty: no filter."),
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
            Option("--priority", "priority", words=("STANDARD", "HIGH", "CRITICAL"), repeated=True),
            Option(
                "--dlq-status",
                "dlq_status",
                words=("IN_DLQ", "RETRIED_FROM_DLQ", "DISCARDED"),
                repeated=True,
            ),
            Option("--kind", "kind", words=("EVENT", "FILE"), repeated=True),
            Option(
                "--origin", "origin_kind", words=("NORMAL", "REPLAY", "INSPECTION"), repeated=True
            ),
            Option(
                "--type",
                "event_type",
                metavar="EVENT_TYPE",
                help=("Deliveries of this event type."),
                repeated=True,
            ),
            Option(
                "--customer",
                "customer_external_id",
                metavar="EXTERNAL_ID",
                help=("Deliveries to the destinations of this customer."),
                repeated=True,
            ),
            Option(
                "--response-status",
                "response_status",
                metavar="TEXT",
                help=("Deliveries whose last answer had this status."),
                repeated=True,
            ),
            Option(
                "--replay-job",
                "replay_job_id",
                metavar="ID",
                help=("Deliveries that this replay job enqueued."),
                repeated=True,
            ),
        ),
        paged=True,
        spans=True,
    ),
    Plain(
        "get",
        "deliveries.get",
        help=(
            "Show a delivery with its attempts.\n\nShows the newest attempts: at most 100, and "
            "fewer if receivers' answers are large (512 KiB in all). If `attemptsCursor` is "
            "null, there are no earlier attempts. Otherwise give it as `cursor` to `GET "
            "/deliveries/{id}/attempts`."
        ),
        arguments=(("delivery_id", "ID"),),
    ),
    Plain(
        "attempts",
        "deliveries.attempts",
        help=(
            "List a delivery's attempts.\n\nNewest first. A page ends early if receivers' "
            "answers are large."
        ),
        arguments=(("delivery_id", "ID"),),
        columns=(
            TableColumn("TRY", "number"),
            TableColumn("STARTED", "startedAt"),
            TableColumn("MS", "durationMs"),
            TableColumn("OK", "success"),
            TableColumn("HTTP", "responseStatus"),
            TableColumn("ERROR", "errorCategory"),
            TableColumn("MESSAGE", "errorMessage"),
        ),
        paged=True,
    ),
    Plain(
        "retry",
        "deliveries.retry",
        help=(
            "Retry a delivery now.\n\nA PENDING or RETRYING delivery becomes due now. If the "
            "attempt fails, its schedule continues. An open circuit or a Retry-After of the "
            "destination does not hold it. It still waits for earlier deliveries of its "
            "ordered lane, for the destination's concurrency and rate limit, and while the "
            "destination is DISABLED. A dead letter is retried as by `POST "
            "/dlq/{deliveryId}/retry`. 409 if the delivery was delivered or discarded: replay "
            "its event instead."
        ),
        arguments=(("delivery_id", "ID"),),
    ),
    Plain(
        "cancel",
        "deliveries.cancel",
        help=(
            "Cancel a delivery.\n\nA PENDING or RETRYING delivery becomes FAILED and DISCARDED, "
            "with the `lastError` `cancelled`. Its lane continues. An attempt in flight ends "
            "first; until then the delivery is DELIVERING. If that attempt succeeds, the "
            "delivery becomes DELIVERED. 409 if the delivery has ended."
        ),
        arguments=(("delivery_id", "ID"),),
        confirm="Cancel delivery {}?",
    ),
    Plain(
        "explain",
        "deliveries.explain",
        help=(
            "Show the reasons why a delivery waits.\n\nLists every reason why the delivery is "
            "not sent now, and until when, if that is known. Also shows the delivery's lane "
            "and its position there."
        ),
        arguments=(("delivery_id", "ID"),),
    ),
)
