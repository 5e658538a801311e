"""Trial runs of scripts. Few trials run at once. To show the body of a past attempt, the service runs the
version of the script that made that body."""

from typing import Any

import msgspec
import pytest
import trio

from engine.core.destination import Template
from engine.core.records import Event
from engine.core.vocabulary import ErrorCategory, SigningAlgorithm
from engine.log.delivery_log import AttemptEntry, SentVersion
from engine.model.configuration import TransformScript, TransformStatus
from engine.model.errors import Refusal
from engine.outbound.ports import Failure, Rendered, Script, Transformed
from engine.outbound.remake import Remake
from engine.outbound.sender import MOST_MADE
from engine.outbound.trials import AT_ONCE, AT_ONCE_WORKSPACE, Trials
from engine.transforms import worker
from tests.outbound.fakes import Made, Unchanged

SCRIPT = TransformScript(
    id="t1",
    environment=1,
    destination="d",
    customer_account=None,
    version=2,
    name="s",
    source="function transform(e) { return e; }",
    status=TransformStatus.PUBLISHED,
    published_at_ms=1,
)
EVENT = Event("e1", 1, "a.b", 1_000, b'{"n":1}')
SENT = SentVersion(
    version=1, url="http://a/", headers=b"[]", algorithm=SigningAlgorithm.HMAC_SHA256
)


class Held(Unchanged):
    """Fake stages. A script's run ends when `go` is set. A template's message begins with the template's
    configuration."""

    def __init__(self) -> None:
        self.go = trio.Event()
        self.result: Made = Transformed(b"made", headers=((b"x-a", b"b"),))
        self.asked: list[tuple[Script, bytes, int, str]] = []
        self.scripts: list[TransformScript] = [SCRIPT]

    async def perform(self, script: Script, body: bytes, now_ms: int, seed: str) -> Made:
        self.asked.append((script, body, now_ms, seed))
        await self.go.wait()
        return self.result

    def render(
        self, template: Template, body: bytes, event_type: str, event_id: str | None = None
    ) -> Rendered | Failure:
        return Rendered(template.config + b" " + body + b" " + event_type.encode())

    async def of_version(
        self, environment: int, destination: str, version: int
    ) -> TransformScript | None:
        found = [each for each in self.scripts if each.version == version]
        return found[0] if found else None


def an_attempt(version: int | None) -> AttemptEntry:
    return AttemptEntry(
        number=1,
        started_at_ms=1,
        duration_ms=1,
        success=True,
        destination_version=1,
        transform_version=version,
        response_status=200,
        response_headers=(),
        response_body=b"",
        response_truncated=False,
        error_category=None,
        error_message=None,
        logs=None,
    )


def test_the_room_that_a_run_asks_for_is_what_it_can_return() -> None:
    assert MOST_MADE == worker.OUTPUT


async def test_few_runs_are_under_way_at_once_of_a_workspace_and_of_all(
    nursery: trio.Nursery,
) -> None:
    held = Held()
    trials = Trials(held)
    workspaces = [f"w{k}" for k in range(AT_ONCE // AT_ONCE_WORKSPACE)]
    for workspace in workspaces:
        for _ in range(AT_ONCE_WORKSPACE):
            nursery.start_soon(trials.of_event, workspace, SCRIPT, EVENT)
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(Refusal, match="too many trial runs") as refused:
            await trials.of_event(workspace, SCRIPT, EVENT)
        assert (refused.value.code, refused.value.retry_after_s) == ("overloaded", 1)
    with pytest.raises(Refusal):
        await trials.of_event("another", SCRIPT, EVENT)
    held.go.set()
    await trio.testing.wait_all_tasks_blocked()
    assert (await trials.of_event("another", SCRIPT, EVENT)).result == held.result


@pytest.mark.parametrize(
    ("document", "present", "seed"),
    [
        ({"timestamp": "1970-01-01T00:00:02Z", "id": "x"}, 2_000, "x"),
        ({"timestamp": "soon", "id": 5}, 77, "t1"),
        ({}, 77, "t1"),
    ],
)
async def test_a_body_brings_its_own_present_and_seed(
    document: dict[str, Any], present: int, seed: str
) -> None:
    held = Held()
    held.go.set()
    trial = await Trials(held).of_body("w", SCRIPT, document, 77)
    assert held.asked[0][2:] == (present, seed)
    assert trial.input == held.asked[0][1]
    assert trial.duration_ms == 0


async def test_a_body_is_made_again_by_the_version_that_made_it(nursery: trio.Nursery) -> None:
    held = Held()
    held.go.set()
    remake = Remake(held, held, held)
    plain = await remake.remade("w", "d", EVENT, an_attempt(None), SENT)
    assert plain.body is not None
    assert b'"data":{"n":1}' in plain.body
    assert held.asked == []
    made = await remake.remade("w", "d", EVENT, an_attempt(2), SENT)
    assert (made.body, made.headers, made.note) == (b"made", ((b"x-a", b"b"),), None)
    assert held.asked[0][2:] == (1_000, "e1")
    gone = await remake.remade("w", "d", EVENT, an_attempt(1), SENT)
    assert (gone.body, "removed" in (gone.note or "")) == (None, True)
    held.result = Failure(ErrorCategory.TRANSFORM, "took too long")
    failed = await remake.remade("w", "d", EVENT, an_attempt(2), SENT)
    assert (failed.body, "took too long" in (failed.note or "")) == (None, True)
    held.go = trio.Event()
    for _ in range(AT_ONCE_WORKSPACE):
        nursery.start_soon(remake.remade, "w", "d", EVENT, an_attempt(2), SENT)
    await trio.testing.wait_all_tasks_blocked()
    busy = await remake.remade("w", "d", EVENT, an_attempt(2), SENT)
    assert (busy.body, "later" in (busy.note or "")) == (None, True)
    held.go.set()


async def test_secrets_of_a_template_are_masked_in_what_it_is_shown_to_have_made() -> None:
    held = Held()
    held.go.set()
    held.result = Transformed(b"made", type="other")
    version = SentVersion(
        version=1,
        url="http://a/",
        headers=b"[]",
        algorithm=SigningAlgorithm.HMAC_SHA256,
        template="chat",
        config=b'{"token": null, "room": "a"}',
    )
    made = await Remake(held, held, held).remade("w", "d", EVENT, an_attempt(2), version)
    assert made.body == b'{"token": "***", "room": "a"} made other'
    assert not made.exact
    version = msgspec.structs.replace(version, config=b'{"room": "nullify", "text": "a null"}')
    made = await Remake(held, held, held).remade("w", "d", EVENT, an_attempt(2), version)
    assert made.exact  # the word "null" is not a secret
