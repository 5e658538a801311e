"""Downloads of the files of deliveries, for receivers: by signed URLs, with a check of the content."""

import base64
import binascii
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import httpx

from angarium.errors import ConnectionFailedError, VerificationError
from angarium.receiver import HasItems, Headers

URL_HEADER = "angarium-file-url"
FILE_BYTES = 25 * 1024 * 1024  # the largest file that the service accepts
TIMEOUT_S = 30.0  # between two reads of bytes


def file_urls(headers: Headers) -> list[str]:
    """Return the signed URLs in a webhook's headers. A FILE delivery has one URL, for its file. An
    event with attachments has one for each, in their order.

    The URLs expire, by default within a day. The next attempt or a replay has new URLs.
    """
    pairs = cast(HasItems, headers).items() if hasattr(headers, "items") else headers
    given = next((value for name, value in pairs if name.lower() == URL_HEADER), "")
    return [url.strip() for url in given.split(",") if url.strip()]


def download(
    url: str, to: str | os.PathLike[str], *, sha256: str | None = None, origin: str | None = None
) -> str:
    """Write the file at a signed URL to `to`, atomically; return its SHA-256 in hexadecimal.

    `sha256` is the expected hash: `data.sha256` of a verified FILE delivery. Without it, the hash in the
    answer is checked, if the answer has one. `origin` (`https://hooks.example.com`) is the only allowed
    origin of the URL, because the header with the URLs is not signed. Redirects are not followed.

    Raises VerificationError for a wrong content or origin, ConnectionFailedError if the file cannot be
    read, and OSError if it cannot be written.
    """
    if origin is not None and not url.startswith(origin.rstrip("/") + "/"):
        raise VerificationError("the file's URL leads to another origin")
    target = Path(to)
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        found = _written(url, draft, sha256)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return found


def _written(url: str, draft: Path, sha256: str | None) -> str:
    digest = hashlib.sha256()
    try:
        with httpx.stream("GET", url, timeout=TIMEOUT_S) as answer, draft.open("wb") as file:
            if answer.status_code != httpx.codes.OK:
                raise ConnectionFailedError(f"the file's URL answered {answer.status_code}")
            for piece in _bounded(answer):
                digest.update(piece)
                file.write(piece)
    except httpx.HTTPError as error:
        raise ConnectionFailedError(f"the file could not be read: {error}") from error
    found = digest.hexdigest()
    expected = sha256.lower() if sha256 is not None else _said(answer)
    if expected is not None and found != expected:
        raise VerificationError("the file is not the one that was sent: its SHA-256 is another")
    return found


def _bounded(answer: httpx.Response) -> Iterator[bytes]:
    size = 0
    for piece in answer.iter_bytes():
        size += len(piece)
        if size > FILE_BYTES:
            raise VerificationError(f"the file has more than {FILE_BYTES} bytes")
        yield piece


def _said(answer: httpx.Response) -> str | None:
    """Return the SHA-256 in an answer's headers (RFC 9530), None if there is none."""
    text = answer.headers.get("repr-digest", "")
    if not (text.startswith("sha-256=:") and text.endswith(":")):
        return None
    try:
        return base64.b64decode(text[9:-1], validate=True).hex()
    except binascii.Error:
        return None
