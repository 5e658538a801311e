"""The snapshots of destinations whose actors left memory, and the survey, which lists the destinations
in trouble."""

from collections.abc import Sequence

from engine.actors.reports import AT_REST, DestinationReport
from engine.actors.snapshots import PAGE, Snapshots
from engine.actors.survey import FAILING, IDLE, UNRECOVERED, Surveys, entry_of
from engine.core.health import CircuitState, HealthState
from engine.core.snapshot import CircuitSnapshot, FailureRow, Snapshot, encode
from engine.ports import StoreAwayError
from tests.core.making import a_destination

ENVIRONMENT = 7
OPEN = encode(Snapshot(taken_at=1.0, circuit=CircuitSnapshot(1.0, 2.0, 3)))
UNRECOVERED_ROW = encode(Snapshot(taken_at=1.0, row=FailureRow(12, False, 0.0, 1.0)))
WELL = encode(Snapshot(taken_at=1.0, row=FailureRow(3, False, 0.0, None)))


class Store:
    """A store that returns its snapshots in pages. The first `away` requests fail."""

    def __init__(self, rows: Sequence[tuple[int, str, bytes]], away: int = 0) -> None:
        self.rows, self.away, self.asked = sorted(rows), away, 0

    async def snapshots_after(
        self, after: tuple[int, str] | None, limit: int
    ) -> Sequence[tuple[int, str, bytes]]:
        self.asked += 1
        if self.asked <= self.away:
            raise StoreAwayError("away")
        return [row for row in self.rows if after is None or row[:2] > after][:limit]


class Nothing:
    def known(self, environment: int) -> list[str]:
        return []

    def health(self, destination: str) -> DestinationReport:
        return DestinationReport(health=None, pending=0, in_flight=0, actor=AT_REST)


def test_trouble_is_known_while_there_is_no_actor() -> None:
    snapshots = Snapshots(most=1)
    for name, snapshot in (("open", OPEN), ("failing", UNRECOVERED_ROW), ("well", WELL)):
        snapshots.keep(name, ENVIRONMENT, snapshot)
    assert {name: each.open_circuit for name, each in snapshots.troubled(ENVIRONMENT).items()} == {
        "open": True,
        "failing": False,
    }
    assert snapshots.troubled(ENVIRONMENT + 1) == {}
    assert snapshots.of("open") == OPEN  # although it is no longer recent
    snapshots.take("open")
    snapshots.keep("failing", ENVIRONMENT, WELL)
    assert snapshots.troubled(ENVIRONMENT) == {}


def test_a_bounded_number_of_troubled_destinations_is_remembered() -> None:
    snapshots = Snapshots(troubled=2)
    for name in ("first", "second", "third"):
        snapshots.keep(name, ENVIRONMENT, OPEN)
    assert list(snapshots.troubled(ENVIRONMENT)) == ["second", "third"]


async def test_trouble_before_the_start_is_read_from_the_store(autojump_clock: object) -> None:
    rows = [(ENVIRONMENT, f"{number:05}", OPEN) for number in range(PAGE + 3)]
    store = Store([*rows, (ENVIRONMENT + 1, "well", WELL)], away=2)
    snapshots = Snapshots()
    snapshots.keep("00001", ENVIRONMENT, WELL)  # its actor has been in memory since the start
    await snapshots.read_troubled(store)
    assert len(snapshots.troubled(ENVIRONMENT)) == PAGE + 2
    assert "00001" not in snapshots.troubled(ENVIRONMENT)


async def test_a_survey_names_destinations_in_trouble_without_an_actor() -> None:
    snapshots = Snapshots()
    snapshots.keep("open", ENVIRONMENT, OPEN)
    snapshots.keep("failing", ENVIRONMENT, UNRECOVERED_ROW)
    survey = await Surveys(Nothing(), snapshots).of(ENVIRONMENT)
    assert survey == {"open": FAILING, "failing": UNRECOVERED}
    assert (FAILING.state, FAILING.circuit) == (HealthState.FAILING, CircuitState.OPEN)
    assert entry_of(a_destination(id="open"), survey) is FAILING
    assert entry_of(a_destination(id="other"), survey) is IDLE
