"""What every test's server or connection makes anew with the same result, made once a test process."""

from types import MethodType, SimpleNamespace
from typing import Any
from unittest import mock

from asyncpg import Connection
from werkzeug.routing import Rule

OWN_TYPES = 16_384  # PostgreSQL's own types have smaller numbers, the same ones in every database
# What compiling sets of a rule; afterwards Werkzeug only reads them.
COMPILED = ("_parts", "_trace", "_converters", "arguments", "_build", "_build_unknown")


def make_once() -> None:
    """Have a process of tests keep what takes a quarter of a test server's start."""
    _compile_rules_once()
    _describe_types_once()


def _compile_rules_once() -> None:
    """Have Werkzeug compile each text of a rule once, not once a server, which has 195 rules."""
    compiled: dict[tuple[Any, ...], dict[str, Any]] = {}
    compile_one = Rule.compile

    def once(rule: Rule) -> None:
        converters = frozenset(rule.map.converters.items()) if rule.map else None
        key = (type(rule), rule.rule, rule.subdomain, rule.host, rule.merge_slashes, converters)
        known = compiled.get(key)
        if rule.defaults or known is None:
            compile_one(rule)
            if not rule.defaults:
                compiled[key] = {name: getattr(rule, name) for name in COMPILED}
            return
        for name, value in known.items():
            bound = isinstance(value, MethodType)
            setattr(rule, name, MethodType(value.__func__, rule) if bound else value)

    mock.patch.object(Rule, "compile", once).start()


def _describe_types_once() -> None:
    """Have asyncpg ask once what PostgreSQL's own array types hold, not once a connection.

    A server's connections ask 17 times, each with a recursive statement that costs PostgreSQL 2 ms.
    """
    described: dict[frozenset[int], Any] = {}
    driver: Any = Connection  # it declares no types of what is private
    describe = driver._introspect_types
    nothing_asked = SimpleNamespace(name="kept")  # a name: no unnamed statement was replaced

    async def once(connection: Any, types: Any, timeout: float | None) -> Any:
        key = frozenset(types)
        if key in described:
            return described[key], nothing_asked
        rows, statement = await describe(connection, types, timeout)
        if max(key) < OWN_TYPES:
            described[key] = rows
        return rows, statement

    mock.patch.object(driver, "_introspect_types", once).start()
