# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium events`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "events.list",
        help=(
            "List events.\n\nThe list includes events that no rule matched. If the search "
            "stopped early, the page has `searchedTo`: the search has examined all events "
            "after this time. An embed session sees its customer's events, with only the "
            "deliveries to its customer's destinations."
        ),
        columns=(
            TableColumn("RECEIVED", "receivedAt"),
            TableColumn("ID", "id"),
            TableColumn("DELIVERIES", "deliveries"),
            TableColumn("CUSTOMER", "customerExternalId"),
            TableColumn("SOURCE", "source"),
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
                "--type",
                "event_type",
                metavar="EVENT_TYPE",
                help=("Events of this type."),
                repeated=True,
            ),
            Option(
                "--customer",
                "customer_external_id",
                metavar="EXTERNAL_ID",
                help=("Events of this customer."),
                repeated=True,
            ),
            Option(
                "--correlation",
                "correlation_id",
                metavar="ID",
                help=("Events with this correlationId."),
                repeated=True,
            ),
            Option(
                "--request",
                "request_id",
                metavar="ID",
                help=("Events with this requestId."),
                repeated=True,
            ),
            Option(
                "--idempotency-key",
                "idempotency_key",
                metavar="TEXT",
                help=("Events with this key. The search is fast for a day, while the key is kept."),
                repeated=True,
            ),
            Option(
                "--undelivered/--no-undelivered",
                "undelivered",
                help=("Only events that no rule matched, or only events that a rule matched."),
            ),
        ),
        paged=True,
        spans=True,
    ),
    Plain(
        "get",
        "events.get",
        help=(
            "Show an event.\n\n`payload` and `metadata` have the same bytes as in the request. "
            "Each of the `attachments` has the `source` FILE with the id of a file, whatever "
            "source the request gave."
        ),
        arguments=(("event_id", "ID"),),
    ),
    Plain(
        "erase",
        "events.erase",
        help=(
            "Erase an event's content.\n\nErases payload, metadata, attachments and files of "
            "the event, and the receivers' answers and script output of its deliveries. The "
            "event, its deliveries and all counters stay: `payload` is null, and `erasedAt` "
            "is the time of erasure. Before that, waiting deliveries are cancelled and dead "
            "letters discarded. The event can never be replayed again. 503 while an attempt "
            "is in flight; then nothing is erased. Backups keep the content."
        ),
        arguments=(("event_id", "ID"),),
        confirm="Erase the content of event {}? This cannot be undone.",
    ),
    Plain(
        "explain",
        "events.explain",
        help=(
            "Show the receivers of an event, and the reasons.\n\nJudges the event by the "
            "present rules, rule by rule, with the values that filters read. Also lists the "
            "deliveries that were made when the event was accepted. `changedSince` marks the "
            "rules that were created or changed after the event."
        ),
        arguments=(("event_id", "ID"),),
    ),
    Plain(
        "deliveries",
        "events.deliveries",
        help=("List an event's deliveries."),
        arguments=(("event_id", "ID"),),
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
    ),
)
