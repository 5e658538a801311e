"""Ingestion for the door and for the Quart routes.

Both call the same functions, so that their answers are equal byte for byte. Nothing here awaits.
"""

from collections.abc import Mapping

from msgspec import Struct

from api.admission import (
    Admission,
    AdmissionControl,
    AdmissionRefusal,
    Allowance,
    named_environment,
)
from api.budget import BodyBudget
from api.cors import Cors, foreign_origin
from api.envelope import (
    CHALLENGE,
    encoded,
    envelope,
    no_room,
    other_environment,
    too_large,
    wrong_type,
)
from api.escapes import unescaped
from api.queries import MAX_PARAMETERS
from engine.core.vocabulary import CredentialKind, Environment, Scope
from engine.ingest.event_json import BATCH_BYTES, EVENT_BYTES
from engine.model.errors import Refusal
from engine.model.hops import HEADER as HOPS
from engine.model.hops import Hops
from engine.model.idempotency import HEADER as IDEMPOTENCY
from engine.model.idempotency import read_key
from engine.model.read_models import Credential, EnvironmentModel, Models
from engine.model.trace import read_trace
from engine.submission.ingest_port import IngestPort
from engine.submission.receipts import Reply

PATHS = {b"/events": False, b"/events/batch": True}  # by path: True for a batch
SCOPES = frozenset({Scope.INGEST, Scope.MANAGE})

Fields = Mapping[bytes, bytes]  # of a head: the lower-case name and its (last) value


class Admitted(Struct, gc=False):
    """An admitted request."""

    environment: EnvironmentModel
    workspace: str
    allowance: Allowance
    batch: bool
    limit: int  # the most bytes of the body
    credential: Credential
    digest: bytes  # of the secret
    hops: int  # deliveries of this service that led to the request
    key: str | None
    trace: str | None


class IngestionAnswer(Struct, gc=False):
    """The answer to the client."""

    status: int
    body: bytes
    allowance: Allowance
    request_id: str
    retry_after_s: int | None = None

    def headers(self) -> list[tuple[bytes, bytes]]:
        """All headers except Connection, in a fixed order."""
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(self.body)),
            (b"x-request-id", self.request_id.encode()),
            *self.allowance.headers(),
        ]
        if self.retry_after_s is not None:
            headers.append((b"retry-after", b"%d" % self.retry_after_s))
        if self.status == 401:
            headers.append((b"www-authenticate", CHALLENGE.encode()))
        return headers


class Ingestion:
    """The steps of every request with events."""

    def __init__(
        self,
        admission: AdmissionControl,
        models: Models,
        ingest: IngestPort,
        bodies: BodyBudget,
        hops: Hops | None = None,
    ) -> None:
        """`hops` counts hops and detects loops. None: neither."""
        self.admission = admission
        self._hops = hops
        self.bodies = bodies
        self.ingest = ingest
        self.cors = Cors(models)
        self._models = models

    def judge(self, batch: bool, query: bytes, fields: Fields, length: int | None) -> Admitted:
        """Judge a head. Raises AdmissionRefusal for the first reason: 401, 429, 403, 415, 413, 400, then
        503.

        `length` is Content-Length, None if unknown.
        """
        admission = self.admission.admit(
            fields.get(b"authorization"), SCOPES, ingestion=True, origin=foreign_origin(fields)
        )
        allowance = admission.allowance
        try:
            named = _named(query, fields)
            _check_environment(admission, named)
            _check_type(fields)
            limit = BATCH_BYTES if batch else EVENT_BYTES
            if length is not None and length > limit:
                raise too_large(limit)
            workspace = admission.credential.workspace
            environment = self._environment(admission, named)
            hops = self.hops_of(fields)
            key = _key(batch, fields)
            if length and not self.bodies.has_room(workspace, length):
                raise no_room()
        except Refusal as refusal:
            raise with_allowance(refusal, allowance) from None
        credential = admission.credential
        return Admitted(
            environment,
            workspace,
            allowance,
            batch,
            limit,
            credential,
            admission.digest,
            hops,
            key,
            read_trace(fields),
        )

    def hops_of(self, fields: Fields) -> int:
        """Return how often a request's events have passed through Angarium. Raises Refusal beyond the
        limit."""
        stated = fields.get(HOPS)
        if stated is None or self._hops is None:
            return 0
        hops, limit = self._hops.count(stated), self._hops.limit
        if hops > limit:
            raise Refusal(
                "loop_detected",
                f"the event has passed through this service {hops} times, the most are {limit}: "
                "a receiver sends events back to this service; change the rule that feeds it",
            )
        return hops

    def takes(self, admitted: Admitted, length: int) -> bool:
        """Return True if a request whose head was judged as `admitted` can have a body of `length` bytes:
        this is below its limit, and the budget has room now."""
        return length <= admitted.limit and self.bodies.has_room(admitted.workspace, length)

    def judge_again(self, admitted: Admitted) -> bool:
        """Admit the connection's next request. Its head must be that of `admitted`, except
        Content-Length, which `takes` checks. False: the credential has changed, so call `judge`. Raises
        AdmissionRefusal 503 or 429."""
        allowance = self.admission.readmit(admitted.digest, admitted.credential, ingestion=True)
        if allowance is None:
            return False
        admitted.allowance = allowance
        return True

    def _environment(self, admission: Admission, named: list[str]) -> EnvironmentModel:
        wanted = {named_environment(name) for name in named}
        if admission.environment is not None:
            return admission.environment
        if not wanted:
            raise Refusal("invalid_request", "name the environment: header X-Environment")
        if len(wanted) > 1:
            raise Refusal("invalid_request", "the request names several environments")
        environment = self._models.environment_of(admission.credential.workspace, wanted.pop())
        if environment is None:
            raise Refusal("invalid_request", "the workspace does not have this environment")
        return environment


