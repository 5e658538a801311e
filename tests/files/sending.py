"""Sends files in their three forms, and looks at what is left of them."""

import hashlib
from pathlib import Path
from typing import Any

from tests.api.house import Caller, Response
from tests.service.house import ServiceHouse

CONTENT = b"Total: 99.50\n"
SHA256 = hashlib.sha256(CONTENT).hexdigest()
BOUNDARY = "a-boundary"


async def raw(api: Caller, content: bytes = CONTENT, query: str = "", **headers: str) -> Response:
    """Send bytes as they are; headers by their names with `_` for `-`."""
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return await api(
        "POST",
        "/files" + query,
        body=content,
        headers={"Content-Type": "text/plain", **fields},
    )


def part(name: str, content: bytes, head: str = "", file_name: str | None = None) -> bytes:
    """Return a part of a form."""
    named = "" if file_name is None else f'; filename="{file_name}"'
    return (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{named}\r\n{head}\r\n'.encode()
        + content
        + b"\r\n"
    )


async def form(api: Caller, *parts: bytes, end: bytes = f"--{BOUNDARY}--\r\n".encode()) -> Response:
    """Send a form."""
    return await api(
        "POST",
        "/files",
        body=b"".join(parts) + end,
        headers={"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"},
    )


async def document(api: Caller, **fields: Any) -> Response:
    """Send JSON."""
    return await api("POST", "/files", fields)


class Places:
    """What is on disk and in the rows of a house."""

    def __init__(self, house: ServiceHouse) -> None:
        self._house = house
        self.folder = house.server.settings.data_dir / "files"

    def blobs(self) -> list[Path]:
        """All content that is kept."""
        return [each for each in self.folder.glob("[0-9]*/*/*") if each.is_file()]

    def spooled(self) -> list[Path]:
        """All that is being received."""
        return [each for each in self.folder.glob("incoming/*/*") if each.name != "lock"]

    async def count(self, table: str) -> int:
        return int(
            await self._house.server.bridge.pool.fetch_value(f"SELECT count(*) FROM {table}")
        )

    async def clean(self) -> bool:
        """Whether nothing is being received or under suspicion."""
        return not self.spooled() and await self.count("file_suspects") == 0
