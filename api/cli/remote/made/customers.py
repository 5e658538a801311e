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
                help=("Customers whose customerExternalId begins so."),
            ),
        ),
        paged=True,
    ),
    Plain(
        "get",
        "customers.get",
        help=(
            "Show a customer.\n\nIts account: the quotas that the workspace has set, the limits "
            "that its embed sessions act by, and what it has. An account is there once an "
            "event, a destination or a session has named the customer."
        ),
        arguments=(("external_id", "EXTERNAL_ID"),),
    ),
)
