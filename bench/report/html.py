"""The self-contained page of results, without scripts and without files of other sites."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.baseline import baseline
from bench.report.figures import (
    TINY,
    Row,
    by_step,
    floors,
    good,
    medians,
    rows,
    sizes_text,
    troubles,
)
from bench.report.flames import flames
from bench.report.markup import Markup, joined, tag
from bench.report.numbers import number, spread, with_unit
from bench.report.parts import about, colours
from bench.report.plots import plots, splits
from bench.results import Document, Run

MODULES = 24  # the file of results has all
_STYLE = Path(__file__).parent / "style.css"


def page(document: Document) -> str:
    """Return the page of a document."""
    runs = document.runs
    body = joined(
        _header(runs),
        tag("main", _summary(runs), splits(runs), *(_run(run, place) for place, run in enumerate(runs)),
            _elsewhere(runs)),
    )  # fmt: skip
    head = joined(
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        tag("title", "Angarium: bench"),
        tag("style", Markup(_STYLE.read_text("utf-8"))),
    )
    return "<!doctype html>\n" + tag("html", tag("head", head), tag("body", body), lang="en") + "\n"


def _header(runs: Sequence[Run]) -> Markup:
    said = dict.fromkeys(_where(run) for run in runs)
    return tag("header", tag("h1", "Angarium: bench"), *(tag("p", each) for each in said))


def _where(run: Run) -> str:
    machine, source = run.machine, run.source
    changed = ", changed since" if source.changed else ""
    return (
        f"{run.at[:10]} · version {source.version}, commit {source.commit[:12] or 'unknown'}{changed}"
        f" · {machine.cpu}, {machine.cores} cores · {machine.kernel} · {machine.python}"
        f" · PostgreSQL {machine.postgres}"
    )


def _summary(runs: Sequence[Run]) -> Markup:
    """A run without bars has a line for its first compared figure."""
    lines = []
    for place, run in enumerate(runs):
        found = rows(run)
        shown = [row for row in found if row.bar] or [row for row in found if row.compared][:1]
        link = tag("a", run.scenario, href=f"#run-{place}")
        marks = joined(*(_mark(word) for word in dict.fromkeys(word for word, _ in troubles(run))))
        if not shown:
            lines.append(tag("tr", tag("td", link), *[tag("td")] * 4, tag("td", marks)))
        lines += [
            tag(
                "tr",
                tag("td", link if row is shown[0] else None),
                tag("td", tag("code", row.figure)),
                tag("td", with_unit(row.figure, row.median), class_="n"),
                tag("td", spread(row.low, row.high), class_="n dim"),
                tag("td", _bar(row)),
                tag("td", marks if row is shown[0] else None),
            )
            for row in shown
        ]
    head = tag(
        "tr", *(tag("th", name) for name in ("scenario", "figure")),
        tag("th", "median", class_="n"), tag("th", "least to most", class_="n"),
        *(tag("th", name) for name in ("bar", "")),
    )  # fmt: skip
    return _table(head, lines)


def _run(run: Run, place: int) -> Markup:
    sizes = " · ".join(sizes_text(run))
    times = len(run.measurements)
    measured = "one measurement"
    if times != 1:
        measured = f"{times} measurements; curves over time show the median one"
    wrong = [
        tag("p", _mark(word), f" {reason}", class_="trouble") for word, reason in troubles(run)
    ]
    return tag(
        "section",
        tag("h2", run.scenario),
        tag("p", f"{run.about}."),
        tag("p", " · ".join(filter(None, (sizes, measured))), class_="dim"),
        *wrong,
        _figures(run),
        *_steps(run),
        tag("div", *plots(run), class_="plots"),
        _split(run),
        id=f"run-{place}",
    )


def _figures(run: Run) -> Markup:
    found = rows(run)
    if not found:
        return Markup("")
    systems = list(dict.fromkeys(name for row in found for name in row.others))
    several = len(good(run)) > 1
    head = tag(
        "tr", tag("th", "figure"), tag("th", "median" if several else "value", class_="n"),
        tag("th", "least to most", class_="n") if several else None, tag("th", "bar"),
        *(tag("th", name, class_="n") for name in systems),
    )  # fmt: skip

    def line(row: Row) -> Markup:
        return tag(
            "tr", tag("td", tag("code", row.figure)),
            tag("td", with_unit(row.figure, row.median), class_="n"),
            tag("td", spread(row.low, row.high), class_="n dim") if several else None,
            tag("td", _bar(row)),
            *(tag("td", number(row.others[name]) if name in row.others else None, class_="n dim")
              for name in systems),
        )  # fmt: skip

    first = [row for row in found if row.compared] or found
    rest = [row for row in found if row not in first]
    notes = {name: said for each in good(run) for name, said in each.notes.items()}
    more = [line(row) for row in rest]
    more += [
        tag("tr", tag("td", tag("code", name)), tag("td", said, colspan="6", class_="words"))
        for name, said in notes.items()
    ]
    return joined(
        _table(head, [line(row) for row in first]),
        _floors(run),
        _more(f"{len(more)} more figures", _table(head, more)) if more else None,
    )


def _steps(run: Run) -> Iterator[Markup]:
    for stepped in by_step(run):
        head = tag(
            "tr", tag("th", stepped.name, class_="n"),
            *(tag("th", tag("code", figure), class_="n") for figure in stepped.figures),
        )  # fmt: skip
        lines = [
            tag(
                "tr",
                tag("td", number(value), class_="n"),
                *(tag("td", value, class_="n") for value in map(with_unit, stepped.figures, there)),
            )
            for value, there in stepped.values.items()
        ]  # fmt: skip
        yield _table(head, lines)


def _floors(run: Run) -> Markup | None:
    texts = [
        f"{name} {spread(min(values), max(values)) or number(values[0])} µs"
        for name, values in floors(run)
    ]
    if not texts:
        return None
    return tag("p", f"Floors in the same minutes: {'; '.join(texts)}.", class_="dim")


def _split(run: Run) -> Markup | None:
    parts = medians(run.measurements, "split")
    if not parts:
        return None
    classes = colours(parts)
    stacks = next((each.stacks for each in good(run) if each.stacks), {})
    split = _parts("CPU of an event", "µs", {name: parts[name] for name in classes}, classes)
    modules = medians(run.measurements, "modules")
    blocks = medians(run.measurements, "allocations")
    return joined(
        tag("h3", "Where the time goes"),
        tag(
            "div",
            split,
            _parts("the server's by module", "µs", _largest(modules), {}) if modules else None,
            _parts("blocks of memory taken", "an event", _largest(blocks), {}) if blocks else None,
            class_="tables",
        ),
        _more(
            f"flame graph of {sum(stacks.values()):,} samples",
            flames("the server's CPU: callers below, callees above", stacks, classes),
        )
        if stacks
        else None,
    )


def _largest(parts: dict[str, float]) -> dict[str, float]:
    first = dict(list(parts.items())[:MODULES])
    rest = sum(parts.values()) - sum(first.values())
    return first | ({f"{len(parts) - len(first)} more": rest} if len(parts) > len(first) else {})


def _parts(title: str, unit: str, parts: dict[str, float], classes: dict[str, str]) -> Markup:
    whole = sum(parts.values())
    head = tag("tr", tag("th", title), tag("th", unit, class_="n"), tag("th", "share", class_="n"))
    lines = [
        tag(
            "tr",
            tag("td", tag("i", class_=classes[name]) if name in classes else None, name,
                title=about(name) if classes else None),
            tag("td", f"{value:,.1f}", class_="n"),
            tag("td", f"{value / whole:.1%}", class_="n dim"),
        )
        for name, value in parts.items()
    ]  # fmt: skip
    return _table(head, lines)


def _elsewhere(runs: Sequence[Run]) -> Markup | None:
    if not any(row.others for run in runs for row in rows(run)):
        return None
    known = baseline()
    systems = [
        tag(
            "li",
            f"{each.name} ({each.version}, {each.language}) with {', '.join(each.needs)}: {each.note}",
        )
        for each in known.systems
    ]
    return tag(
        "section",
        tag("h2", "Other systems"),
        tag("p", f"Measured {known.measured} on {known.machine}: {known.work}. Their floor was"
                 f" {number(known.send_micros)} µs a request."),
        tag("ul", *systems),
    )  # fmt: skip


def _bar(row: Row) -> Markup | None:
    bar = row.bar
    if bar is None:
        return None
    stretch = "" if bar.stretch is None else f" (goal: {bar.stretch:g})"
    if not bar.held:
        return joined(tag("span", "not held", class_="mark bad"), f" {bar}{stretch}")
    held = "held, with the goal" if bar.stretched else "held"
    return joined(tag("span", held, class_="mark good"), f" {bar}{stretch}")


def _mark(word: str) -> Markup:
    return tag(
        "span", word, class_="mark warn" if word in {"drifted", "void", TINY} else "mark bad"
    )


def _table(head: Markup, lines: Sequence[Markup]) -> Markup:
    table = tag("table", tag("thead", head), tag("tbody", *lines))
    return tag("div", table, class_="scroll", tabindex="0")


def _more(title: str, content: Markup) -> Markup:
    return tag("details", tag("summary", title), content)
