"""A server with workers: a dead worker is replaced, and a signal ends all workers in order."""

import os
import signal
import socket
from pathlib import Path

import pytest

from bench.processes import tree
from bench.programs import free_port, ports_in_a_row
from engine.model.setting_values import number_of_workers
from storage.embedded.server import running_url
from tests.cli.programs import angarium, environment
from tests.process import verdict
from tests.process.conftest import open_house
from tests.process.house import House, tenants_of, until
from tests.process.posting import Poster, posting
from tests.process.receiver import Receiver


def worker_pids(house: House) -> dict[str, int]:
    rows = house.api("GET", "/observability/nodes")["items"]
    log = [line for line in house.log_file.read_text().splitlines() if '"worker.started"' in line]
    found: dict[str, int] = {}
    for row in rows:
        for line in log:  # the last start counts
            if f'"{row["name"]}"' in line:
                found[row["name"]] = int(line.partition('"pid": ')[2].partition(",")[0])
    return found


def two_ports() -> tuple[int, socket.socket]:
    """Return a free port, and a socket that occupies the next port."""
    port = ports_in_a_row(2)
    return port, socket.create_server(("127.0.0.1", port + 1))


def test_workers_share_the_workspaces_and_one_that_is_killed_is_replaced(
    furnished: House, receiver: Receiver
) -> None:
    with open_house(furnished, ANGARIUM_WORKERS="2", ANGARIUM_SHUTDOWN_GRACE="5") as house:
        assert house.process is not None
        tenants = tenants_of(house, 2)
        posters = [Poster(each, str(part)) for part, each in enumerate(tenants)]
        paths = ("/0", "/1")
        for path, tenant in zip(paths, tenants, strict=True):
            target = tenant.made(f"{receiver.url}{path}", "e.one", ordering="STRICT")
            assert tenant.api("GET", f"/destinations/{target}")["id"] == target
        before = worker_pids(house)
        lost, other = sorted(before)
        with posting(*posters):
            until(lambda: all(len(receiver.arrivals(path)) > 20 for path in paths), "all deliver")
            os.kill(before[lost], signal.SIGKILL)
            goes_on(posters[1], "the other part goes on")
            goes_on(posters[0], "the lost part goes on")
        until(
            lambda: worker_pids(house).get(lost, before[lost]) != before[lost],
            "all have seen the new worker",
        )
        assert worker_pids(house)[other] == before[other]
        house.until_settled()
        there = verdict.nothing_lost_or_invented(house, posters)
        for part, path in enumerate(paths):
            mine = {n: event for n, event in there.items() if n.startswith(f"{part}-")}
            verdict.all_arrived(mine, receiver.arrivals(path))
            verdict.in_order_of_posting([posters[part]], receiver.firsts(path))
        verdict.sums_equal_rows(house)
        assert f'"worker": "{lost}"' in house.log_file.read_text()
        pids = tree(house.process.pid)
    assert running_url(house.folder) is None, "the database has ended with its parent"
    # Another process reaps those whose parent ended first.
    until(lambda: not [pid for pid in pids if Path(f"/proc/{pid}").exists()], "all have ended")


def goes_on(poster: Poster, what: str) -> None:
    before = len(poster.accepted)
    until(lambda: len(poster.accepted) > before + 20, what)


async def test_workers_that_cannot_start_end_their_parent(
    tmp_path: Path, database_url: str
) -> None:
    port, taken = two_ports()
    with taken:
        env = environment(
            database_url,
            tmp_path,
            ANGARIUM_WORKERS="2",
            ANGARIUM_BIND=f"127.0.0.1:{free_port()}",
            ANGARIUM_OPERATIONS_BIND=f"127.0.0.1:{port}",  # the second worker's port is occupied
        )
        done = await angarium("serve", env=env)
    assert done.code == 2, done.err
    assert f"cannot listen on 127.0.0.1:{port + 1}" in done.err


@pytest.mark.parametrize(("given", "least"), [("auto", 1), ("3", 3)])
def test_workers_are_a_number_or_one_per_core(given: str, least: int) -> None:
    assert int(str(number_of_workers(given))) >= least
