"""Names of destinations and rules where a command takes an id: looked up before the command runs."""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any
from uuid import UUID

from api.cli.errors import NotFoundTrouble, Trouble

if TYPE_CHECKING:
    from angarium import Client

DESTINATIONS = ("destination_id", "destination")
RULES = ("rule_id",)
SUGGESTED = 3


def with_ids(client: Callable[[], "Client"], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a command's options with an id for each name of a destination or rule.

    Raises NotFoundTrouble for a name that nothing has, Trouble for one that several have.
    """
    found = dict(options)
    for names, kind in ((DESTINATIONS, "destination"), (RULES, "rule")):
        for option in names:
            value = found.get(option)
            if isinstance(value, str):
                found[option] = _with_id(client, kind, value)
            elif isinstance(value, tuple):  # of an option that was repeated
                found[option] = tuple(_with_id(client, kind, each) for each in value)
    return found


def _with_id(client: Callable[[], "Client"], kind: str, value: str) -> str:
    if not value or _is_id(value):
        return value
    with client() as asked:
        all_of = _destinations if kind == "destination" else _rules
        return _only(kind, value, all_of(asked))


def _destinations(client: "Client") -> Iterable[tuple[str, str]]:
    return ((each["name"], each["id"]) for each in client.destinations.iterate())


def _rules(client: "Client") -> Iterable[tuple[str, str]]:
    return ((each["name"], each["id"]) for each in client.routing_rules.iterate())


def _only(kind: str, name: str, known: Iterable[tuple[str, str]]) -> str:
    names: dict[str, list[str]] = {}
    for each, identifier in known:
        names.setdefault(each, []).append(identifier)
    ids = names.get(name, [])
    if len(ids) > 1:
        raise Trouble(f"{len(ids)} {kind}s are called {name!r}: give an id: {', '.join(ids)}")
    if not ids:
        close = get_close_matches(name, names, SUGGESTED)
        hint = f": did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise NotFoundTrouble(f"no {kind} has the id or name {name!r}{hint}")
    return ids[0]


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
