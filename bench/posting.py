"""Posting events: the load generator, in a process of its own, run to its end."""

from bench.service import Figures, Module, Service


def load(service: Service, **plan: object) -> Figures:
    """Do a plan of `bench.load` at a server; return what came of it."""
    found: Figures = Module.run("bench.load", plan={"url": service.url, "key": service.key, **plan})
    return found
