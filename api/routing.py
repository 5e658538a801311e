"""The paths of a route table as rules of the framework's map, which both lanes look requests up in."""

import re
from collections.abc import Iterable, Mapping, Sequence

from api.routes import Route


def rule_of(path: str) -> str:
    """Return the rule of a path, in whose variables `eventType` may hold slashes."""
    typed = path.replace("{eventType}", "<type:eventType>")
    return typed.replace("{", "<").replace("}", ">")


def pattern_of(path: str) -> re.Pattern[str]:
    """Return the pattern of a path's instances."""
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))


def by_path(routes: Iterable[Route]) -> dict[str, list[Route]]:
    """Return the routes of each path."""
    found: dict[str, list[Route]] = {}
    for route in routes:
        found.setdefault(route.path, []).append(route)
    return found


def allowed_of(routes: Sequence[Route]) -> str:
    """Return the methods of a path with these routes, as an Allow header lists them."""
    methods = {route.method for route in routes} | {"OPTIONS"}
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def allowed_by_rule(routes: Iterable[Route]) -> dict[str, str]:
    """Return what is allowed of each rule."""
    return {rule_of(path): allowed_of(here) for path, here in by_path(routes).items()}


def allowed_of_server(allowed: Mapping[str, str]) -> str:
    """Return the methods that any rule has."""
    return ", ".join(sorted({method for each in allowed.values() for method in each.split(", ")}))
