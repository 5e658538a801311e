# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium files`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "files.list",
        help=(
            "List files.\n\nUploaded files, and files that came with events. An embed session "
            "sees its customer's files."
        ),
        columns=(
            TableColumn("ID", "id"),
            TableColumn("STATE", "state"),
            TableColumn("CREATED", "createdAt"),
            TableColumn("SIZE", "sizeBytes"),
            TableColumn("TYPE", "contentType"),
            TableColumn("NAME", "fileName"),
        ),
        options=(
            Option(
                "--state",
                "state",
                words=("PENDING", "STORED", "FAILED"),
                help=("A PENDING file has not been fetched from its URL yet."),
                repeated=True,
            ),
            Option(
                "--purpose",
                "purpose",
                words=("UPLOAD", "ATTACHMENT"),
                help=("UPLOAD: sent to `POST /files`. ATTACHMENT: came with an event."),
                repeated=True,
            ),
            Option(
                "--customer",
                "customer_external_id",
                metavar="EXTERNAL_ID",
                help=("Files of this customer."),
                repeated=True,
            ),
        ),
        paged=True,
        spans=True,
    ),
    Plain("get", "files.get", help=("Show a file."), arguments=(("file_id", "ID"),)),
)
