"""Caches for a test process. Without them, each test server and each connection would compute the same
results again."""

from types import MethodType, SimpleNamespace
from typing import Any
from unittest import mock

from asyncpg import Connection
from werkzeug.routing import Rule

OWN_TYPES = 16_384  # PostgreSQL's own types have smaller OIDs, which are the same in every database
# The attributes that Werkzeug sets when it compiles a `Rule`. Later, Werkzeug only reads these
# attributes.
COMPILED = ("_parts", "_trace", "_converters", "arguments", "_build", "_build_unknown")


def make_once() -> None:
    _compile_rules_once()
    _describe_types_once()


def _compile_rules_once() -> None:
    """Make Werkzeug compile each rule text once per process, not once per server (each has 195 rules)."""
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
    """Make asyncpg query PostgreSQL's own array types once per process, not once per connection.

    Without this, the connections of one server make 17 such queries. Each query is a recursive statement
    that costs PostgreSQL 2 ms.
    """
    described: dict[frozenset[int], Any] = {}
    driver: Any = Connection  # asyncpg declares no types for private members
    describe = driver._introspect_types
    # asyncpg prepares the caller's statement, and then a second statement, which queries the types. If
    # neither statement has a name, the second replaces the first, so asyncpg prepares the caller's
    # statement again. If the types come from this cache, no second statement is prepared, and the
    # caller's statement stays prepared. The cache then returns this object in place of the second
    # statement. Because this object has a name, asyncpg does not prepare the caller's statement again.
    nothing_asked = SimpleNamespace(name="kept")

    async def once(connection: Any, types: Any, timeout: float | None) -> Any:
        key = frozenset(types)
        if key in described:
            return described[key], nothing_asked
        rows, statement = await describe(connection, types, timeout)
        if max(key) < OWN_TYPES:
            described[key] = rows
        return rows, statement

    mock.patch.object(driver, "_introspect_types", once).start()
