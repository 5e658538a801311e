"""Tools of the bench: its modules in their own processes, free ports, and HTTP calls with JSON."""

import json
import secrets
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

STOP_S = 40.0
FIRST_PORT = 10_240  # above those of well-known services
PORT_TRIES = 1_000  # a machine with many servers uses a few hundred of 20,000 ports
KERNELS_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
ROOT = Path(__file__).parent.parent


def free_port() -> int:
    """Return a free port; see `ports_in_a_row`."""
    return ports_in_a_row(1)


def ports_in_a_row(count: int) -> int:
    """Return the first of `count` consecutive free ports of 127.0.0.1, reserved for this process. Raises
    RuntimeError if there are none.

    The ports are below the kernel's range of ephemeral ports, because the kernel gives ephemeral ports to
    outgoing connections. This process keeps a UDP socket on each port until it ends. Another process
    that calls this function cannot open these sockets, so it chooses other ports.
    """
    last = _first_of_kernel() - count
    for _ in range(PORT_TRIES):
        first = FIRST_PORT + secrets.randbelow(last - FIRST_PORT)
        with ExitStack() as stack, suppress(OSError):
            claims = [stack.enter_context(_claim(port)) for port in range(first, first + count)]
            for claim in claims:
                claim.detach()
            return first
    raise RuntimeError(f"127.0.0.1 has no {count} free ports in a row below {last}")


def _claim(port: int) -> socket.socket:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", port))
    claim = socket.socket(type=socket.SOCK_DGRAM)
    try:
        claim.bind(("127.0.0.1", port))
    except OSError:
        claim.close()
        raise
    return claim


def _first_of_kernel() -> int:
    """Return the port below which the bench chooses its ports. This is the kernel's first ephemeral port,
    or 65536 if too few ports are below the first ephemeral port."""
    try:
        first = int(KERNELS_PORTS.read_text().split()[0])
    except OSError:  # not Linux: the first of macOS
        return 49_152
    return first if first > FIRST_PORT + PORT_TRIES else 65_536


def call(
    method: str,
    url: str,
    body: object = None,
    key: str | None = None,
    trust: ssl.SSLContext | None = None,
    timeout_s: float = 30,
) -> Any:
    """Make one JSON request; return the JSON of the answer. `trust`: the TLS context for an https URL;
    None: trust the system's authorities.

    Raises RuntimeError with the text of the answer if its status is an error.
    """
    headers = {"content-type": "application/json"}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
    )
    try:
        with opener.open(request, timeout=timeout_s) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{method} {url}: {error.code} {error.read().decode()}") from None


class Module:
    """A module of the bench in its own process, which prints JSON lines."""

    @staticmethod
    def run(name: str, *arguments: str, plan: object = None, timeout_s: float = 600) -> Any:
        """Run the module to its end; return its last line."""
        done = subprocess.run(
            [sys.executable, "-m", name, *arguments],
            input=None if plan is None else json.dumps(plan),
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=timeout_s,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{name} failed: {done.stderr[-2000:]}")
        return json.loads(done.stdout.strip().splitlines()[-1])

    @staticmethod
    def start(name: str, *arguments: str, plan: object = None) -> subprocess.Popen[str]:
        """Start the module, and write `plan` to its stdin."""
        process = subprocess.Popen(
            [sys.executable, "-m", name, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        assert process.stdin is not None
        if plan is not None:
            process.stdin.write(json.dumps(plan))
        process.stdin.close()
        process.stdin = None  # communicate() must not flush it
        return process


@contextmanager
def serving(name: str, *arguments: str) -> Iterator[dict[str, int]]:
    """Run a module of the bench that serves; yield its ports."""
    process = Module.start(name, *arguments)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(STOP_S)
        process.stdout.close()
