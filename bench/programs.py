"""Programs beside the service: modules of the bench in processes of their own, and JSON calls to them."""

import json
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STOP_S = 40.0
ROOT = Path(__file__).parent.parent


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def call(
    method: str,
    url: str,
    body: object = None,
    key: str | None = None,
    trust: ssl.SSLContext | None = None,
) -> Any:
    """Make one JSON request; raise RuntimeError with the answer when it is an error. `trust`: of an
    https URL; None: the system's authorities."""
    headers = {"content-type": "application/json"}
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, headers, method=method)
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
    )
    try:
        with opener.open(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{method} {url}: {error.code} {error.read().decode()}") from None


class Module:
    """A module of the bench in a process of its own, that prints JSON lines."""

    @staticmethod
    def run(name: str, *arguments: str, plan: object = None, timeout_s: float = 600) -> Any:
        """Run it to its end; return its last line."""
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
        """Start it; its plan is written to it."""
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
        process.stdin = None  # or communicate() would flush it
        return process


@contextmanager
def serving(name: str, *arguments: str) -> Iterator[dict[str, int]]:
    """Run a module of the bench that serves, and give the ports that it prints first."""
    process = Module.start(name, *arguments)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(STOP_S)
        process.stdout.close()
