"""A history as a story: one line for each fact that concerns the breach, short names, relative times."""

import json
import re
from collections.abc import Iterable, Sequence

import msgspec

from tests.sim.trace import (
    Answered,
    AnyFact,
    Arrived,
    Asked,
    Booted,
    Configured,
    DeliveryRow,
    Ended,
    Fault,
    History,
    JobRow,
    Killed,
    Posted,
    Quiet,
    Ready,
    Relayed,
    Replied,
    Ruled,
    Told,
)

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MARK = re.compile(r"\bm\d+\b")
_REQUEST = re.compile(r"\brequest (\d+)")
_ALWAYS = (Booted, Ready, Killed, Ended, Quiet)
FAULTS_SHOWN = 40


class Names:
    """Short names for ids, numbered in the order in which they come: `destination 1`, `rule 2`."""

    def __init__(self, history: History) -> None:
        self._short: dict[str, str] = {}
        for fact in history.facts:
            if isinstance(fact, Configured):
                self._add(fact.destination, "destination")
            elif isinstance(fact, Ruled):
                self._add(fact.rule, "rule")
        for job in history.rows.jobs:
            self._add(job.id, "job")
        for event in history.rows.events:
            self._short[event.id] = f"event {event.mark or event.type}"
        for row in history.rows.deliveries:
            self._add(row.id, f"delivery of {self._short.get(row.event, row.event)}, no.")

    def _add(self, identifier: str, kind: str) -> None:
        if identifier not in self._short:
            number = sum(each.startswith(f"{kind} ") for each in self._short.values()) + 1
            self._short[identifier] = f"{kind} {number}"

    def put(self, text: str) -> str:
        return _ID.sub(lambda found: f"<{self._short.get(found[0], found[0])}>", text)


def story(history: History, breaches: Sequence[str]) -> str:
    names = Names(history)
    about = _concerned(history, breaches)
    begin = history.facts[0].at
    lines = [f"seed {history.seed}, {history.virtual_s:.0f} s, {len(history.facts)} facts"]
    faults = 0
    for fact in history.facts:
        if isinstance(fact, Fault):
            faults += 1
            if faults > FAULTS_SHOWN:
                continue
        elif not isinstance(fact, _ALWAYS) and not about & set(_words(fact)):
            continue
        lines.append(f"{fact.at - begin:10.3f}  {names.put(_line(fact))}")
    lines.append("rows at the end:")
    rows: list[DeliveryRow | JobRow] = [*history.rows.deliveries, *history.rows.jobs]
    lines += [f"    {names.put(_fields(row))}" for row in rows if row.id in about]
    lines += [f"BROKEN  {names.put(each)}" for each in breaches]
    return "\n".join(lines)


def _concerned(history: History, breaches: Iterable[str]) -> set[str]:
    """Return the names of the objects and requests that concern the breaches. First, these are all that
    the sentences of the breaches name. Second, the events and destinations of the named deliveries.
    Third, the requests about any of these objects."""
    text = "\n".join(breaches)
    about = set(_ID.findall(text)) | set(_MARK.findall(text))
    about |= {f"request {number}" for number in _REQUEST.findall(text)}
    for row in history.rows.deliveries:
        if row.id in about:
            about |= {row.event, row.destination}
    about |= {each.mark for each in history.rows.events if each.id in about and each.mark}
    for fact in history.facts:
        posted = isinstance(fact, Posted) and about & {item.mark for item in fact.items}
        asked = isinstance(fact, Asked) and about & {fact.of, *fact.deliveries}
        if isinstance(fact, Posted | Asked) and (posted or asked):
            about.add(f"request {fact.request}")
        elif isinstance(fact, Arrived) and fact.delivery in about:
            about.add(f"send {fact.send}")
    return about


def _words(fact: AnyFact) -> list[str]:
    if isinstance(fact, Posted | Relayed | Answered | Asked | Told):
        return [f"request {fact.request}"]
    if isinstance(fact, Configured):
        return [fact.destination]
    if isinstance(fact, Ruled):
        return [fact.rule, fact.destination]
    if isinstance(fact, Arrived):
        return [fact.delivery]
    if isinstance(fact, Replied):
        return [f"send {fact.send}"]
    return []


def _line(fact: AnyFact) -> str:
    if isinstance(fact, Posted):
        items = ", ".join(
            " ".join(filter(None, (item.mark, item.type, item.customer, item.key)))
            for item in fact.items
        )
        return f"request {fact.request} posted to process {fact.process}: {items}"
    return f"{type(fact).__name__:<10} {_fields(fact)}"


def _fields(record: msgspec.Struct) -> str:
    values = {name: getattr(record, name) for name in record.__struct_fields__ if name != "at"}
    shown = {name: value for name, value in values.items() if value not in ("", (), None)}
    return " ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in shown.items()
    )
