"""The simulated cluster. More nodes give more throughput until a shared resource is full."""

import pytest

from bench.cluster import FULL, Cluster, Costs, Disk, Shape, kept, shapes

COSTS = Costs(
    accept_s=40e-6,
    deliver_s=50e-6,
    node_group_s=500e-6,
    database_event_s=20e-6,
    database_group_s=500e-6,
    relay_s=300e-6,
    log_bytes=1_200.0,
)
DISK = Disk(0.0005, 1e9)


def shape(*, relayed: bool = False) -> Shape:
    return Shape("a load", COSTS, connections=512, batch=1, relayed=relayed)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.cluster.WARM_S", 0.1)
    monkeypatch.setattr("bench.cluster.SECONDS", 0.3)


def test_nodes_add_up_while_what_they_share_has_room() -> None:
    one, four = (Cluster(nodes, shape(), 32, DISK).run() for nodes in (1, 4))
    assert four.per_second == pytest.approx(4 * one.per_second, rel=0.1)


def test_a_database_with_one_core_is_full_first() -> None:
    found = Cluster(8, shape(), 1, DISK).run()
    assert max(found.shares, key=found.shares.__getitem__) == "PostgreSQL's cores"
    assert found.shares["PostgreSQL's cores"] > FULL


def test_a_slow_disk_is_full_first() -> None:
    found = Cluster(8, shape(), 32, Disk(0.0005, 10e6)).run()
    assert max(found.shares, key=found.shares.__getitem__) == "the disk of its log"


def test_relayed_requests_cost_the_nodes() -> None:
    own, relayed = (Cluster(4, shape(relayed=each), 32, DISK).run() for each in (False, True))
    assert relayed.per_second < own.per_second


def test_no_time_of_a_resource_is_used_twice() -> None:
    found = Cluster(4, shape(), 2, DISK).run()
    # The last piece can exceed the end.
    assert all(0 <= share <= 1.05 for share in found.shares.values())


def test_the_kept_stages_make_all_loads() -> None:
    assert len(shapes(kept(), 0.0003)) == 3
