# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium customers`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import Column

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "customers.list",
        help=("List customers.\n\nIn the order of `customerExternalId`, byte by byte."),
        columns=(
            Column("CUSTOMER", "customerExternalId"),
            Column("NAME", "name"),
            Column("SINCE", "createdAt"),
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
            "Show a customer.\n\nIts account: the quotas set by the workspace, the limits of "
            "its embed sessions, and the numbers of its objects. An account exists once an "
            "event, a destination or a session has named the customer."
        ),
        arguments=(("external_id", "EXTERNAL_ID"),),
    ),
    Plain(
        "erase",
        "customers.erase",
        help=(
            "Erase a customer's contents.\n\nArchives the customer's destinations, with their "
            "rules, and erases the contents of all events accepted for the customer before: "
            "payloads, metadata, files, receivers' answers and script output, as `DELETE "
            "/events/{id}/payload` does. The erasure continues after the answer, and after a "
            "restart of the server, until `erasure.finishedAt` is set. Events, deliveries and "
            "counters stay, and so does the account."
        ),
        arguments=(("external_id", "EXTERNAL_ID"),),
        confirm="Erase all contents of customer {}?",
    ),
)
