"""Console sessions: tokens that stand for an API key in a browser, so that the key is typed once.

A token is its claims and a signature under a key derived from the master key. It stands for its API key
as that is at the moment: when the key is revoked, the session has ended. Signing out ends it as well, in
the process that is told; at other nodes its token lives on until its time is over.
"""

import base64
import binascii
import secrets
import struct
from collections.abc import Callable, Mapping
from uuid import UUID

from msgspec import Struct, structs

from engine.control.sessions import SessionTokens
from engine.model.read_models import Credential, Models
from engine.model.token_keys import KEY_ID_BYTES, TokenKeys

PREFIX = b"angcs_"
PURPOSE = b"angarium console session v1"  # what the master key is derived for
TTL_S = 12 * 3600  # a working day: the next one begins with the key
ENDED = 100_000  # sessions that were ended before their time, some 10 MB; the oldest are forgotten first
_NONCE_BYTES = 16
# Which key signed it; the end in ms; the API key; what makes the token its own.
_CLAIMS = struct.Struct(f">{KEY_ID_BYTES}sQ16s{_NONCE_BYTES}s")
_LONGEST = 256  # bytes of a token


class NewConsoleSession(Struct, frozen=True):
    """A session with its token. The service keeps no copy."""

    token: str
    expires_at_ms: int


class ConsoleTokens:
    """The signer and reader of tokens, and owner of those that were ended: the trio thread."""

    def __init__(self, keys: Mapping[bytes, bytes], models: Models) -> None:
        """`keys`: see `TokenKeys`."""
        self._models = models
        self._ended: dict[bytes, None] = {}  # nonces, in the order in which they were ended
        self.keys = TokenKeys(keys)

    def open(self, key_id: str, now: float) -> NewConsoleSession:
        """Return a session that stands for an API key from `now` (seconds since the epoch) on."""
        expires_at_ms = int(now * 1000) + TTL_S * 1000
        nonce = secrets.token_bytes(_NONCE_BYTES)
        claims = _CLAIMS.pack(self.keys.signing, expires_at_ms, UUID(key_id).bytes, nonce)
        encoded = base64.urlsafe_b64encode(self.keys.signed(claims)).rstrip(b"=")
        return NewConsoleSession((PREFIX + encoded).decode(), expires_at_ms)

    def end(self, credential: Credential) -> None:
        """End the session of a credential that `credential` returned."""
        self._ended[credential.session] = None
        if len(self._ended) > ENDED:
            del self._ended[next(iter(self._ended))]

    def credential(self, token: bytes, now: float) -> Credential | None:
        """Return the credential of a token: its API key's. None where it is not ours, or has ended."""
        if len(token) > _LONGEST:
            return None
        encoded = token.removeprefix(PREFIX)
        try:
            whole = base64.b64decode(encoded + b"=" * (-len(encoded) % 4), b"-_", validate=True)
        except binascii.Error:
            return None
        claims = self.keys.claims(whole)
        if claims is None or len(claims) != _CLAIMS.size:
            return None
        _, expires_at_ms, key_id, nonce = _CLAIMS.unpack(claims)
        if expires_at_ms <= now * 1000 or nonce in self._ended:
            return None
        credential = self._models.credential_of(str(UUID(bytes=key_id)), now)
        return None if credential is None else structs.replace(credential, session=nonce)


def session_reader(
    embed: SessionTokens, console: ConsoleTokens
) -> Callable[[bytes, float], Credential | None]:
    """Return what finds the credential of either kind of session."""

    def read(token: bytes, now: float) -> Credential | None:
        if token.startswith(PREFIX):
            return console.credential(token, now)
        return embed.credential(token, now)

    return read
