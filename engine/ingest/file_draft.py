"""The description of a file that a caller sends, in each of its forms, with the rules for its fields."""

import json
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from engine.drafts import Document, Name
from engine.files.data_uri import read_base64, read_data_uri
from engine.ingest.event_json import check_type
from engine.model.documents import invalid
from engine.model.errors import Detail, Refusal
from engine.model.file_records import MIB
from engine.wire.target import URL_LIMIT, parse_target

EVENT_TYPE = "file.received"
INLINE_BYTES = MIB  # of content within JSON; larger files are better sent as bytes
METADATA_BYTES = 16 * 1024  # as JSON: it is part of a payload, which filters and schemas read
FILE_NAME = 255  # characters; file systems take as many bytes
_PART = r"[A-Za-z0-9!#$&^_.+-]{1,127}"

FileName = Annotated[str, StringConstraints(min_length=1, max_length=FILE_NAME)]
ContentType = Annotated[
    str,
    StringConstraints(max_length=255, pattern=rf"^{_PART}/{_PART}( *;[\x20-\x7e]*)?$"),
]


class FileSource(Document):
    """The source of a file: a URL that the service fetches, or a `data:` URI."""

    kind: Literal["URL", "INLINE"]
    uri: str = Field(min_length=1)


class FileFields(Document):
    """The description of a file without its content."""

    file_name: FileName | None = None
    content_type: ContentType | None = None
    file_type: Name | None = Field(
        None, description="Your own name for this kind of file, such as `invoice`."
    )
    metadata: dict[str, Any] | None = Field(None, description="At most 16 KiB as JSON.")
    event_type: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:/-]{1,256}$")] = EVENT_TYPE
    customer_external_id: Name | None = None
    idempotency_key: Name | None = Field(
        None, description="A key that is unique in the environment for 24 hours."
    )

    def checked_metadata(self) -> bytes | None:
        """Return the metadata as JSON. Raises Refusal past its bound."""
        if self.metadata is None:
            return None
        try:
            text = json.dumps(self.metadata, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            raise invalid("metadata", "contains a lone surrogate") from None
        if len(text) > METADATA_BYTES:
            raise invalid("metadata", f"has more than {METADATA_BYTES} bytes as JSON")
        return text

    def check(self) -> None:
        """Check the rules that the types of the fields do not express. Raises Refusal."""
        check_type(self.event_type)


class FileInput(FileFields):
    """A file as JSON, with either a `source` or `content`. `content` is base64 or a `data:` URI, and has
    at most 1 MiB when decoded."""

    content: str | None = None
    source: FileSource | None = None

    def inline(self) -> tuple[bytes, str | None] | None:
        """Return the content and its media type (None unless a `data:` URI states it). Return None
        instead of both if the source is a URL.

        Raises Refusal.
        """
        if (self.content is None) == (self.source is None):
            raise invalid("content", "give either content or source")
        if self.content is not None:
            return _decoded(self.content, "content")
        assert self.source is not None
        if self.source.kind == "INLINE":
            if not self.source.uri[:5].lower() == "data:":
                raise invalid("source.uri", "must be a data: URI")
            return _decoded(self.source.uri, "source.uri")
        return None

    def url(self) -> str:
        """Return the URL of a source. Raises Refusal if the service cannot fetch such a URL."""
        assert self.source is not None
        if len(self.source.uri) > URL_LIMIT:
            raise invalid("source.uri", f"a URL has at most {URL_LIMIT} characters")
        try:
            parse_target(self.source.uri)
        except Refusal as refusal:
            detail = Detail("source.uri", refusal.message)
            raise Refusal(refusal.code, f"source.uri: {refusal.message}", (detail,)) from None
        return self.source.uri


def _decoded(text: str, path: str) -> tuple[bytes, str | None]:
    try:
        if text[:5].lower() == "data:":
            inline = read_data_uri(text)
            content, content_type = inline.content, inline.content_type
        else:
            content, content_type = read_base64(text.encode("ascii", "replace")), None
    except ValueError as error:
        raise invalid(path, str(error)) from None
    if len(content) > INLINE_BYTES:
        raise Refusal(
            "payload_too_large",
            f"{path} is at most {INLINE_BYTES} bytes: send a larger file as the body or as a form",
            (Detail(path, "is too large"),),
        )
    return content, content_type
