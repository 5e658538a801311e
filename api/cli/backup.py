"""`angarium backup`: a copy of an embedded database and its files, made while the server runs."""

import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import click

from api.cli.errors import SettingsTrouble
from api.cli.options import settings_flags, settings_from
from api.cli.printing import say
from storage.backup.making import Backup
from storage.embedded.server import attached
from storage.encryption.key_file import given_keys

REDRAW_S = 0.2  # on a terminal
LINE_S = 10.0  # between two lines of one step, in a log
_CLEAR = "\r\x1b[K"


class ByteSteps:
    """The progress of steps, in bytes."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._step = ""
        self._shown_at = 0.0

    def __enter__(self) -> "ByteSteps":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._terminal and self._step:
            click.echo(_CLEAR, err=True, nl=False)

    def show(self, step: str, done: int, total: int) -> None:
        """Show how many bytes of a step are done. If `total` is 0, the number of all bytes is unknown."""
        now = time.monotonic()
        wait_s = REDRAW_S if self._terminal else LINE_S
        if step == self._step and now - self._shown_at < wait_s:
            return
        self._step, self._shown_at = step, now
        of = f" of {total >> 20}" if total else ""
        line = f"{step}: {done >> 20}{of} MiB"
        if self._terminal:
            click.echo(_CLEAR + line, err=True, nl=False)
        else:
            click.echo(line, err=True)


HELP = """Make a backup of the data folder in the new folder TARGET. The server can run meanwhile.

The backup has the embedded database in its state at the end of the copy, every file that the database
names, and the master key of the data folder. The command checks the backup and adds the SHA-256 of all
parts. An incomplete backup has the name TARGET.partial. A restoration uses the master key to check that
the backup was not changed: keep a copy of the key elsewhere.

With --database-url the command has nothing to copy: back up that PostgreSQL with its own tools, then
the files and the master key (docs/backup.md).
"""


@click.command("backup", help=HELP, short_help="Make a backup while the server runs.")
@click.argument("target", metavar="TARGET", type=click.Path(path_type=Path))
@click.option(
    "--without-master-key",
    is_flag=True,
    help="Leave out the master key. Then nobody can read the secrets in the backup without your "
    "copy of the key: keep it elsewhere.",
)
@click.option(
    "--compress", is_flag=True, help="Compress the database with gzip: smaller, but slower."
)
@settings_flags("data_dir", "database_url", "file_store", "master_key", "master_key_file")
def command(target: Path, without_master_key: bool, compress: bool, **flags: Any) -> None:
    settings = settings_from(flags)
    if settings.database_url is not None:
        raise SettingsTrouble(
            "the database is a PostgreSQL of your own: back it up with its own tools "
            "(pg_basebackup, pg_dump, your provider's snapshots), then the files and the master "
            "key: docs/backup.md"
        )
    if not (settings.data_dir / "postgres" / "PG_VERSION").exists():
        raise SettingsTrouble(
            f"{settings.data_dir} has no database: is it the server's data folder?"
        )
    elsewhere = settings.file_store is not None
    own_key = settings.master_key is None and settings.master_key_file is None
    keys = given_keys(settings.master_key, settings.master_key_file)
    with ByteSteps() as steps, attached(settings.data_dir) as url:
        backup = Backup(
            settings.data_dir,
            target,
            master_key=own_key and not without_master_key,
            files_elsewhere=elsewhere,
            compress=compress,
            keys=keys,
            progress=steps.show,
        )
        manifest = backup.make(url)
    say(f"{target} is complete and checked: it has all events accepted before {manifest.made_at}")
    say(
        f"  database: {manifest.database_bytes >> 20} MiB when restored; files:"
        f" {manifest.files} of {manifest.file_bytes >> 20} MiB"
    )
    if manifest.missing_files:
        say(
            f"warning: the content of {manifest.missing_files} files is missing in the data folder,"
            " and so in the backup",
            err=True,
        )
    if elsewhere:
        say("  the files are in ANGARIUM_FILE_STORE: copy that bucket now, or keep its versions")
    if manifest.master_key:
        say("  it has the master key: protect it as you protect the server")
    else:
        say("  it does not have the master key: without your own copy every secret is lost")
