# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium auth`."""

from api.cli.remote.plain import Plain

PLAIN: tuple[Plain, ...] = (
    Plain(
        "context",
        "auth_context",
        help=(
            "Show the identity of a credential.\n\nShows the workspace, environment and scope "
            "of the credential. An MCP key does not have to name an environment. An embed "
            "session has no scope and no key; it has its customer's permissions."
        ),
    ),
)
