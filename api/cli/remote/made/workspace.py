# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium workspace`."""

from api.cli.remote.plain import Plain

PLAIN: tuple[Plain, ...] = (
    Plain(
        "show",
        "workspace.get",
        help=(
            "Show the workspace.\n\nShows the name, the plan, and the settings of customers' "
            "portals. An MCP key does not have to name an environment."
        ),
    ),
)
