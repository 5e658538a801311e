# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium templates`."""

from api.cli.remote.plain import Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "templates.list",
        help=(
            "List the catalog of templates.\n\nSorted by name. The catalog is the same for all "
            "workspaces and environments."
        ),
        columns=(
            TableColumn("ID", "id"),
            TableColumn("CATEGORY", "category"),
            TableColumn("NAME", "name"),
            TableColumn("DESCRIPTION", "description"),
        ),
        paged=True,
    ),
)
