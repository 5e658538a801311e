"""A request as its route's handler gets it, and the answer."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel

from api.admission import Admission
from api.services import Services
from engine.control.audit import Principal
from engine.core.vocabulary import Environment
from engine.model.documents import is_uuid
from engine.model.errors import Refusal
from engine.model.read_models import EnvironmentModel, SessionCustomer
from engine.model.words import CREDENTIAL_KINDS, CallerKindName

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a request. `document` becomes JSON and can hold `orjson.Fragment`s. If `body` is
    given, it is sent unchanged with the type `content_type`, and `document` is not sent. A header in
    `headers` replaces the usual header of the same name.

    If `chunks` is given, the door sends the body from `chunks`, as fast as the client takes it. A chunk
    has at most 64 KiB. `length` is the size of the whole body, None if it is unknown. If `chunks` has the
    method `aclose`, the application always calls it, even if no chunk was read. While the door sends
    chunks, the stream counts towards the workspace `account`'s limit on streams. If `account` is None,
    the stream counts towards the limit of the caller's workspace.
    """

    status: int
    document: Any = None
    body: bytes | None = None
    content_type: str = "application/json"
    retry_after_s: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    chunks: AsyncIterator[bytes] | None = None
    length: int | None = None
    account: str | None = None

    def rendered(self) -> bytes:
        return orjson.dumps(self.document) if self.body is None else self.body


class Opened:
    """The chunks of an answer. The first chunk is read before the head of the answer is sent. If the
    first chunk cannot be read, an error answer can still be sent instead."""

    def __init__(self, first: bytes, rest: AsyncGenerator[bytes, None]) -> None:
        self._first: bytes | None = first
        self._rest = rest

    def __aiter__(self) -> "Opened":
        return self

    async def __anext__(self) -> bytes:
        first, self._first = self._first, None
        return await anext(self._rest) if first is None else first

    async def aclose(self) -> None:
        await self._rest.aclose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request that was admitted and read. Attributes that the request's route does not use are empty.

    The names in `headers` are in lower case. The values of headers of the same name are joined with
    commas. The header with the credential is left out. `chunks` is the arriving body, for a route that
    reads its body as a stream. Reading `chunks` raises Refusal 413 if the body exceeds the route's limit.
    """

    services: Services
    request_id: str
    admission: Admission | None
    place: EnvironmentModel | None
    path: dict[str, str]
    query: BaseModel
    document: dict[str, Any]  # the body as it arrived
    body: BaseModel | None  # the body as the model of its route
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]

    def query_as(self, model: type[Model]) -> Model:
        assert isinstance(self.query, model)
        return self.query

    def body_as(self, model: type[Model]) -> Model:
        assert isinstance(self.body, model)
        return self.body

    @property
    def admitted(self) -> Admission:
        assert self.admission is not None
        return self.admission

    @property
    def customer(self) -> SessionCustomer | None:
        """The customer of the calling embed session. None if the caller uses a key: a key sees its whole
        environment."""
        return None if self.admission is None else self.admission.credential.customer

    def sees(self, account: str | None) -> bool:
        """Return True if the caller can see the objects of the customer with this account. `account` is
        None for objects that belong to no customer."""
        return self.customer is None or self.customer.account == account

    def sees_customer(self, external_id: str | None) -> bool:
        return self.customer is None or self.customer.external_id == external_id

    @property
    def environment(self) -> EnvironmentModel:
        assert self.place is not None
        return self.place

    @property
    def number(self) -> int:
        return self.environment.number

    @property
    def environment_name(self) -> Environment:
        return self.environment.name

    @property
    def caller_kind(self) -> CallerKindName:
        """The kind of the caller: CONSOLE for a console session, otherwise the kind of the credential."""
        credential = self.admitted.credential
        in_session = credential.session and not credential.code
        return "CONSOLE" if in_session else CREDENTIAL_KINDS[credential.kind]

    @property
    def principal(self) -> Principal:
        credential = self.admitted.credential
        return Principal(
            kind=self.caller_kind,
            id=credential.key_id if self.customer is None else self.customer.account,
            workspace=credential.workspace,
            environment=None if self.place is None else self.place.number,
            request_id=self.request_id,
            customer=self.customer,
        )

    def identifier(self, name: str = "id") -> str:
        """Return an id of the path in lower case. Raises Refusal 404."""
        text = self.path[name]
        if not is_uuid(text):
            raise Refusal("not_found", "no such resource: the id in the path is not a UUID")
        return text.lower()
