# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium transforms`."""

from api.cli.remote.plain import Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "transform_scripts.of_destination",
        help=(
            "List a destination's transform scripts.\n\nA page has a limit in bytes too, "
            "because scripts can be long. A page can therefore hold fewer than `limit` "
            "scripts and still have a `nextCursor`."
        ),
        arguments=(("destination_id", "DESTINATION_ID"),),
        columns=(
            TableColumn("ID", "id"),
            TableColumn("VERSION", "version"),
            TableColumn("STATUS", "status"),
            TableColumn("CREATED", "createdAt"),
            TableColumn("PUBLISHED", "publishedAt"),
            TableColumn("NAME", "name"),
        ),
    ),
    Plain(
        "delete",
        "transform_scripts.delete",
        help=(
            "Delete a version of a transform script.\n\nYou cannot delete a PUBLISHED version. "
            "A deleted version no longer counts against the plan's limit. Its number is never "
            "used again."
        ),
        arguments=(("script_id", "ID"),),
    ),
    Plain(
        "publish",
        "transform_scripts.publish",
        help=(
            "Publish a version of a transform script.\n\nEvery attempt that begins from now on "
            "uses this version, including retries. The version that was PUBLISHED becomes "
            "SUPERSEDED. To roll back, publish an earlier version. Publishing the PUBLISHED "
            "version again changes nothing."
        ),
        arguments=(("script_id", "ID"),),
    ),
    Plain(
        "unpublish",
        "transform_scripts.unpublish",
        help=(
            "Unpublish a transform script.\n\nAttempts that begin from now on send the event's "
            "own body. 409 if this version is not the PUBLISHED one."
        ),
        arguments=(("script_id", "ID"),),
    ),
)
