"""Embed sessions: short-lived tokens for one customer's browser.

Any process can verify a token without a look-up: each process derives the signing key from the master
key.
"""

import base64
import binascii
import struct
from collections.abc import Mapping
from typing import Protocol
from uuid import UUID

from msgspec import Struct

from engine.control.audit import Principal
from engine.control.commands import written
from engine.control.writer import ConfigurationWriter
from engine.core.vocabulary import CredentialKind, Scope
from engine.model.configuration import AuditEntry
from engine.model.errors import Refusal
from engine.model.instants import iso
from engine.model.read_models import Credential, Models, SessionCustomer
from engine.model.token_keys import KEY_ID_BYTES, TokenKeys

PREFIX = b"anges_"
PURPOSE = b"angarium embed session v1"  # the label of the keys derived from the master keys
TTL_S = 300
TTL_LEAST_S = 60
TTL_MOST_S = 900  # only a few minutes, because a session cannot be ended early
LONGEST = (
    2_048  # bytes of a token: 1,024 for an external id of 256 characters, and base64 of it all
)
# The claims of a token: the signing key's id, the environment's number, when the token expires (ms since
# the epoch), and the account's id. The customerExternalId follows in UTF-8.
_HEAD = struct.Struct(f">{KEY_ID_BYTES}sIQ16s")


class NewSession(Struct, frozen=True):
    """A session with its token. The service keeps no copy."""

    token: str
    expires_at_ms: int
    customer: SessionCustomer


class AccountStore(Protocol):
    """Customers' accounts."""

    async def open_account(self, environment: int, external_id: str, identifier: str) -> str:
        """Return the id of a customer's account. If the customer has none, add an account with the id
        `identifier`."""

    async def record(self, environment: int, account: str, audit: AuditEntry) -> None:
        """Write an audit entry about an account."""


class SessionTokens:
    """The signer and reader of tokens. Owner: the trio thread."""

    def __init__(self, keys: Mapping[bytes, bytes], models: Models) -> None:
        self._models = models
        self.keys = TokenKeys(keys)

    def sign(self, environment: int, customer: SessionCustomer, expires_at_ms: int) -> str:
        """Return the token of a session."""
        account = UUID(customer.account).bytes
        head = _HEAD.pack(self.keys.signing, environment, expires_at_ms, account)
        whole = self.keys.signed(head + customer.external_id.encode())
        return (PREFIX + base64.urlsafe_b64encode(whole).rstrip(b"=")).decode()

    def credential(self, token: bytes, now: float) -> Credential | None:
        """Return the credential of a token. None if the token has expired, or if none of `keys` signed
        it."""
        if len(token) > LONGEST:
            return None
        encoded = token.removeprefix(PREFIX)
        try:
            whole = base64.b64decode(encoded + b"=" * (-len(encoded) % 4), b"-_", validate=True)
        except binascii.Error:
            return None
        claims = self.keys.claims(whole)
        if claims is None or len(claims) <= _HEAD.size:
            return None
        _, number, expires_at_ms, account = _HEAD.unpack_from(claims)
        environment = self._models.environments.get(number)
        if environment is None or expires_at_ms <= now * 1000:
            return None
        return Credential(
            kind=CredentialKind.EMBED_SESSION,
            key_id="",
            workspace=environment.workspace,
            environment=environment,
            scope=Scope.MANAGE,  # within its customer's account, on routes that admit sessions
            expires_at=expires_at_ms / 1000,
            customer=SessionCustomer(str(UUID(bytes=account)), claims[_HEAD.size :].decode()),
        )


class SessionCommands:
    """Opens embed sessions."""

    def __init__(
        self, accounts: AccountStore, tokens: SessionTokens, writer: ConfigurationWriter
    ) -> None:
        self._accounts = accounts
        self._tokens = tokens
        self._writer = writer

    async def create(
        self, principal: Principal, environment: int, external_id: str, ttl_s: int
    ) -> NewSession:
        """Open a session for a customer, and create the customer's account if it is new. Raises Refusal
        400."""
        if not TTL_LEAST_S <= ttl_s <= TTL_MOST_S:
            raise Refusal("invalid_request", f"a session lives {TTL_LEAST_S}-{TTL_MOST_S} seconds")
        expires_at_ms = self._writer.now_ms() + ttl_s * 1000
        changes = {
            "customerExternalId": {"from": None, "to": external_id},
            "expiresAt": {"from": None, "to": iso(expires_at_ms)},
        }

        async def work() -> str:
            account = await self._accounts.open_account(
                environment, external_id, self._writer.new_id()
            )
            entry = self._writer.entry(principal, "embed_session.create", account, changes)
            await written(self._accounts.record(environment, account, entry))
            return account

        customer = SessionCustomer(await self._writer.commands.run_beside(work), external_id)
        token = self._tokens.sign(environment, customer, expires_at_ms)
        return NewSession(token, expires_at_ms, customer)
