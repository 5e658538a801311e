# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium transforms`."""

from api.cli.remote.plain import Plain
from api.cli.remote.tables import Column

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "transform_scripts.of_destination",
        help=(
            "List a destination's transform scripts.\n\nA page may hold fewer than `limit` and "
            "still have a `nextCursor`: sources are long."
        ),
        arguments=(("destination_id", "DESTINATION_ID"),),
        columns=(
            Column("ID", "id"),
            Column("VERSION", "version"),
            Column("STATUS", "status"),
            Column("CREATED", "createdAt"),
            Column("PUBLISHED", "publishedAt"),
            Column("NAME", "name"),
        ),
    ),
    Plain(
        "delete",
        "transform_scripts.delete",
        help=(
            "Delete a version of a transform script.\n\nOne that is not PUBLISHED. The plan "
            "counts it no more; its version is not given to another."
        ),
        arguments=(("script_id", "ID"),),
    ),
    Plain(
        "publish",
        "transform_scripts.publish",
        help=(
            "Publish a version of a transform script.\n\nEvery attempt that begins from now on "
            "uses it, retries too; the version that was PUBLISHED becomes SUPERSEDED. To roll "
            "back, publish an earlier version. What is PUBLISHED already stays so."
        ),
        arguments=(("script_id", "ID"),),
    ),
    Plain(
        "unpublish",
        "transform_scripts.unpublish",
        help=(
            "Unpublish a transform script.\n\nAttempts that begin from now on send the event's "
            "own body. A 409 where this version is not the one that is PUBLISHED."
        ),
        arguments=(("script_id", "ID"),),
    ),
)
