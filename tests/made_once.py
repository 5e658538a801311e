"""What every test's server or connection makes anew with the same result, made once a test process."""

from types import SimpleNamespace
from typing import Any
from unittest import mock

from asyncpg import Connection
from werkzeug.routing import Rule

OWN_TYPES = 16_384  # PostgreSQL's own types have smaller numbers, the same ones in every database


def make_once() -> None:
    """Have a process of tests keep what takes a quarter of a test server's start."""
    _compile_builders_once()
    _describe_types_once()


def _compile_builders_once() -> None:
    """Have Werkzeug compile how URLs of a rule are built once for each text of a rule: 140 a server."""
    compiled: dict[tuple[str, bool], Any] = {}
    compile_one = Rule._compile_builder

    def once(rule: Rule, append_unknown: bool = True) -> Any:
        key = (rule.rule, append_unknown)
        if rule.defaults or key not in compiled:
            compiled[key] = compile_one(rule, append_unknown)
        return compiled[key]

    mock.patch.object(Rule, "_compile_builder", once).start()


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
