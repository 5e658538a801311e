# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium deliveries`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import Column

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "deliveries.list",
        help=(
            "List deliveries.\n\nA filter that is repeated passes what has any of its values. A "
            "page may hold fewer than `limit`, even none, and still have a `nextCursor`: the "
            "time to look for what is rare is bounded. Such a page says `searchedTo`."
        ),
        columns=(
            Column("CREATED", "createdAt"),
            Column("ID", "id"),
            Column("STATUS", "status"),
            Column("TRY", "attemptCount"),
            Column("HTTP", "responseStatus"),
            Column("ERROR", "errorCategory"),
            Column("DLQ", "dlqStatus"),
            Column("DESTINATION", "destinationId"),
            Column("EVENT TYPE", "eventType"),
        ),
        options=(
            Option(
                "--examine",
                "examine",
                metavar="TEXT",
                help=(
                    "The most rows that are read one by one for this page; 2,000 by default. What is "
                    "rarer is searched for in all older rows, for at most 100 ms."
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
                help=("Only replays, or none. Empty: no filter."),
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
                help=("Of the last attempt."),
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
                help=("To destinations that are tied to this customer."),
                repeated=True,
            ),
            Option(
                "--response-status",
                "response_status",
                metavar="TEXT",
                help=("Status of the last answer."),
                repeated=True,
            ),
            Option(
                "--replay-job",
                "replay_job_id",
                metavar="ID",
                help=("What this replay job enqueued."),
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
            "Show a delivery with its attempts.\n\nWith its newest attempts: at most 100, and "
            "where receivers' answers are large as many as have room in 512 KiB. "
            "`attemptsCursor` is null where these are all; else it is the `cursor` with which "
            "`GET /deliveries/{id}/attempts` goes on."
        ),
        arguments=(("delivery_id", "ID"),),
    ),
    Plain(
        "attempts",
        "deliveries.attempts",
        help=(
            "List a delivery's attempts.\n\nNewest first. A page ends early where answers of "
            "receivers are large."
        ),
        arguments=(("delivery_id", "ID"),),
        columns=(
            Column("TRY", "number"),
            Column("STARTED", "startedAt"),
            Column("MS", "durationMs"),
            Column("OK", "success"),
            Column("HTTP", "responseStatus"),
            Column("ERROR", "errorCategory"),
            Column("MESSAGE", "errorMessage"),
        ),
        paged=True,
    ),
    Plain(
        "retry",
        "deliveries.retry",
        help=(
            "Retry a delivery now.\n\nA PENDING or RETRYING delivery is due now, ahead of its "
            "schedule, which goes on from there. It passes an open circuit and a Retry-After "
            "of its destination. It still waits for the head of its ordered lane, for the "
            "destination's concurrency and rate limit, and while the destination is DISABLED. "
            "One in the dead-letter queue is retried as by `POST /dlq/{deliveryId}/retry`. "
            "409 where it was delivered or discarded: a replay sends its event again."
        ),
        arguments=(("delivery_id", "ID"),),
    ),
    Plain(
        "cancel",
        "deliveries.cancel",
        help=(
            "Cancel a delivery.\n\nA PENDING or RETRYING delivery becomes FAILED and DISCARDED, "
            "with `lastError` `cancelled`, and its lane moves on. An attempt in flight ends "
            "first; if it succeeds, the delivery is DELIVERED. An answer that shows "
            "DELIVERING means that. 409 where the delivery has ended."
        ),
        arguments=(("delivery_id", "ID"),),
        confirm="Cancel delivery {}?",
    ),
    Plain(
        "explain",
        "deliveries.explain",
        help=(
            "Say why a delivery waits.\n\nLists every gate that keeps the delivery from being "
            "sent now, with the instant at which it opens where that is known, its lane, and "
            "its position there."
        ),
        arguments=(("delivery_id", "ID"),),
    ),
)
