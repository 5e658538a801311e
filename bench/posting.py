"""The posting of events by the load generator, in its own process."""

import json
import subprocess

from bench.service import Figures, Module, Service

_MODULE = "bench.load"


def load(service: Service, **plan: object) -> Figures:
    """Run a plan of `bench.load` on a server to its end; return the results."""
    found: Figures = Module.run(_MODULE, plan=_at(service, plan))
    return found


def begun(service: Service, **plan: object) -> subprocess.Popen[str]:
    """Start a plan; `ended` waits for it."""
    return Module.start(_MODULE, plan=_at(service, plan))


def ended(generator: subprocess.Popen[str], timeout_s: float | None = None) -> Figures:
    """Wait for the end of a plan; return the results."""
    said, _ = generator.communicate(timeout=timeout_s)
    if generator.returncode:
        raise RuntimeError(f"{_MODULE} ended with {generator.returncode}")
    found: Figures = json.loads(said.strip().splitlines()[-1])
    return found


def _at(service: Service, plan: dict[str, object]) -> dict[str, object]:
    return {"url": service.url, "key": service.key, **plan}
