# Made of the API's routes by `python -m api.generation`; do not edit.
"""The handwritten methods on files: uploads and contents."""

import json
import uuid
from collections.abc import Iterator

from angarium.calls import Call, at, body_of, query_of
from angarium.shapes import FileReceipt, JsonObject
from angarium.sync.made.files import Files as Made
from angarium.uploads import FileContent, Upload

OCTETS = "application/octet-stream"


class Files(Made):
    """The methods that upload files, look them up and read them."""

    def create(
        self,
        content: FileContent,
        *,
        file_name: str | None = None,
        content_type: str | None = None,
        file_type: str | None = None,
        metadata: JsonObject | None = None,
        event_type: str | None = None,
        customer_external_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> FileReceipt:
        """Upload a file of at most 25 MiB: a path, bytes, or a file open for reading bytes.

        The file is read in pieces. File and event are durable when this returns. Without an
        idempotency key, the client makes one, so that a retry never creates the file twice.
        """
        upload = Upload(content)
        query = query_of(
            {
                "file_name": file_name or upload.name,
                # The file's type is not in the header `content-type`: that header says how the service
                # reads the body, and must not be `application/json`, even for a JSON file.
                "content_type": content_type or OCTETS,
                "file_type": file_type,
                "metadata": None if metadata is None else json.dumps(metadata),
                "event_type": event_type,
                "customer_external_id": customer_external_id,
                "idempotency_key": idempotency_key or str(uuid.uuid4()),
            }
        )
        return self._send(Call("POST", "/files", query, upload=upload, content_type=OCTETS))

    def create_from_url(
        self,
        url: str,
        *,
        file_name: str | None = None,
        content_type: str | None = None,
        file_type: str | None = None,
        metadata: JsonObject | None = None,
        event_type: str | None = None,
        customer_external_id: str | None = None,
        idempotency_key: str | None = None,
    ) -> FileReceipt:
        """Tell the service to fetch a file from a URL. The file's deliveries wait for the fetch."""
        body = {
            "source": {"kind": "URL", "uri": url},
            "file_name": file_name,
            "content_type": content_type,
            "file_type": file_type,
            "metadata": metadata,
            "event_type": event_type,
            "customer_external_id": customer_external_id,
            "idempotency_key": idempotency_key or str(uuid.uuid4()),
        }
        return self._send(Call("POST", "/files", body=body_of(body)))

    def content(self, file_id: str) -> Iterator[bytes]:
        """Yield a file's bytes in pieces. Compare their SHA-256 with `get(...)["sha256"]`."""
        return self._read(at("files", file_id, "content"))
