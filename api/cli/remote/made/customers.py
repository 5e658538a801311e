# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium customers`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "customers.list",
        help=("List customers.\n\nSorted by the bytes of `customerExternalId`."),
        columns=(
            TableColumn("CUSTOMER", "customerExternalId"),
            TableColumn("NAME", "name"),
            TableColumn("SINCE", "createdAt"),
        ),
        options=(
            Option(
                "--prefix",
                "prefix",
                metavar="TEXT",
                help=("Customers whose customerExternalId begins with this."),
            ),
        ),
        paged=True,
    ),
    Plain(
        "get",
        "customers.get",
        help=(
            "Show a customer.\n\nShows the account: the quotas that the workspace has set, the "
            "limits of the customer's embed sessions, and the numbers of its objects. An "
            "account exists once an event, a destination or a session has named the customer."
        ),
        arguments=(("external_id", "EXTERNAL_ID"),),
    ),
    Plain(
        "erase",
        "customers.erase",
        help=(
            "Erase a customer's contents.\n\nArchives the customer's destinations, with their "
            "rules. Erases the contents of all events accepted for the customer so far: "
            "payloads, metadata, files, receivers' answers and script output, as `DELETE "
            "/events/{id}/payload` does. The erasure continues after the answer, and after a "
            "restart of the server, until `erasure.finishedAt` is set. The account, the "
            "events, the deliveries and the counters stay."
        ),
        arguments=(("external_id", "EXTERNAL_ID"),),
        confirm="Erase all contents of customer {}?",
    ),
)
