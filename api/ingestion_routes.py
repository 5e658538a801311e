"""The two ingestion paths as Quart routes, for servers without the door."""

import trio
from quart import Blueprint, Response, request

from api.admission import AdmissionRefusal
from api.envelope import body_late, no_room, request_id_of, too_large
from api.ingestion import Admitted, Ingestion, IngestionAnswer, answer_of, refusal_of
from engine.ingest.ingest import Reply
from engine.model.errors import Refusal
from engine.model.trace import join_repeated

BODY_S = 30.0  # the same as at the door


def make_blueprint(ingestion: Ingestion, body_s: float = BODY_S) -> Blueprint:
    """Return the blueprint. Its views judge the heads of their requests (`Ingestion.judge`), so the
    application must not judge these heads too."""
    blueprint = Blueprint("ingestion", __name__)

    @blueprint.post("/events")
    async def _event() -> Response:
        return await _take(ingestion, batch=False, body_s=body_s)

    @blueprint.post("/events/batch")
    async def _batch() -> Response:
        return await _take(ingestion, batch=True, body_s=body_s)

    return blueprint


async def _take(ingestion: Ingestion, *, batch: bool, body_s: float) -> Response:
    fields: dict[bytes, bytes] = dict(request.scope["headers"])
    join_repeated(fields, list(request.scope["headers"]))
    request_id = request_id_of(fields.get(b"x-request-id"))
    try:
        admitted = ingestion.judge(
            batch, request.scope["query_string"], fields, request.content_length
        )
    except AdmissionRefusal as refusal:
        return _response(refusal_of(refusal, refusal.allowance, request_id))
    reception = _Reception(ingestion, admitted)
    try:
        with trio.fail_after(body_s):
            await reception.read()
        reception.submit()
    except trio.TooSlowError:
        return _response(refusal_of(body_late(), admitted.allowance, request_id))
    except Refusal as refusal:
        return _response(refusal_of(refusal, admitted.allowance, request_id))
    finally:
        reception.give_back_unless_submitted()
    return _response(answer_of(await reception.wait_reply(), admitted, request_id))


class _Reception:
    """A body that is being received. Its bytes are drawn from the workspace's budget for bodies."""

    def __init__(self, ingestion: Ingestion, admitted: Admitted) -> None:
        self._ingestion = ingestion
        self._admitted = admitted
        self._body = bytearray()
        self._drawn = 0
        self._submitted = False
        self._reply: Reply | None = None
        self._replied = trio.Event()

    async def read(self) -> None:
        """Read the whole body. Raises Refusal."""
        admitted = self._admitted
        async for piece in request.body:
            if len(self._body) + len(piece) > admitted.limit:
                raise too_large(admitted.limit)
            if not self._ingestion.bodies.draw(admitted.workspace, len(piece)):
                raise no_room()
            self._drawn += len(piece)
            self._body += piece

    def submit(self) -> None:
        """Submit the body to `Ingest`. When `Ingest` replies, the body's bytes go back to the workspace's
        budget, even if the caller has stopped waiting."""
        admitted = self._admitted
        self._ingestion.ingest.submit(
            admitted.environment,
            bytes(self._body),
            admitted.batch,
            self._done,
            admitted.hops,
            admitted.key,
            admitted.trace,
        )
        self._submitted = True

    async def wait_reply(self) -> Reply:
        """Wait for the reply of `Ingest`. `Ingest` can accept the body even if this wait is cancelled."""
        await self._replied.wait()
        assert self._reply is not None
        return self._reply

    def _done(self, reply: Reply) -> None:
        self._give_back()
        self._reply = reply
        self._replied.set()

    def give_back_unless_submitted(self) -> None:
        if not self._submitted:
            self._give_back()

    def _give_back(self) -> None:
        drawn, self._drawn = self._drawn, 0
        if drawn:
            self._ingestion.bodies.give_back(self._admitted.workspace, drawn)
        self._body = bytearray()


def _response(answer: IngestionAnswer) -> Response:
    headers = {name.decode(): value.decode("latin-1") for name, value in answer.headers()}
    return Response(answer.body, status=answer.status, headers=headers)
