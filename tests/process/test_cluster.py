"""Two machines on one database. Here a machine is a server with its own name, folder and addresses. Each
machine works for its own parts. When one machine ends, the other machine takes over its parts.
"""

import http.client
from collections import Counter
from collections.abc import AsyncIterator
from copy import copy
from pathlib import Path

import pytest

from bench.programs import ports_in_a_row
from tests.process import verdict
from tests.process.house import tenants_of, until
from tests.process.joined import Base, Joined, in_thread, open_base
from tests.process.posting import Poster, posting
from tests.process.receiver import Receiver

PARTS = 2


class Machine(Joined):
    def __init__(self, name: str, folder: Path, base: Base) -> None:
        super().__init__(
            folder,
            base,
            ANGARIUM_NODE_NAME=name,
            ANGARIUM_PARTS=str(PARTS),
            ANGARIUM_PEER_BIND=f"127.0.0.1:{ports_in_a_row(PARTS)}",
        )
        self.name = name

    def working(self) -> Counter[str]:
        """Ask this machine how many parts each machine works for. The result is empty if this machine
        does not answer, for instance during a hand-over."""
        try:
            told = self.ask("GET", "/observability/nodes")
        except (OSError, http.client.HTTPException):
            # While a process hands over its part, it closes each new connection before it reads a
            # request.
            return Counter()
        rows = told.body["items"] if told.status == 200 else []
        working = (row for row in rows if row["role"] == "ACTIVE" and row["state"] == "LIVE")
        return Counter(row["machine"] for row in working)


class Cluster:
    def __init__(self, base: Base) -> None:
        self._base = base

    def start(self, name: str) -> Machine:
        return self._base.start(lambda folder: Machine(name, folder, self._base))

    def pair(self) -> tuple[Machine, Machine]:
        """Start two machines. Return them as soon as each works for one of the two parts."""
        one = self.start("one")
        until(lambda: one.working() == {"one": 2}, "one machine works for all parts")
        two = self.start("two")
        until(lambda: one.working() == {"one": 1, "two": 1}, "the second has its share")
        return one, two


@pytest.fixture
async def cluster(database_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with open_base(database_url, tmp_path) as base:
        yield Cluster(base)


class Load:
    """For each machine and each part, a poster that sends events of this part to this machine. Each part
    has its own path at the receiver, and the part's events are delivered there."""

    def __init__(self, machines: list[Machine], receiver: Receiver) -> None:
        self._receiver = receiver
        self.tenants = tenants_of(machines[0], PARTS)
        self.paths = [f"/{part}" for part in range(PARTS)]
        for path, tenant in zip(self.paths, self.tenants, strict=True):
            tenant.made(f"{receiver.url}{path}", "e.one", ordering="STRICT", concurrency=8)
        self.posters: list[Poster] = []
        for place, machine in enumerate(machines):
            for part, tenant in enumerate(self.tenants):
                house = copy(machine)
                house.key = tenant.key
                self.posters.append(Poster(house, f"{part}-{place}"))

    def goes_on(self) -> None:
        """Wait until each machine has accepted further events for each part, and until further events
        of each part have been delivered."""
        accepted = [len(each.accepted) for each in self.posters]
        until(
            lambda: all(
                len(each.accepted) > before + 20
                for each, before in zip(self.posters, accepted, strict=True)
            ),
            "all parts accept through all machines",
        )
        delivered = [len(self._receiver.arrivals(path)) for path in self.paths]
        until(
            lambda: all(
                len(self._receiver.arrivals(path)) > before + 20
                for path, before in zip(self.paths, delivered, strict=True)
            ),
            "all parts deliver",
        )

    def judge(self, machine: Machine) -> None:
        machine.until_settled()
        there = verdict.nothing_lost_or_invented(machine, self.posters)
        for part, path in enumerate(self.paths):
            mine = {n: event for n, event in there.items() if n.startswith(f"{part}-")}
            verdict.all_arrived(mine, self._receiver.arrivals(path))
            own = [each for each in self.posters if each.name.startswith(f"{part}-")]
            verdict.in_order_of_posting(own, self._receiver.firsts(path))
        verdict.sums_equal_rows(machine)


async def test_machines_share_the_parts_and_move_them(cluster: Cluster, receiver: Receiver) -> None:
    def scene() -> None:
        one, two = cluster.pair()
        load = Load([one, two], receiver)
        with posting(*load.posters):
            load.goes_on()
            two.api("POST", "/observability/nodes/one/drain", {})
            until(lambda: two.working() == {"two": 2}, "the first machine's part moves")
            load.goes_on()
            two.api("POST", "/observability/nodes/one/undrain", {})
            until(lambda: two.working() == {"one": 1, "two": 1}, "a part moves back")
            load.goes_on()
        load.judge(two)

    await in_thread(scene)


async def test_a_machine_takes_the_parts_of_one_that_is_killed(
    cluster: Cluster, receiver: Receiver
) -> None:
    def scene() -> None:
        one, two = cluster.pair()
        load = Load([two], receiver)
        with posting(*load.posters):
            load.goes_on()
            one.kill()
            until(lambda: two.working() == {"two": 2}, "the other machine has all parts")
            load.goes_on()
        load.judge(two)

    await in_thread(scene)


async def test_a_name_belongs_to_one_machine(cluster: Cluster) -> None:
    def scene() -> None:
        one = cluster.start("one")
        until(lambda: one.working() == {"one": 2}, "the machine works")
        with pytest.raises(RuntimeError, match=r"(?s)ended with 2: .*another machine named 'one'"):
            cluster.start("one")
        one.kill()
        again = cluster.start("one")
        until(lambda: again.working() == {"one": 2}, "the machine works again")

    await in_thread(scene)
