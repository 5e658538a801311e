"""Trial runs of transform scripts: input, output and logs. Nothing is changed or recorded."""

import json
from typing import Any

import trio
from msgspec import Struct

from engine.core.records import Event
from engine.drafts import Document, Uuid
from engine.model.configuration import TransformScript
from engine.model.documents import invalid
from engine.model.instants import at_ms
from engine.model.read_models import SessionCustomer
from engine.outbound.ports import Failure, Script, ScriptRuns, Transformed
from engine.runtime.slots import Slots
from engine.wire.body import outbound_body

AT_ONCE = 32  # runs of all callers: each holds its input and output, 1.5 MiB at the most
AT_ONCE_WORKSPACE = 4  # enough for some browser windows, beside the runs of deliveries
# Twice the limit for an event's JSON, because the JSON of a trial can have more spaces and escapes.
TRIAL_BYTES = 512 * 1024


class TrialDraft(Document):
    """The input of a trial run: an outbound body, or the id of an event."""

    event: dict[str, Any] | None = None
    event_id: Uuid | None = None


class Trial(Struct, frozen=True):
    """A finished run."""

    input: bytes
    result: Transformed | Failure
    duration_ms: float


def checked(draft: TrialDraft) -> TrialDraft:
    """Return a draft that names one event. Raises Refusal 400."""
    if (draft.event is None) == (draft.event_id is None):
        raise invalid("event", "give either event or eventId")
    return draft


class Trials:
    """Trial runs of scripts, a few at a time."""

    def __init__(self, transforms: ScriptRuns) -> None:
        self._transforms = transforms
        self._slots = Slots(AT_ONCE, AT_ONCE_WORKSPACE, "trial runs", retry_after_s=1)

    async def of_event(
        self,
        workspace: str,
        script: TransformScript,
        event: Event,
        customer: SessionCustomer | None = None,
    ) -> Trial:
        """Run a script over an event's body, as a delivery does. `customer`: the customer whose session
        asks for the run."""
        body = outbound_body(event)
        with self._slots.taken(workspace, customer):
            return await self._run(workspace, script, body, event.occurred_at_ms, event.id)

    async def of_body(
        self,
        workspace: str,
        script: TransformScript,
        document: dict[str, Any],
        now_ms: int,
        customer: SessionCustomer | None = None,
    ) -> Trial:
        """Run a script over a body that the caller gives.

        A `timestamp` in the body is the script's present time, and an `id` in the body is the script's
        seed, as in a delivery.
        """
        stamp, seed = at_ms(document.get("timestamp")), document.get("id")
        body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        with self._slots.taken(workspace, customer):
            return await self._run(
                workspace,
                script,
                body,
                now_ms if stamp is None else stamp,
                seed if isinstance(seed, str) else script.id,
            )

    async def _run(
        self, workspace: str, script: TransformScript, body: bytes, now_ms: int, seed: str
    ) -> Trial:
        began = trio.current_time()
        known = Script(workspace, script.id, script.source, script.customer_account)
        result = await self._transforms.perform(known, body, now_ms, seed)
        took_ms = (trio.current_time() - began) * 1000
        own_ms = took_ms if isinstance(result, Failure) else result.duration_ms
        return Trial(body, result, round(own_ms, 3))
