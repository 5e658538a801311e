"""`angarium files`: upload, list and download files."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import click

from api.cli.errors import SettingsTrouble
from api.cli.remote.parameters import JSON
from api.cli.remote.plain import PlainGroup
from api.cli.remote.session import Session, over_http

# The media type of each compression. `mimetypes` names the compression, but has no media type for it.
_COMPRESSED = {
    "gzip": "application/gzip",
    "bzip2": "application/x-bzip2",
    "xz": "application/x-xz",
}


@click.group("files", help="Upload, list and download files, also those of events.", cls=PlainGroup)
def command() -> None:
    """Group the commands on files."""


@command.command("upload")
@click.argument("source", metavar="FILE|URL")
@click.option("--name", "file_name", help="The file's name. [the name of FILE]")
@click.option(
    "--content-type",
    metavar="TYPE",
    help="The type, such as application/pdf. [from the file's name, or from the URL's server]",
)
@click.option("--file-type", metavar="TEXT", help="Your own type of file, such as invoice.")
@click.option("--type", "event_type", metavar="EVENT_TYPE", help="[file.received]")
@click.option(
    "--customer", "customer_external_id", metavar="ID", help="The end-customer of the file."
)
@click.option("--metadata", type=JSON, metavar="JSON")
@click.option(
    "--idempotency-key", metavar="KEY", help="Uploads with the same key count as one. [a new key]"
)
@over_http
def upload(session: Session, source: str, **said: Any) -> None:
    """Upload a file of at most 25 MiB, or have the service fetch it from a URL.

    The file and its event are durable if the exit code is 0.
    """
    with session.client() as client:
        if source.startswith(("http://", "https://")):
            session.output.one(client.files.create_from_url(source, **said))
        elif not Path(source).is_file():
            raise SettingsTrouble(f"{source} is not a file")
        else:
            said["content_type"] = said["content_type"] or guessed(said["file_name"] or source)
            session.output.one(client.files.create(source, **said))


def guessed(name: str) -> str | None:
    """Return the media type for a file name. A compressed file, such as `a.tar.gz`, has the type of its
    compression (gzip)."""
    import mimetypes  # slow: its first use reads the system's tables of media types

    # If a name begins with `data:`, `guess_type` would treat it as a URL. The `./` prevents this.
    kind, encoding = mimetypes.guess_type(f"./{Path(name).name}")
    return _COMPRESSED.get(encoding) if encoding else kind


@command.command("download")
@click.argument("file_id", metavar="ID")
@click.argument("target", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@over_http
def download(session: Session, file_id: str, target: Path) -> None:
    """Write a file's bytes to FILE, which must not exist; `-` is standard output."""
    with session.client() as client, _opened(target) as out:
        for piece in client.files.content(file_id):
            out.write(piece)


@contextmanager
def _opened(target: Path) -> Iterator[IO[bytes]]:
    """Yield the output; a failed download leaves no file."""
    if str(target) == "-":
        yield sys.stdout.buffer
        return
    try:
        out = target.open("xb")
    except OSError as error:
        raise SettingsTrouble(f"{target} cannot be written: {error.strerror}") from None
    try:
        with out:
            yield out
    except BaseException:
        with suppress(OSError):
            target.unlink()
        raise
