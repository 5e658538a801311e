"""A server with workers: one that dies is replaced, and a signal ends all of them in order."""

import os
import signal
import socket
from http.client import HTTPException
from pathlib import Path

import pytest

from bench.processes import tree
from bench.service import free_port
from engine.model.workers import number_of_workers
from storage.embedded.server import running_url
from tests.cli.programs import angarium, environment
from tests.process.conftest import open_house
from tests.process.house import House, until
from tests.process.receiver import Receiver


def worker_pids(house: House) -> dict[str, int]:
    """Return the process of each worker by its name."""
    rows = house.api("GET", "/observability/nodes")["items"]
    log = [line for line in house.log_file.read_text().splitlines() if '"worker.started"' in line]
    found: dict[str, int] = {}
    for row in rows:
        for line in log:  # the last start counts
            if f'"{row["name"]}"' in line:
                found[row["name"]] = int(line.partition('"pid": ')[2].partition(",")[0])
    return found


def answers(house: House) -> bool:
    """Return whether the server answers now. A connection to a worker that was killed breaks."""
    try:
        return house.ask("GET", "/auth/context").status == 200
    except (OSError, HTTPException):
        return False


def two_ports() -> tuple[int, socket.socket]:
    """Return a free port, and a socket that has the port behind it."""
    while True:
        port = free_port()
        taken = socket.socket()
        try:
            taken.bind(("127.0.0.1", port + 1))
        except OSError:
            taken.close()
            continue
        taken.listen()
        return port, taken


def test_a_worker_that_is_killed_is_succeeded_and_replaced(
    furnished: House, receiver: Receiver
) -> None:
    with open_house(furnished, ANGARIUM_WORKERS="2", ANGARIUM_SHUTDOWN_GRACE="5") as house:
        assert house.process is not None
        until(lambda: len(worker_pids(house)) == 2, "both workers are nodes")
        house.made(f"{receiver.url}/x", "e.one")
        house.post("1")
        receiver.wait_count("/x", 1)
        before = worker_pids(house)
        active = house.value(
            "SELECT name FROM home_leases JOIN nodes ON nodes.id = process LIMIT 1"
        )
        os.kill(before[active], signal.SIGKILL)
        until(lambda: answers(house), "the other worker has taken over")
        house.post("2")
        receiver.wait_count("/x", 2)
        until(lambda: worker_pids(house).keys() == before.keys(), "the worker is replaced")
        assert worker_pids(house)[active] != before[active]
        assert f'"worker": "{active}"' in house.log_file.read_text()
        pids = tree(house.process.pid)
    assert running_url(house.folder) is None, "the database has ended with its parent"
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


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
            ANGARIUM_OPERATIONS_BIND=f"127.0.0.1:{port}",  # the second worker's is taken
        )
        done = await angarium("serve", env=env)
    assert done.code == 2, done.err
    assert f"cannot listen on 127.0.0.1:{port + 1}" in done.err


@pytest.mark.parametrize(("given", "least"), [("auto", 1), ("3", 3)])
def test_workers_are_a_number_or_one_per_core(given: str, least: int) -> None:
    assert int(str(number_of_workers(given))) >= least
