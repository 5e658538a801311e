"""The cost of finding the rules of an event among many rules that cannot match the event. The measurement
uses the router alone, without a server.

Each event type is new to the router, so each look-up compiles a route.
"""

import gc
import statistics
import time

from bench.checks import require
from bench.results import Measurement
from bench.scenario import Serve, Sizes
from engine.core.destination import Destination
from engine.core.vocabulary import DestinationStatus, Environment, Priority
from engine.model.read_models import EnvironmentModel, Models, RuleModel, WorkspaceModel
from engine.routing.router import Router
from engine.wire.target import parse_target

BAR = 1.1  # many rules over few
HELD_FROM = 1_000_000  # rules; with fewer, the bar does not apply
FEW = 1_000
MATCHING = 10  # rules for each event type
TARGET = parse_target("https://receiver.example/")


def routing(sizes: Sizes, serve: Serve | None = None) -> Measurement:
    """Measure the look-up of new event types among few and among many rules."""
    rules, types, rounds = sizes["rules"], sizes["types"], sizes["rounds"]
    routers = {count: _router(count, types) for count in (FEW, rules)}
    gc.collect()
    gc.freeze()
    took: dict[int, list[float]] = {count: [] for count in routers}
    for number in range(rounds):
        for count, (models, router) in list(routers.items())[:: -1 if number % 2 else 1]:
            took[count].append(_looked_up(models, router, types))
    gc.unfreeze()
    few, many = (statistics.median(took[count]) * 1e6 for count in (FEW, rules))
    ratio = round(many / few, 3)
    figures: dict[str, float] = {"rules": rules, "ratio": ratio}
    figures |= {"fewMicroseconds": round(few, 1), "manyMicroseconds": round(many, 1)}
    if rules >= HELD_FROM:
        require(ratio <= BAR, f"an event's rules cost {ratio} x among {rules}: {figures}")
    return Measurement(figures)


def _router(count: int, types: int) -> tuple[Models, Router]:
    models = Models()
    workspace = WorkspaceModel("w", "w", "scale")
    models.put_workspace(workspace, (EnvironmentModel(1, "w", Environment.DEVELOPMENT),))
    for number in range(MATCHING):
        models.put_destination(_destination(f"d{number}", None))
        patterns = ("order.*",) if number % 2 else tuple(f"order.n{each}" for each in range(types))
        models.put_rule(_rule(f"r{number}", f"d{number}", patterns))
    for number in range(count - MATCHING):
        # a tenth of the destinations belong to customers
        of = f"o{number}" if number % 10 else f"c{number}"
        models.put_destination(_destination(of, None if number % 10 else of))
        models.put_rule(_rule(f"x{number}", of, (f"kind{number % 5_000}.n{number}.*",)))
    return models, Router(models)


def _looked_up(models: Models, router: Router, types: int) -> float:
    """Return the average seconds of a look-up. All compiled routes are discarded before the look-ups."""
    models.put_rule(_rule("r0", "d0", ("order.*",)))  # this invalidates all routes
    began = time.perf_counter()
    for number in range(types):
        route = router.route(1, f"order.n{number}")
    spent = time.perf_counter() - began
    require(len(route.plain) == MATCHING, f"{len(route.plain)} destinations of {MATCHING}")
    return spent / types


def _destination(identifier: str, customer: str | None) -> Destination:
    return Destination(
        id=identifier,
        environment=1,
        workspace="w",
        version=1,
        status=DestinationStatus.ACTIVE,
        name=identifier,
        url="https://receiver.example/",
        target=TARGET,
        customer=customer,
    )


def _rule(identifier: str, destination: str, patterns: tuple[str, ...]) -> RuleModel:
    return RuleModel(
        id=identifier,
        environment=1,
        destination=destination,
        name=identifier,
        event_types=patterns,
        priority=Priority.STANDARD,
        enabled=True,
        created_at_ms=0,
        updated_at_ms=0,
    )
