"""`angarium restore`: create a server's data folder from a backup."""

from pathlib import Path
from typing import Any

import click

from api.cli.backup import ByteSteps
from api.cli.errors import SettingsTrouble
from api.cli.options import settings_flags, settings_from
from api.cli.printing import say
from storage.backup.proof import require_elsewhere
from storage.backup.restoring import Restore
from storage.embedded.server import HOLD
from storage.encryption.key_file import given_keys

HELP = """Restore the backup in SOURCE into an empty data folder, given by --data-dir.

The command checks every part with the backup's list of checksums, and checks this list with the master
key. Give the key with --with-key, and take a copy of the key that was not in the backup. If you press
Ctrl-C while files are being restored, the command removes the files that it has written. After any
interruption, run the command again: it starts from the beginning. No server starts on an incomplete
folder. Your changes in postgresql.conf are not restored, because the command writes new settings.

The folder has all events accepted before the backup. A server that starts on it delivers the deliveries
that were unsettled then. If the original server ran after the backup, it has perhaps delivered some of
them already. Both deliveries have the same webhook-id. Use --hold if the original server still runs, or
to inspect the data first. Then a server on the folder accepts and shows everything, but sends nothing
until you remove the file `hold-deliveries` from the folder and start the server again.
"""


@click.command("restore", help=HELP, short_help="Restore a backup into a data folder.")
@click.argument("source", metavar="SOURCE", type=click.Path(path_type=Path))
@click.option("--hold", is_flag=True, help="Prevent a server on the folder from delivering.")
@click.option(
    "--with-key",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="The file of the master key that made the backup. With it the command checks that nobody "
    "has changed the backup. If the backup has no key, the folder gets this one.",
)
@click.option(
    "--unauthenticated",
    is_flag=True,
    help="Restore without that check: a backup of an older version, or of another key. Anyone who "
    "could write to the backup can then run programs as the database's account, and have "
    "events delivered.",
)
@settings_flags("data_dir", "master_key", "master_key_file")
def command(
    source: Path, hold: bool, with_key: Path | None, unauthenticated: bool, **flags: Any
) -> None:
    if flags.get("data_dir") is None:
        raise SettingsTrouble("name the new folder with --data-dir: there is no default")
    settings = settings_from(flags)
    if settings.master_key_file is not None and not unauthenticated:
        require_elsewhere(settings.master_key_file, source)
    with ByteSteps() as steps:
        restore = Restore(
            source,
            settings.data_dir,
            hold=hold,
            key_file=with_key,
            keys=given_keys(settings.master_key, settings.master_key_file),
            unauthenticated=unauthenticated,
            progress=steps.show,
        )
        manifest = restore.run()
    place = settings.data_dir
    say(
        f"{place} has all events accepted before {manifest.made_at}, when the backup began, and"
        f" none from after {manifest.ended_at}, when it ended"
    )
    if unauthenticated:
        say(
            "warning: this backup can have been changed: it was not checked with a master key",
            err=True,
        )
    if not manifest.master_key and with_key is None:
        say(
            f"  the backup had no master key: put yours into {place / 'master.key'}, or set"
            " ANGARIUM_MASTER_KEY, before a server can start"
        )
    if manifest.files_elsewhere:
        say("  its files are in an object store: give the server the same ANGARIUM_FILE_STORE")
    if hold:
        say(f"  deliveries are held: remove {place / HOLD} and start again to deliver")
    else:
        say(
            "  a server on it delivers all deliveries that were unsettled in the backup,"
            " also those that the original server has delivered since"
        )
    say(f"Next: angarium serve --data-dir {place}")
