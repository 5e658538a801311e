"""Records of files."""

from enum import IntEnum

from msgspec import Struct

MIB = 1024 * 1024
# An attempt's error message begins with this text if a file was missing and no request was sent.
TROUBLE = "the file"
FILE_BYTES = 25 * MIB  # of one file, whether it is uploaded, fetched or attached


class FileState(IntEnum):
    """The state of a file's bytes. A file that is still being received has no row."""

    PENDING = 1  # to be fetched from its source
    STORED = 2
    FAILED = 3  # its source never gave the bytes


class FilePurpose(IntEnum):
    """The purpose of a file."""

    UPLOAD = 1  # the event that announces the file refers to it
    ATTACHMENT = 2  # the file came with an event


class SourceKind(IntEnum):
    """The source of a file's bytes."""

    CONTENT = 1  # the body of the request that created it
    INLINE = 2  # a `data:` URI
    URL = 3
    FILE = 4  # another file of the environment


class FileRecord(Struct, frozen=True, kw_only=True):
    """A file. Its instant of creation is in its id. `metadata` is a JSON object as received."""

    id: str
    environment: int
    state: FileState
    purpose: FilePurpose
    event: str  # the file's event; retention removes both together
    position: int = 0  # of an attachment among its event's
    source: SourceKind = SourceKind.CONTENT
    source_url: str | None = None  # in clear here, encrypted at rest: a signed URL is a secret
    size: int | None = None  # like the hash, None until the bytes are stored
    sha256: bytes | None = None
    content_type: str | None = None  # as the sender states it; nobody checked it
    file_name: str | None = None
    file_type: str | None = None
    metadata: bytes | None = None
    customer: str | None = None  # customerExternalId
    error: str | None = None


class FileFilter(Struct, frozen=True, kw_only=True):
    """A filter of a list of files. A field that is None does not filter. `from_ms` (inclusive) and
    `to_ms` (exclusive) bound the instant of a file's creation, in milliseconds since the epoch."""

    from_ms: int | None = None
    to_ms: int | None = None
    states: tuple[FileState, ...] | None = None
    purposes: tuple[FilePurpose, ...] | None = None
    customers: tuple[str, ...] | None = None


class FilePage(Struct, frozen=True):
    """A page of files, newest first. If `below` is set, there can be more files with smaller ids."""

    items: list[FileRecord]
    below: str | None
