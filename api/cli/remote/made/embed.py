# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium embed`."""

from api.cli.remote.plain import Plain

PLAIN: tuple[Plain, ...] = (
    Plain(
        "context",
        "embed_sessions.context",
        help=(
            "Show the data of a portal.\n\nShows the session's customer and expiry, the "
            "workspace's branding, and the session's permissions and limits."
        ),
    ),
)
