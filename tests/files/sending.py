"""Helpers that send a file in three forms: as raw bytes, in a multipart form, and in a JSON document.
`Places` shows what is stored of the files."""

import hashlib
from pathlib import Path
from typing import Any

from tests.api.house import Caller, Response
from tests.service.house import ServiceHouse

CONTENT = b"Total: 99.50\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BOUNDARY = "a-boundary"


async def raw(api: Caller, content: bytes = CONTENT, query: str = "", **headers: str) -> Response:
    """Header names have `_` in place of `-`."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return await api(
        "POST",
        "/files" + query,
        body=content,
        headers={"Content-Type": "text/plain", **fields},
    )


def part(name: str, content: bytes, head: str = "", file_name: str | None = None) -> bytes:
    named = "" if file_name is None else f'; filename="{file_name}"'
    return (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n{head}\r\n'.encode()
        + content
        + b"\r\n"
    )


async def form(api: Caller, *parts: bytes, end: bytes = f"--{BOUNDARY}--\r\n".encode()) -> Response:
    return await api(
        "POST",
        "/files",
        body=b"".join(parts) + end,
        headers={"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"},
    )


async def document(api: Caller, **fields: Any) -> Response:
    return await api("POST", "/files", fields)


class Places:
    """A house's files on disk and in rows."""

    def __init__(self, house: ServiceHouse) -> None:
        self._house = house
        self.folder = house.server.settings.data_dir / "files"

    def blobs(self) -> list[Path]:
        return [each for each in self.folder.glob("[0-9]*/*/*") if each.is_file()]

    def spooled(self) -> list[Path]:
        return [each for each in self.folder.glob("incoming/*/*") if each.name != "lock"]

    async def count(self, table: str) -> int:
        return int(
            await self._house.server.bridge.pool.fetch_value(f"SELECT count(*) FROM {table}")
        )

    async def clean(self) -> bool:
        return not self.spooled() and await self.count("file_suspects") == 0
