"""Free ports for the programs that the bench starts. No port is returned twice, and no port is one that
the kernel could choose for an outgoing connection."""

import socket
import subprocess
import sys

import pytest

from bench.programs import ROOT, _first_of_kernel, free_port, ports_in_a_row

GIVEN = "import bench.programs; print(bench.programs.free_port(), flush=True); input()"


def test_ports_are_given_once_and_a_server_can_listen_there() -> None:
    first = ports_in_a_row(3)
    given = [first, first + 1, first + 2, *(free_port() for _ in range(50))]
    assert len(set(given)) == len(given)
    for port in given:
        socket.create_server(("127.0.0.1", port)).close()
    assert max(given) < _first_of_kernel()


def test_a_port_that_a_process_was_given_is_refused_to_others() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", GIVEN], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        taken = ("127.0.0.1", int(other.stdout.readline()))
        with socket.socket(type=socket.SOCK_DGRAM) as claim, pytest.raises(OSError, match="in use"):
            claim.bind(taken)
        other.communicate(b"end\n")
