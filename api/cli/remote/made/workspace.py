# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium workspace`."""

from api.cli.remote.plain import Plain

PLAIN: tuple[Plain, ...] = (
    Plain(
        "show",
        "workspace.get",
        help=(
            "Show the workspace.\n\nIts name, its plan, and the settings of its customers' "
            "portals. An MCP key need not name an environment."
        ),
    ),
)
