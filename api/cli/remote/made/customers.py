# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium customers`."""

from api.cli.remote.plain import Plain

PLAIN: tuple[Plain, ...] = (
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
