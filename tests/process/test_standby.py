"""Two servers on one database: the second stands by, relays its clients, and takes over."""

import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.service import STOP_S, free_port
from tests.process import verdict
from tests.process.house import until
from tests.process.joined import Base, Joined, in_thread, open_base
from tests.process.posting import Poster, posting
from tests.process.receiver import Receiver


class Node(Joined):
    def __init__(self, folder: Path, base: Base) -> None:
        super().__init__(
            folder,
            base,
            ANGARIUM_PEER_BIND=f"127.0.0.1:{free_port()}",
            ANGARIUM_PASSIVATE_AFTER="1",
        )

    def stands_by(self) -> bool:
        return "node.stood_by" in self.log_file.read_text()

    def active(self) -> bool:
        return "server.started" in self.log_file.read_text()

    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid


class Cluster:
    """The servers on one database. The first to start is active."""

    def __init__(self, base: Base) -> None:
        self._base = base

    def start(self) -> Node:
        return self._base.start(lambda folder: Node(folder, self._base))

    def pair(self) -> tuple[Node, Node]:
        """Start two nodes. Return the active node and its standby."""
        active, standby = self.start(), self.start()
        until(standby.stands_by, "the second stands by")
        return active, standby


@pytest.fixture
async def cluster(database_url: str, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with open_base(database_url, tmp_path) as base:
        yield Cluster(base)


@contextmanager
def under_load(node: Node, receiver: Receiver) -> Iterator[tuple[list[Poster], str]]:
    """Post events through a node during the block. Afterwards, check that each event was delivered once,
    and in order."""
    target = node.made(f"{receiver.url}/strict", "e.one", ordering="STRICT", concurrency=8)
    posters = [Poster(node, "a"), Poster(node, "b"), Poster(node, "many", batch=20)]
    with posting(*posters):
        until(lambda: len(receiver.arrivals("/strict")) > 50, "deliveries come")
        yield posters, target
    node.until_settled()
    there = verdict.nothing_lost_or_invented(node, posters)
    verdict.all_arrived(there, receiver.arrivals("/strict"))
    verdict.in_order(node, target, receiver.firsts("/strict"), lanes=False)
    verdict.sums_equal_rows(node)


def accepted_by(posters: list[Poster]) -> int:
    return sum(len(each.accepted) for each in posters)


def roles_of(node: Node) -> list[str]:
    return sorted(row["role"] for row in node.api("GET", "/observability/nodes")["items"])


async def test_a_standby_serves_its_clients_through_the_active_node(
    cluster: Cluster, receiver: Receiver
) -> None:
    def scene() -> None:
        active, standby = cluster.pair()
        target = standby.made(f"{receiver.url}/x", "e.one")
        assert active.api("GET", f"/destinations/{target}")["id"] == target
        (event,) = standby.post("1")
        receiver.wait_count("/x", 1)
        assert active.api("GET", f"/events/{event}")["id"] == event
        large = {"eventType": "e.one", "payload": {"n": "2", "pad": "x" * 200_000}}
        assert standby.ask("POST", "/events", large).status == 202
        receiver.wait_count("/x", 2)
        until(lambda: roles_of(standby) == ["ACTIVE", "STANDBY"], "both are listed")
        assert active.running()

    await in_thread(scene)


async def test_a_standby_takes_over_when_the_active_node_is_killed(
    cluster: Cluster, receiver: Receiver
) -> None:
    def scene() -> None:
        active, standby = cluster.pair()
        with under_load(standby, receiver) as (posters, _):
            active.kill()
            until(standby.active, "the standby takes over")
            accepted, delivered = accepted_by(posters), len(receiver.arrivals("/strict"))
            until(lambda: accepted_by(posters) > accepted + 50, "it accepts events")
            until(lambda: len(receiver.arrivals("/strict")) > delivered + 50, "it delivers")

    await in_thread(scene)


async def test_a_node_that_stood_still_ends_and_its_successor_goes_on(
    cluster: Cluster, receiver: Receiver
) -> None:
    def scene() -> None:
        active, standby = cluster.pair()
        with under_load(standby, receiver) as (posters, _):
            os.kill(active.pid, signal.SIGSTOP)
            until(standby.active, "the standby takes over")
            accepted = accepted_by(posters)
            until(lambda: accepted_by(posters) > accepted + 50, "it accepts events")
            os.kill(active.pid, signal.SIGCONT)
            assert active.process is not None
            assert active.process.wait(STOP_S) == 1
        assert "another server has taken over this database" in active.log_file.read_text()
        assert standby.running()

    await in_thread(scene)


async def test_a_stop_hands_over_and_refuses_nobody(cluster: Cluster, receiver: Receiver) -> None:
    def scene() -> None:
        active, standby = cluster.pair()
        with under_load(standby, receiver) as (posters, _):
            assert active.ended() == 0
            until(standby.active, "the standby takes over")
            accepted = accepted_by(posters)
            until(lambda: accepted_by(posters) > accepted + 50, "it accepts events")
        assert not [each.refused for each in posters if each.refused]

    await in_thread(scene)


async def test_a_node_joins_again_and_takes_its_turn(cluster: Cluster, receiver: Receiver) -> None:
    def scene() -> None:
        one, other = cluster.pair()
        target = one.made(f"{receiver.url}/x", "e.one")
        assert one.ended() == 0
        until(other.active, "the standby takes over")
        one.log_file.unlink()
        one.start()
        until(one.stands_by, "the first stands by now")
        assert other.ended() == 0
        one.post("1")
        receiver.wait_count("/x", 1)
        assert one.health(target)["queue"]["pending"] == 0

    await in_thread(scene)


async def test_of_two_standbys_one_takes_over(cluster: Cluster, receiver: Receiver) -> None:
    def scene() -> None:
        active, one = cluster.pair()
        other = cluster.start()
        until(other.stands_by, "the third stands by")
        target = other.made(f"{receiver.url}/x", "e.one")
        active.kill()
        assert other.ask("GET", f"/destinations/{target}").status == 200
        assert one.ask("GET", f"/destinations/{target}").status == 200
        until(lambda: roles_of(one) == ["ACTIVE", "STANDBY"], "the dead one is gone")
        until(lambda: one.active() or other.active(), "the log says which one took over")
        assert [one.active(), other.active()].count(True) == 1

    await in_thread(scene)
