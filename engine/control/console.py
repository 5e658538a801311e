"""Console sessions: tokens that stand for an API key in a browser, so that the key is typed once.

A session has the present rights of its API key, and ends when the key is revoked. When a person signs
out, this process ends the session and notifies the other processes. But a process that does not get the
notification, because it starts later or is cut off from the database, accepts the session's token until
the token expires.

A login code is another kind of token. Within ten minutes, it opens one session.
"""

import base64
import binascii
import secrets
import struct
from collections.abc import Callable, Mapping
from typing import Protocol
from uuid import UUID

from msgspec import Struct, structs

from engine.control.audit import Principal
from engine.control.commands import written
from engine.control.sessions import SessionTokens
from engine.control.writer import ConfigurationWriter
from engine.model.configuration import AuditEntry
from engine.model.documents import is_uuid
from engine.model.instants import iso
from engine.model.read_models import Credential, Models
from engine.model.token_keys import KEY_ID_BYTES, TokenKeys

PREFIX = b"angcs_"
CODE_PREFIX = b"angcc_"
ENDED = "console_session"  # the kind of the notification that a session has ended
PURPOSE = b"angarium console session v1"  # the label of the keys derived from the master keys
TTL_S = 12 * 3600  # a working day; then the key must be entered again
CODE_TTL_S = 600  # to copy a link from a terminal to a browser
MOST_ENDED = 100_000  # sessions ended before they expired, some 10 MB; the oldest are dropped
_NONCE_BYTES = 16
# The claims: the signing key's id, the token's kind, the token's end in ms, the API key's id, a nonce.
_CLAIMS = struct.Struct(f">{KEY_ID_BYTES}scQ16s{_NONCE_BYTES}s")
_KINDS = {PREFIX: b"s", CODE_PREFIX: b"c"}
_LONGEST = 256  # bytes of a token


class NewConsoleSession(Struct, frozen=True):
    """A session with its token. The service keeps no copy of the token."""

    id: str
    token: str
    expires_at_ms: int


class ConsoleTokens:
    """Signs and reads the tokens of console sessions, and keeps the list of ended sessions. Only the trio
    thread uses this object."""

    def __init__(self, keys: Mapping[bytes, bytes], models: Models) -> None:
        self._models = models
        self._ended: dict[bytes, None] = {}  # nonces, in the order in which they were ended
        self.keys = TokenKeys(keys)

    def open(self, key_id: str, now: float) -> NewConsoleSession:
        """Return a new session for an API key. `now` is in seconds since the epoch."""
        expires_at_ms = int(now * 1000) + TTL_S * 1000
        nonce = secrets.token_bytes(_NONCE_BYTES)
        token = self._token(PREFIX, key_id, expires_at_ms, nonce)
        return NewConsoleSession(str(UUID(bytes=nonce)), token, expires_at_ms)

    def code(self, key_id: str, now: float) -> str:
        """Return a login code that opens a session for an API key."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return self._token(CODE_PREFIX, key_id, int(now * 1000) + CODE_TTL_S * 1000, nonce)

    def _token(self, prefix: bytes, key_id: str, expires_at_ms: int, nonce: bytes) -> str:
        kind = _KINDS[prefix]
        claims = _CLAIMS.pack(self.keys.signing, kind, expires_at_ms, UUID(key_id).bytes, nonce)
        return (prefix + base64.urlsafe_b64encode(self.keys.signed(claims)).rstrip(b"=")).decode()

    def end(self, session: str) -> None:
        """End a session, or use up a login code, by its id."""
        if not is_uuid(session):
            return
        self._ended[UUID(session).bytes] = None
        if len(self._ended) > MOST_ENDED:
            del self._ended[next(iter(self._ended))]

    def credential(self, token: bytes, now: float) -> Credential | None:
        """Return the credential of the API key behind a session's token or a login code."""
        if len(token) > _LONGEST:
            return None
        prefix = CODE_PREFIX if token.startswith(CODE_PREFIX) else PREFIX
        encoded = token.removeprefix(prefix)
        try:
            whole = base64.b64decode(encoded + b"=" * (-len(encoded) % 4), b"-_", validate=True)
        except binascii.Error:
            return None
        claims = self.keys.claims(whole)
        if claims is None or len(claims) != _CLAIMS.size:
            return None
        _, kind, expires_at_ms, key_id, nonce = _CLAIMS.unpack(claims)
        if kind != _KINDS[prefix] or expires_at_ms <= now * 1000 or nonce in self._ended:
            return None
        credential = self._models.credential_of(str(UUID(bytes=key_id)), now)
        return (
            None
            if credential is None
            else structs.replace(credential, session=nonce, code=prefix is CODE_PREFIX)
        )


class ConsoleTrail(Protocol):
    """The writer of audit entries about sessions. It can also notify the other nodes."""

    async def write(self, entry: AuditEntry, *, news: tuple[str, str] | None = None) -> None:
        """Add an entry. If `news` (kind and id) is given, send it to the other nodes."""


class ConsoleCommands:
    """Opens and ends console sessions."""

    def __init__(
        self, tokens: ConsoleTokens, trail: ConsoleTrail, writer: ConfigurationWriter
    ) -> None:
        self._tokens = tokens
        self._trail = trail
        self._writer = writer

    async def open(self, principal: Principal, credential: Credential) -> NewConsoleSession:
        """Open a session with a key or a login code. A login code works once."""
        used = None
        if credential.code:
            used = (ENDED, _session_of(credential))
            self._tokens.end(used[1])
        opened = self._tokens.open(credential.key_id, self._writer.now())
        changes = {
            "by": {"from": None, "to": "LOGIN_CODE" if credential.code else "KEY"},
            "expiresAt": {"from": None, "to": iso(opened.expires_at_ms)},
        }
        entry = self._writer.entry(principal, "console_session.create", opened.id, changes)
        await written(self._trail.write(entry, news=used))
        return opened

    async def end(self, principal: Principal, credential: Credential) -> None:
        """End the session of a credential."""
        if not credential.session:
            return
        session = _session_of(credential)
        self._tokens.end(session)
        entry = self._writer.entry(principal, "console_session.delete", session)
        await written(self._trail.write(entry, news=(ENDED, session)))


def _session_of(credential: Credential) -> str:
    return str(UUID(bytes=credential.session))


def session_reader(
    embed: SessionTokens, console: ConsoleTokens
) -> Callable[[bytes, float], Credential | None]:
    """Return a function that takes the token of an embed session or a console session and returns the
    session's credential."""

    def read(token: bytes, now: float) -> Credential | None:
        if token.startswith((PREFIX, CODE_PREFIX)):
            return console.credential(token, now)
        return embed.credential(token, now)

    return read
