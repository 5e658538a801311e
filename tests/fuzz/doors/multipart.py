"""Multipart forms. Any bytes with any boundary are either refused with a reason, or read as the same form
in whatever pieces they arrive."""

from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

from api.multipart import BUFFER_BYTES, SLICE_BYTES, TEXT_BYTES, MultipartForm
from engine.model.errors import Refusal
from tests.fuzz.door import Door, cut, split

T = TypeVar("T")
Form = tuple[str, str | None, str | None, bytes, tuple[tuple[str, str], ...]]


def _run(work: Coroutine[Any, Any, T]) -> T:
    """The coroutine never waits."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]  # of a coroutine whose type says it
    raise AssertionError("it waits")


async def _chunks(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def _read(content_type: str, pieces: list[bytes]) -> Form:
    content = b""
    form: MultipartForm | None = None
    try:
        form = MultipartForm(content_type, _chunks(pieces))
        async for part in form.file():
            assert len(part) <= BUFFER_BYTES
            content += part
        await form.rest()
    except Refusal as refusal:
        assert refusal.status in (400, 413)
        return refusal.code, None, None, b"", ()
    assert sum(len(value.encode()) for value in form.fields.values()) <= TEXT_BYTES
    said = tuple(sorted(form.fields.items()))
    return "", form.file_name, form.content_type, content, said


def check(data: bytes) -> None:
    """Read the form twice: from one piece of bytes, and from several pieces. Check the size limits of
    both results. If the form has at most SLICE_BYTES, also check that both results are equal."""
    size, data = split(data)
    content_type, _, body = data.partition(b"\n")
    said = content_type.decode("latin-1")
    whole = _run(_read(said, [body]))
    pieces = _run(_read(said, cut(body, size)))
    if len(body) <= SLICE_BYTES:
        assert whole == pieces, (whole, pieces)


HEAD = b"multipart/form-data; boundary=b\n"
DOOR = Door(
    "multipart",
    check,
    ("api.multipart", "werkzeug.sansio.multipart", "werkzeug.http"),
    (
        b"\x01" + HEAD + b'--b\r\nContent-Disposition: form-data; name="eventType"\r\n\r\na.b\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n'
        b"Content-Type: text/plain\r\n\r\nhello\r\n--b--\r\n",
        b"\x03" + HEAD + b'--b\nContent-Disposition: form-data; name=file; filename=""\n\n\r\n\r\n--b--',
        b"\x05multipart/form-data; boundary*=utf-8''%E2%82%AC\n--x--",
        b'\x02multipart/form-data; boundary="a b"\n--a b\r\nContent-Disposition: form-data; '
        b"name*=utf-8''f\r\n\r\n\r\n--a b--\r\nepilogue",
    ),
    (
        b"--b", b"--b--", b"\r\n", b"\n", b"\r", b"Content-Disposition: ", b"form-data; ", b'name="',
        b'"', b"filename=", b"filename*=UTF-8''", b"%E2%82%AC", b"; ", b"boundary=", b"\r\n\r\n", b"\\",
        b"\xff", b"Content-Type: ", b" ", b"\t", b"*0=",
    ),
    largest=2_048,
    most_lines=400_000,  # for up to 2,048 steps, because each piece is awaited
)  # fmt: skip
