"""A file's record as receivers see it: the payload of its event, which filters and schemas judge."""

import json

from engine.model.file_records import FileRecord


def payload_of(file: FileRecord) -> bytes:
    """Return the record as JSON. Metadata keeps its bytes."""
    shown = {
        "id": file.id,
        "fileName": file.file_name,
        "contentType": file.content_type,
        "fileType": file.file_type,
        "sizeBytes": file.size,
        "sha256": None if file.sha256 is None else file.sha256.hex(),
    }
    head = json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()
    return b'%s,"metadata":%s}' % (head[:-1], file.metadata or b"null")
