# Made of the API's routes by `python -m api.generation`; do not edit.
"""The plain commands of `angarium replay`."""

from api.cli.remote.plain import Option, Plain
from api.cli.remote.tables import TableColumn

PLAIN: tuple[Plain, ...] = (
    Plain(
        "list",
        "replay_jobs.list",
        help=("List replay jobs.\n\nJobs of the kinds REPLAY, CANCEL and RETRY, newest first."),
        columns=(
            TableColumn("CREATED", "createdAt"),
            TableColumn("ID", "id"),
            TableColumn("KIND", "kind"),
            TableColumn("STATUS", "status"),
            TableColumn("DRY RUN", "dryRun"),
            TableColumn("TOTAL", "total"),
            TableColumn("DELIVERED", "delivered"),
            TableColumn("FAILED", "failed"),
            TableColumn("FINISHED", "finishedAt"),
            TableColumn("DESTINATION", "destinationId"),
        ),
        options=(
            Option(
                "--status",
                "status",
                words=("PENDING", "RUNNING", "PAUSED", "COMPLETED", "FAILED", "CANCELLED"),
                repeated=True,
            ),
            Option("--kind", "kind", words=("REPLAY", "CANCEL", "RETRY"), repeated=True),
            Option(
                "--customer-account",
                "customer_account_id",
                metavar="ID",
                help=("Jobs of this account."),
            ),
        ),
        paged=True,
    ),
    Plain("get", "replay_jobs.get", help=("Show a replay job."), arguments=(("job_id", "ID"),)),
    Plain(
        "cancel",
        "replay_jobs.cancel",
        help=(
            "Cancel a replay job.\n\nAfter the answer the job enqueues nothing more. Its "
            "enqueued deliveries without an attempt are cancelled within a second: they "
            "become FAILED and DISCARDED, and count as failed. An attempt in flight "
            "continues, with its retries. A job of the kind CANCEL or RETRY leaves the "
            "remaining deliveries unchanged. 400 if the job has ended."
        ),
        arguments=(("job_id", "ID"),),
    ),
)
