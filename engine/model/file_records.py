"""Records of files. The depot (`engine.files.depot`) has their bytes, under their hash."""

from enum import IntEnum

from msgspec import Struct

MIB = 1024 * 1024
# The beginning of the message of an attempt that lacked a file: rows are told apart by it.
TROUBLE = "the file"
FILE_BYTES = 25 * MIB  # of one file, whether it is uploaded, fetched or attached


class FileState(IntEnum):
    """The state of a file's bytes. A file that is still being received has no row."""

    PENDING = 1  # to be fetched from its source
    STORED = 2
    FAILED = 3  # its source never gave the bytes


class FilePurpose(IntEnum):
    """The purpose of a file."""

    UPLOAD = 1  # its event tells of it
    ATTACHMENT = 2  # it came with its event


class SourceKind(IntEnum):
    """The source of a file's bytes."""

    CONTENT = 1  # the request that made it
    INLINE = 2  # a `data:` URI
    URL = 3
    FILE = 4  # another file of the environment


class FileRecord(Struct, frozen=True, kw_only=True):
    """A file. Its instant of creation is in its id. `metadata` is a JSON object as received."""

    id: str
    environment: int
    state: FileState
    purpose: FilePurpose
    event: str  # the event that the file belongs to, and is removed with
    position: int = 0  # of an attachment among its event's
    source: SourceKind = SourceKind.CONTENT
    source_url: str | None = None  # in clear here, sealed at rest: signed ones are secrets
    size: int | None = None  # None until the bytes are there, like the hash
    sha256: bytes | None = None
    content_type: str | None = None  # as its sender said: a claim, not a finding
    file_name: str | None = None
    file_type: str | None = None
    metadata: bytes | None = None
    customer: str | None = None  # customerExternalId
    error: str | None = None  # why it FAILED


class FileFilter(Struct, frozen=True, kw_only=True):
    """A filter of a list of files; None selects all. Instants are of creation, in milliseconds,
    `from_ms` inclusive, `to_ms` exclusive."""

    from_ms: int | None = None
    to_ms: int | None = None
    states: tuple[FileState, ...] | None = None
    purposes: tuple[FilePurpose, ...] | None = None
    customers: tuple[str, ...] | None = None


class FilePage(Struct, frozen=True):
    """A page, newest first. If `below` is set, there can be more with ids below it."""

    items: list[FileRecord]
    below: str | None
