"""What a FILE event says: its file's record, as bytes that are the same whoever makes them."""

import msgspec

from engine.files.records import FileRecord

_json = msgspec.json.Encoder().encode


def payload_of(file: FileRecord) -> bytes:
    """Return the payload of the event that tells of a file; its metadata is spliced in as it came."""
    parts = (
        b'{"id":',
        _json(file.id),
        b',"fileName":',
        _json(file.file_name),
        b',"contentType":',
        _json(file.content_type),
        b',"fileType":',
        _json(file.file_type),
        b',"sizeBytes":',
        _json(file.size),
        b',"sha256":',
        _json(None if file.sha256 is None else file.sha256.hex()),
        b',"metadata":',
        file.metadata or b"null",
        b"}",
    )
    return b"".join(parts)
