"""The judgement of ingestion requests, and the answers to them.

The door and the Quart routes call these same functions, so that their answers are equal byte for byte.
Nothing here awaits.
"""

from msgspec import Struct

from api.admission import AdmissionControl, Allowance, with_allowance
from api.budget import BodyBudget
from api.cors import Cors
from api.entry import Fields, enter, place_of
from api.envelope import CHALLENGE, envelope, no_room
from api.queries import pairs_of
from api.resources import ingestion
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
_EVENT, _BATCH = ingestion.ROUTES


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
        """Judge a head. Raises AdmissionRefusal for the first fault, in the order 401, 429, 403, 415,
        413, 400, 503.

        `length` is Content-Length, None if unknown.
        """
        route = _BATCH if batch else _EVENT
        entry = enter(self.admission, self._models, route, query, fields, length)
        admission = entry.admission
        assert admission is not None
        credential = admission.credential
        workspace = credential.workspace
        try:
            environment = place_of(self._models, route, admission, entry.named)
            assert environment is not None
            if query:
                pairs_of(query)  # refuses too many
            hops = self.hops_of(fields)
            key = _key(batch, fields)
            if length and not self.bodies.has_room(workspace, length):
                raise no_room()
        except Refusal as refusal:
            raise with_allowance(refusal, admission.allowance) from None
        return Admitted(
            environment,
            workspace,
            admission.allowance,
            batch,
            route.body_bytes,
            credential,
            admission.digest,
            hops,
            key,
            read_trace(fields),
        )

    def hops_of(self, fields: Fields) -> int:
        """Return how often a request's events have passed through Angarium. Raises Refusal if this is
        more often than the limit."""
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
        """Return True if a body of `length` bytes is within the body limit of `admitted`, and the
        workspace's budget for bodies has room for it now."""
        return length <= admitted.limit and self.bodies.has_room(admitted.workspace, length)

    def judge_again(self, admitted: Admitted) -> bool:
        """Admit the connection's next request without judging its head. The caller has checked that this
        head equals the head of `admitted` in everything but the Content-Length, which `takes` checks.

        Return False if the credential has changed. The caller must then call `judge`. Raises
        AdmissionRefusal 503 or 429.
        """
        allowance = self.admission.readmit(admitted.digest, admitted.credential, ingestion=True)
        if allowance is None:
            return False
        admitted.allowance = allowance
        return True


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


def _key(batch: bool, fields: Fields) -> str | None:
    value = fields.get(IDEMPOTENCY)
    if value is not None and batch:
        raise Refusal(
            "invalid_request",
            "the header Idempotency-Key is for a single event: give each event of a batch its "
            "own idempotencyKey",
        )
    return read_key(value)