def answer_of(reply: Reply, admitted: Admitted, request_id: str) -> IngestionAnswer:
    """Return the answer for a reply of `Ingest`."""
    body = reply.body
    if reply.code is not None:
        body = envelope(reply.code, reply.message, request_id, reply.details)
    return IngestionAnswer(reply.status, body, admitted.allowance, request_id, reply.retry_after_s)


def refusal_of(refusal: Refusal, allowance: Allowance, request_id: str) -> IngestionAnswer:
    """Return the answer for a refusal, with the rate headers of `allowance`."""
    body = envelope(refusal.code, refusal.message, request_id, refusal.details)
    return IngestionAnswer(refusal.status, body, allowance, request_id, refusal.retry_after_s)


def with_allowance(refusal: Refusal, allowance: Allowance) -> AdmissionRefusal:
    """Return `refusal` with the answer's rate headers."""
    if isinstance(refusal, AdmissionRefusal):
        return refusal
    refused = AdmissionRefusal(
        refusal.code, refusal.message, refusal.details, refusal.retry_after_s
    )
    refused.allowance = allowance
    return refused


def _key(batch: bool, fields: Fields) -> str | None:
    value = fields.get(IDEMPOTENCY)
    if value is not None and batch:
        raise Refusal(
            "invalid_request",
            "the header Idempotency-Key is for a single event: give each event of a batch its "
            "own idempotencyKey",
        )
    return read_key(value)


def _named(query: bytes, fields: Fields) -> list[str]:
    header = fields.get(b"x-environment")
    named = [] if header is None else [header.decode("latin-1")]
    if query:
        pairs = query.split(b"&", MAX_PARAMETERS)
        if len(pairs) > MAX_PARAMETERS:
            raise Refusal("invalid_request", "too many query parameters")
        for pair in pairs:
            name, _, value = pair.partition(b"=")
            if _plain(name) == "environment":
                named.append(_plain(value))
    return named


def _plain(text: bytes) -> str:
    return unescaped(text.replace(b"+", b" ")).decode("utf-8", "replace")


def _check_environment(admission: Admission, named: list[str]) -> None:
    credential, own = admission.credential, admission.environment
    if credential.kind is CredentialKind.EMBED_SESSION:
        raise Refusal("forbidden", "an embed session cannot send events")
    if own is None:
        return
    for name in named:
        if name != own.name.name and name in Environment.__members__:
            raise other_environment(own.name.name)


def _check_type(fields: Fields) -> None:
    given = fields.get(b"content-type", b"")
    if given != b"application/json":
        essence = given.partition(b";")[0].strip(b" \t").lower()
        if essence != b"application/json":
            raise wrong_type("application/json")
    if b"content-encoding" in fields:
        raise encoded()
