"""Attachments: checked as callers write them, and rendered as receivers see them. Pure functions.

Receivers get the caller's values byte for byte, with two exceptions. `sizeBytes` is the measured size.
`source` names the stored file: the URL from which this service fetches the file stays secret.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from engine.files.data_uri import Inline, read_data_uri
from engine.model.documents import invalid, refused
from engine.model.errors import Detail, Refusal
from engine.model.file_records import FileRecord, SourceKind
from engine.wire.target import parse_target

ATTACHMENTS_MOST = 20  # of an event: their URLs travel in one header, 100 bytes and more each
NAME_CHARACTERS = 1_024  # of a file's name: four times what file systems allow
TYPE_CHARACTERS = 255  # of a media type, RFC 6838, with room for parameters
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MEDIA_TYPE = re.compile(
    r"[A-Za-z0-9!#$&^_.+-]{1,127}/[A-Za-z0-9!#$&^_.+-]{1,127}(?:[ \t]*;[\t -~]*)?"
)

_Name = Annotated[str, Meta(max_length=NAME_CHARACTERS)]
_Type = Annotated[str, Meta(max_length=TYPE_CHARACTERS)]
_NULL = b"null"
_OBJECT = ord("{")


class AttachmentSource(Struct, forbid_unknown_fields=True):
    """The source of an attachment's content."""

    kind: Annotated[str, Meta(pattern="^(URL|FILE|INLINE)$")]
    uri: Annotated[str, Meta(min_length=1)]


class AttachmentDraft(Struct, forbid_unknown_fields=True):
    """One entry as a caller wrote it."""

    source: AttachmentSource
    fileType: _Type | None = None  # noqa: N815 - the wire's name
    contentType: _Type | None = None  # noqa: N815
    sizeBytes: Annotated[float, Meta(ge=0)] | None = None  # noqa: N815
    fileName: _Name | None = None  # noqa: N815
    metadata: Raw | UnsetType = UNSET

    @property
    def kind(self) -> SourceKind:
        return SourceKind[self.source.kind]

    def inline(self) -> Inline:
        """Return the content of the `data:` URI; raise ValueError."""
        return read_data_uri(self.source.uri)


_attachments = msgspec.json.Decoder(list[AttachmentDraft])
_entries = msgspec.json.Decoder(list[dict[str, Raw]])
_source = msgspec.json.Decoder(dict[str, Raw])
_json = msgspec.json.Encoder().encode


def read_attachments(raw: bytes) -> list[AttachmentDraft]:
    """Decode attachments. Raise msgspec.DecodeError or UnicodeDecodeError."""
    return _attachments.decode(raw)


def judge(attachments: list[AttachmentDraft]) -> None:
    """Raise a Refusal if attachments cannot become files. The Refusal names the field that is wrong."""
    if len(attachments) > ATTACHMENTS_MOST:
        raise invalid("attachments", f"are at most {ATTACHMENTS_MOST}")
    for index, attachment in enumerate(attachments):
        path = place(index)
        _judge_source(attachment, path)
        for name in ("fileName", "fileType", "contentType"):
            if "\0" in (getattr(attachment, name) or ""):
                raise invalid(f"{path}.{name}", "must not contain NUL")
        given = attachment.contentType
        if given is not None and not is_media_type(given):
            raise invalid(f"{path}.contentType", "must be a media type such as image/png")
        metadata = metadata_of(attachment)
        if metadata is not None and metadata[0] != _OBJECT:
            raise invalid(f"{path}.metadata", "must be an object")


def place(index: int) -> str:
    """Return the path that errors give for an entry."""
    return f"attachments[{index}]"


def no_such_file(index: int) -> Refusal:
    """Return the refusal of an entry that names an unknown file."""
    return refused([Detail(f"{place(index)}.source.uri", "no such file")], "not_found")


def metadata_of(attachment: AttachmentDraft) -> bytes | None:
    """Return the bytes of an entry's metadata, None for null."""
    if attachment.metadata is UNSET:
        return None
    raw = bytes(attachment.metadata)
    return None if raw == _NULL else raw


def as_files(raw: bytes, files: list[FileRecord]) -> bytes:
    """Return `attachments` as receivers get them. If the caller gave no name or type, the entry gets the
    name or type of the stored file."""
    shown = []
    for entry, file in zip(_entries.decode(raw), files, strict=True):
        members: dict[str, bytes] = {name: bytes(value) for name, value in entry.items()}
        members["source"] = _json({"kind": SourceKind.FILE.name, "uri": file.id})
        known: dict[str, object] = {
            "fileName": file.file_name,
            "fileType": file.file_type,
            "contentType": file.content_type,
        }
        for name, value in known.items():
            if value is not None and members.get(name, _NULL) == _NULL:
                members[name] = _json(value)
        shown.append(_object(members | _measures(file)))
    return b"[" + b",".join(shown) + b"]"


def measured(raw: bytes, files: Sequence[FileRecord]) -> bytes:
    """Return an event's stored `attachments` with the measured sizes and hashes of their files. `files`
    are in the order of the attachments."""
    left = iter(files)
    shown = []
    for entry in _entries.decode(raw):
        members = {name: bytes(value) for name, value in entry.items()}
        if _names_file(entry):
            members |= _measures(next(left))
        shown.append(_object(members))
    return b"[" + b",".join(shown) + b"]"


def _measures(file: FileRecord) -> dict[str, bytes]:
    if file.size is None or file.sha256 is None:
        return {}
    return {"sizeBytes": _json(file.size), "sha256": _json(file.sha256.hex())}


def _object(members: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(_json(name) + b":" + value for name, value in members.items()) + b"}"


def _names_file(entry: Mapping[str, Raw]) -> bool:
    return bytes(_source.decode(entry["source"])["kind"]) == b'"FILE"'


def files_named(raw: bytes) -> list[str]:
    """Return the ids of the files in an event's stored `attachments`, in order: the `uri` of each entry
    of the kind FILE. An event that was accepted before this service stored files can have entries of the
    kinds URL and INLINE. This function leaves them out."""
    named = []
    for entry in _entries.decode(raw):
        if _names_file(entry):
            source = _source.decode(entry["source"])
            named.append(msgspec.json.decode(source["uri"], type=str))
    return named


def _judge_source(attachment: AttachmentDraft, path: str) -> None:
    if attachment.source.kind not in SourceKind.__members__:  # the pattern allows a final line feed
        raise invalid(f"{path}.source.kind", "must be one of URL, FILE, INLINE")
    uri = attachment.source.uri
    where = f"{path}.source.uri"
    if attachment.kind is SourceKind.INLINE:
        try:
            attachment.inline()
        except ValueError as error:
            raise invalid(where, str(error)) from None
    elif attachment.kind is SourceKind.URL:
        try:
            parse_target(uri)
        except Refusal as refusal:
            raise invalid(where, refusal.message) from None


def is_media_type(text: str) -> bool:
    """Return True if a text is a media type, with or without parameters."""
    return _MEDIA_TYPE.fullmatch(text) is not None


def is_file_id(uri: str) -> bool:
    """Return True if a text has the form of a file's id."""
    return _UUID.fullmatch(uri) is not None


def payload_of(file: FileRecord) -> bytes:
    """Return the payload of a FILE event. The file's `metadata` is copied byte for byte."""
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
