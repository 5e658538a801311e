"""Signed URLs of files: whoever has the URL can read that file until the URL expires.

A token has claims and a signature. The signing key is derived from the master key.
"""

import base64
import re
import struct
from collections.abc import Callable, Mapping
from uuid import UUID

from msgspec import Struct

from engine.model.token_keys import KEY_ID_BYTES, SIGNATURE_BYTES, TokenKeys

PURPOSE = b"angarium file url v1"  # the label of the keys derived from the master keys
PATH = "/downloads/"
# The signing key's id, the environment, the file's id, and the Unix time of expiry.
_CLAIMS = struct.Struct(f">{KEY_ID_BYTES}sI16sI")
TOKEN_CHARACTERS = (_CLAIMS.size + SIGNATURE_BYTES) * 4 // 3  # 80: no padding is needed
_TOKEN = re.compile(f"[A-Za-z0-9_-]{{{TOKEN_CHARACTERS}}}")  # the decoder also accepts `+` and `/`


class FileGrant(Struct, frozen=True):
    """The file that a token lets its holder read."""

    environment: int
    file: str


class FileUrls:
    """The signer and reader of URLs, used only in the trio thread. `origin` returns the beginning of each
    URL. It is a function, because this server can learn its own port later than this object is made."""

    def __init__(
        self,
        keys: Mapping[bytes, bytes],
        origin: Callable[[], str],
        lifetime_s: float,
        now: Callable[[], float],
    ) -> None:
        self._origin = origin
        self._lifetime_s = lifetime_s
        self._now = now
        self.keys = TokenKeys(keys)

    def url(self, environment: int, file: str) -> str:
        """Return a URL of a file that is valid for `lifetime_s`."""
        expires_at = int(self._now() + self._lifetime_s)
        claims = _CLAIMS.pack(self.keys.signing, environment, UUID(file).bytes, expires_at)
        whole = self.keys.signed(claims)
        return self._origin() + PATH + base64.urlsafe_b64encode(whole).decode()

    def reading(self, token: str) -> FileGrant | None:
        """Return the file that a token gives access to; None if the token is not ours, or has expired."""
        if _TOKEN.fullmatch(token) is None:
            return None
        claims = self.keys.claims(base64.urlsafe_b64decode(token))
        if claims is None:
            return None
        _, environment, file, expires_at = _CLAIMS.unpack(claims)
        if expires_at <= self._now():
            return None
        return FileGrant(environment, str(UUID(bytes=file)))
