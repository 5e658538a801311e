"""The sender of attempts. An attempt passes only the stages that it needs before its request is sent.
Each attempt gets exactly one outcome."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from engine.actors.script_limit import ScriptLimit
from engine.core.destination import ClientCredentials, Destination, Template, Transform
from engine.core.records import Event, Outcome
from engine.core.vocabulary import ErrorCategory
from engine.outbound.held import MOST_BYTES, SHARE_BYTES
from engine.outbound.ports import Carried, Failure, Headers, Rendered, Script, Transformed
from engine.outbound.sender import MOST_MADE, OutboundSender
from engine.ports import Transmission
from engine.runtime.clock import Clock
from engine.runtime.timers import Timers
from tests.core.making import a_delivery, a_destination, a_failure, a_success
from tests.outbound.fakes import Unchanged

SCRIPT = Transform("t1", 7, "function transform(e) { return e; }")
TEMPLATE = Template("slack", b"{}", b"{}")
Made = Transformed | Failure


PROOF: Headers = ((b"authorization", b"Bearer one"),)
RENEWED: Headers = ((b"authorization", b"Bearer two"),)
CLIENT = ClientCredentials("https://issuer.example/token", "id", "secret", None, None, "HEADER")


class Wire:
    def __init__(self) -> None:
        self.sent: list[tuple[Transmission, Callable[[Outcome], None]]] = []
        self.forgotten: list[str] = []

    def send(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        self.sent.append((transmission, done))

    def forget(self, destination: str) -> None:
        self.forgotten.append(destination)

    def answer(self, index: int = 0, outcome: Outcome | None = None) -> None:
        self.sent[index][1](outcome or a_success())

    @property
    def bodies(self) -> list[bytes | None]:
        return [transmission.body for transmission, _ in self.sent]


class Stages(Unchanged):
    """If `waits`, scripts end when the test ends them."""

    def __init__(self) -> None:
        self.made: Made = Transformed(b"made")
        self.carried: Carried | Failure = Carried(b"carried", ((b"angarium-file-url", b"u"),))
        self.rendered: Rendered | Failure = Rendered(b"rendered", ((b"x-by", b"template"),))
        self.broken = ""
        self.waits = False
        self.runs: list[tuple[Script, bytes, int, str, Callable[[Made], None]]] = []
        self.types: list[str] = []
        self.proofs: list[Headers | Failure] = [PROOF]
        self.prepared: list[str] = []
        self.refusals: list[Headers] = []

    def carry(self, event: Event, done: Callable[[Carried | Failure], None]) -> None:
        self._break("carry")
        done(self.carried)

    def run(
        self, script: Script, body: bytes, now_ms: int, seed: str, done: Callable[[Made], None]
    ) -> None:
        self._break("run")
        self.runs.append((script, body, now_ms, seed, done))
        if not self.waits:
            done(self.made)

    def render(
        self, template: Template, body: bytes, event_type: str, event_id: str | None = None
    ) -> Rendered | Failure:
        self._break("render")
        self.types.append(event_type)
        return self.rendered

    def judge(self, template: Template, outcome: Outcome) -> Outcome:
        self._break("judge")
        outcome.success, outcome.message = False, "it said no"
        return outcome

    def prepare(self, destination: Destination, done: Callable[[Headers | Failure], None]) -> None:
        self._break("prepare")
        self.prepared.append(destination.id)
        done(self.proofs.pop(0))

    def refused(self, destination: Destination, headers: Headers) -> bool:
        self.refusals.append(headers)
        return bool(self.proofs)

    def _break(self, stage: str) -> None:
        if self.broken == stage:
            raise RuntimeError(f"a bug in {stage}")


class Road:
    def __init__(self, timers: Timers) -> None:
        self.wire, self.stages, self.timers = Wire(), Stages(), timers
        stages = self.stages
        self.sender = OutboundSender(self.wire, stages, stages, stages, stages, timers, Clock())
        self.outcomes: list[Outcome] = []
        self._number = 0

    def send(self, **destination: Any) -> Transmission:
        """Send a delivery; `attachments` are those of its event."""
        self._number += 1
        delivery = a_delivery(self._number)
        delivery.event.attachments = destination.pop("attachments", None)
        transmission = Transmission(a_destination(**destination), delivery, 1)
        self.sender.send(transmission, self.outcomes.append)
        return transmission

    async def ended(self) -> Outcome:
        await trio.testing.wait_all_tasks_blocked()
        (outcome,) = self.outcomes
        return outcome

    @property
    def held(self) -> int:
        return self.sender.held.statistics().bytes


@pytest.fixture
async def road(nursery: trio.Nursery) -> Road:
    timers = Timers(lambda error: None)
    nursery.start_soon(timers.run)
    await trio.testing.wait_all_tasks_blocked()
    return Road(timers)


def test_what_needs_no_stage_goes_straight_to_the_wire() -> None:
    wire = Wire()
    stages = Stages()
    sender = OutboundSender(wire, stages, stages, stages, stages, None, None)  # type: ignore[arg-type]
    transmission = Transmission(a_destination(), a_delivery(1), 1)
    done: Callable[[Outcome], None] = [].append  # type: ignore[assignment]
    sender.send(transmission, done)
    # The wire gets the transmission unchanged.
    assert wire.sent == [(transmission, done)]
    sender.forget("d")
    assert wire.forgotten == ["d"]


async def test_every_stage_adds_its_part_and_the_later_ones_win(road: Road) -> None:
    road.stages.made = Transformed(
        b"made", type="a.b", headers=((b"X-By", b"script"), (b"x-a", b"b")), logs=b"hello\n"
    )
    asked = road.send(transform=SCRIPT, template=TEMPLATE, attachments=b"[]")
    (run,) = road.stages.runs
    assert run[:4] == (Script("w", "t1", SCRIPT.source), b"carried", 0, asked.delivery.event.id)
    assert road.stages.types == ["a.b"]
    ((sent, _),) = road.wire.sent
    assert (sent.destination, sent.delivery, sent.number) == (asked.destination, asked.delivery, 1)
    assert sent.body == b"rendered"
    assert sent.headers == (  # no name occurs twice, because readers could use either value
        (b"x-by", b"template"),
        (b"x-a", b"b"),
        (b"angarium-file-url", b"u"),
    )
    assert road.outcomes == []
    road.wire.answer()
    outcome = await road.ended()
    assert (outcome.transform_version, outcome.logs) == (7, b"hello\n")
    assert (outcome.success, outcome.message) == (False, "it said no")


async def test_null_skips_and_nothing_is_sent(road: Road) -> None:
    road.stages.made = Transformed(b"", skipped=True, logs=b"not today\n")
    road.send(transform=SCRIPT, template=TEMPLATE)
    assert road.outcomes == []  # never during `send`
    outcome = await road.ended()
    assert (outcome.success, outcome.skipped, outcome.status) == (True, True, None)
    assert (outcome.transform_version, outcome.logs) == (7, b"not today\n")
    assert road.wire.sent == []
    assert road.held == 0


@pytest.mark.parametrize("stage", ["carried", "made", "rendered"])
async def test_a_stage_that_fails_is_a_failed_attempt(road: Road, stage: str) -> None:
    failure = Failure(ErrorCategory.TRANSFORM, "it threw", b"so far\n", retry_after_s=3)
    setattr(road.stages, stage, failure)
    road.send(transform=SCRIPT, template=TEMPLATE, attachments=b"[]")
    outcome = await road.ended()
    assert (outcome.success, outcome.category) == (False, ErrorCategory.TRANSFORM)
    assert (outcome.message, outcome.retry_after_s) == ("it threw", 3)
    ran = stage != "carried"
    assert outcome.transform_version == (7 if ran else None)  # the script that ran
    assert outcome.logs == (b"so far\n" if stage == "made" else None)
    assert (road.wire.sent, road.held) == ([], 0)


@pytest.mark.parametrize("stage", ["carry", "run", "render"])
async def test_a_bug_in_a_stage_costs_its_attempt_alone(road: Road, stage: str) -> None:
    road.stages.broken = stage
    road.send(transform=SCRIPT, template=TEMPLATE, attachments=b"[]")
    outcome = await road.ended()
    assert (outcome.success, outcome.category) == (False, ErrorCategory.INTERNAL)
    assert road.held == 0
    road.stages.broken = ""
    road.send(transform=SCRIPT, template=TEMPLATE, attachments=b"[]")
    assert road.wire.bodies == [b"rendered"]


async def test_an_answer_that_cannot_be_judged_counts_as_the_wire_had_it(road: Road) -> None:
    road.stages.broken = "judge"
    road.send(template=TEMPLATE)
    road.wire.answer()
    assert (await road.ended()).success
    assert road.held == 0


async def test_a_script_that_answers_twice_is_heard_once(road: Road) -> None:
    road.stages.waits = True
    road.send(transform=SCRIPT)
    done = road.stages.runs[0][4]
    done(Transformed(b"one"))
    done(Transformed(b"two"))
    assert road.wire.bodies == [b"one"]
    road.wire.answer()
    done(Failure(ErrorCategory.TRANSFORM, "late"))
    await road.ended()
    assert road.held == 0


async def test_a_patch_between_preparation_and_sending_changes_nothing_of_what_was_begun(
    road: Road,
) -> None:
    road.stages.waits = True
    before = road.send(transform=SCRIPT)
    road.send(transform=Transform("t2", 8, "other"), version=2)  # as after a publish
    for run in reversed(road.stages.runs):
        run[4](Transformed(run[0].id.encode()))
    assert road.wire.bodies == [b"t2", b"t1"]
    assert road.wire.sent[1][0].destination is before.destination
    road.wire.answer(1)
    assert (await road.ended()).transform_version == 7


async def test_what_scripts_made_is_bounded_and_whoever_finds_no_room_waits(road: Road) -> None:
    fit, most = SHARE_BYTES // MOST_MADE, MOST_BYTES // MOST_MADE
    road.stages.made = Transformed(b"x" * MOST_MADE)
    for _ in range(fit + 5):
        road.send(transform=SCRIPT, workspace="greedy")
    assert (len(road.wire.sent), road.held) == (fit, SHARE_BYTES)
    for _ in range(3):
        road.send(transform=SCRIPT, workspace="other")  # another workspace still has room
    assert len(road.wire.sent) == fit + 3
    assert road.held <= most * MOST_MADE
    for index in range(fit):
        road.wire.answer(index)
    assert len(road.wire.sent) == fit + 5 + 3
    for index in range(fit, fit + 8):
        road.wire.answer(index)
    await trio.testing.wait_all_tasks_blocked()
    assert (len(road.outcomes), road.held) == (fit + 8, 0)
    assert all(outcome.success for outcome in road.outcomes)


class Hearing(ScriptLimit):
    def __init__(self, heard: list[str]) -> None:
        super().__init__()
        self._heard = heard

    def entered(self, workspace: str) -> None:
        self._heard.append(f"{workspace} came")

    def left(self, workspace: str) -> None:
        self._heard.append(f"{workspace} went")


@pytest.mark.parametrize("stage", ["", "made", "run", "render"])
async def test_who_wants_to_know_hears_of_each_that_waits_for_its_script(
    road: Road, stage: str
) -> None:
    heard: list[str] = []
    road.sender.script_limit = Hearing(heard)
    road.send(workspace="plain", template=TEMPLATE, attachments=b"[]")
    assert heard == []
    road.stages.broken = stage
    if stage == "made":
        road.stages.made = Failure(ErrorCategory.TRANSFORM, "it threw")
    road.stages.waits = True
    road.send(workspace="w", transform=SCRIPT, template=TEMPLATE)
    for run in road.stages.runs:
        assert heard == ["w came"]
        run[4](road.stages.made)
        run[4](road.stages.made)
    await trio.testing.wait_all_tasks_blocked()
    assert heard == ["w came", "w went"]


async def test_small_outputs_hold_what_they_are(road: Road) -> None:
    for _ in range(2_000):
        road.send(transform=SCRIPT)
    assert (len(road.wire.sent), road.held) == (2_000, 2_000 * len(b"made"))


async def test_after_the_stop_nothing_is_sent_or_reported(road: Road) -> None:
    road.stages.waits = True
    for _ in range(SHARE_BYTES // MOST_MADE + 1):
        road.send(transform=SCRIPT)
    runs = list(road.stages.runs)
    road.sender.stop()
    results: list[Made] = [Transformed(b"late"), Failure(ErrorCategory.TRANSFORM, "is stopping")]
    for index, run in enumerate(runs):
        run[4](results[index % 2])
    await trio.testing.wait_all_tasks_blocked()
    assert len(road.stages.runs) == len(runs)  # attempts that waited for room were not admitted
    assert (road.wire.sent, road.outcomes) == ([], [])


async def test_a_token_is_asked_for_last_and_sent_with_the_request(road: Road) -> None:
    road.send(authentication=CLIENT, template=TEMPLATE)
    await trio.testing.wait_all_tasks_blocked()
    (sent,) = [transmission for transmission, _ in road.wire.sent]
    assert sent.headers == (*PROOF, (b"x-by", b"template"))
    road.wire.answer()
    assert (await road.ended()).message == "it said no", "the template judges what came at last"
    assert road.stages.refusals == []


async def test_a_401_renews_the_token_once_within_the_attempt(road: Road) -> None:
    road.stages.proofs = [PROOF, RENEWED, PROOF]
    road.send(authentication=CLIENT)
    road.wire.answer(0, a_failure(category=ErrorCategory.HTTP_4XX, status=401))
    assert [transmission.headers for transmission, _ in road.wire.sent] == [PROOF, RENEWED]
    assert road.outcomes == []
    road.wire.answer(1, a_failure(category=ErrorCategory.HTTP_4XX, status=401))
    outcome = await road.ended()
    assert (outcome.status, len(road.wire.sent), road.stages.refusals) == (401, 2, [PROOF])
    assert road.held == 0


async def test_a_401_without_another_token_is_the_outcome(road: Road) -> None:
    road.send(authentication=CLIENT)
    road.wire.answer(0, a_failure(category=ErrorCategory.HTTP_4XX, status=401))
    assert ((await road.ended()).status, len(road.wire.sent)) == (401, 1)


async def test_without_a_token_nothing_is_sent_and_the_attempt_has_failed(road: Road) -> None:
    road.stages.proofs = [Failure(ErrorCategory.AUTHENTICATION, "no token", retry_after_s=7)]
    road.send(authentication=CLIENT)
    outcome = await road.ended()
    assert road.wire.sent == []
    assert (outcome.category, outcome.message) == (ErrorCategory.AUTHENTICATION, "no token")
    assert (outcome.retry_after_s, outcome.unsent) == (7, False), "the circuit counts it"
