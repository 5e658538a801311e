# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium observability`."""

from api.cli.remote.plain import Plain

PLAIN: tuple[Plain, ...] = (
    Plain(
        "analytics",
        "observability.analytics",
        help=(
            "Show an environment's counters over a period.\n\nSums of all destinations, "
            "including archived ones, in the form of a destination's analytics. "
            "`topDestinations` are the ten with the most attempts."
        ),
    ),
    Plain(
        "counts",
        "observability.counts",
        help=(
            "Count an environment's waiting deliveries and dead letters.\n\n`pending` and "
            "`inFlight` come from memory and are at most a second old. `retrying` and `inDlq` "
            "are counted in the stored deliveries, up to 10,000 each. If one of them is "
            "10,000, `atLeast` is true."
        ),
    ),
)
