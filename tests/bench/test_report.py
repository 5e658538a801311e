"""Reports: they show every measurement. An HTML report needs no other file and is well-formed."""

import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from rich.console import Console

from bench.report.flames import tree
from bench.report.html import page
from bench.report.numbers import number, short, unit_of
from bench.report.scale import scale
from bench.report.table import show
from bench.results import Document, Measurement, Run, Step
from tests.bench.made import document, run, single

VOID = {"meta"}  # elements without an end tag


class Reader(HTMLParser):
    """A parser that keeps a page's elements. It fails if an end tag does not match the open element."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, name: str, given: list[tuple[str, str | None]]) -> None:
        self.seen.add(name)
        attributes = dict(given)
        assert len(attributes) == len(given), f"{name} has an attribute twice"
        self.ids += [value for key, value in given if key == "id" and value]
        self.links += [value for key, value in given if key in {"href", "src"} and value]
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name: str) -> None:
        assert self.open.pop() == name

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def html() -> str:
    return page(document())


@pytest.fixture(scope="module")
def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


def svgs(html: str) -> Iterator[ElementTree.Element]:
    for found in re.findall(r"<svg.*?</svg>", html, re.S):
        yield ElementTree.fromstring(found)


def test_the_page_is_well_formed_and_needs_nothing_from_elsewhere(html: str, read: Reader) -> None:
    assert html.startswith("<!doctype html>")
    assert not read.open
    # Text from measurements creates no element.
    assert not read.seen & {"script", "link", "img", "iframe", "b"}
    assert not re.search(r"https?://|@import|url\(", html)
    assert all(link.startswith("#") and link[1:] in read.ids for link in read.links)
    assert len(read.ids) == len(set(read.ids))


def test_the_page_tells_figures_bars_and_troubles(read: Reader) -> None:
    text = " ".join(read.text)
    for told in (
        "13.6 x",  # the median of three
        "13.2 to 14",
        "at most 14 (goal: 9)",
        "held, with the goal",
        "not held",
        "drifted",
        "lost 1 of 200: </section> 17",
        "A <processor>, 2 cores",
        "Svix",
        "1,695",
        "5.50 to 5.80 µs",
    ):
        assert told in text, told


def test_the_page_has_every_plot_that_there_is_something_for(html: str) -> None:
    titles = re.findall(r"<figcaption>(.*?)</figcaption>", html)
    for begins in (
        "CPU of an event",
        "Latency by percentile",
        "Throughput by rate",
        "Latency by rate",
        "CPU by rate",
        "Throughput over time",
        "CPU over time",
        "Resident memory over time",
        "Queues over time",
        "cpuMicrosPerEvent beside other systems",
        "the server&#x27;s CPU",
    ):
        assert any(title.replace("'", "&#x27;").startswith(begins) for title in titles), begins


def test_what_is_drawn_is_within_its_frame(html: str) -> None:
    drawn = list(svgs(html))
    assert len(drawn) > 12
    for svg in drawn:
        left, top, width, height = map(float, svg.attrib["viewBox"].split())
        for each in svg.iter("circle"):
            assert left <= float(each.attrib["cx"]) <= left + width
            assert top <= float(each.attrib["cy"]) <= top + height
        for each in svg.iter("rect"):
            begins = float(each.attrib["x"])
            assert left <= begins <= begins + float(each.attrib["width"]) <= left + width + 1


@pytest.mark.parametrize(
    "bare",
    [
        Document([]),
        Document([run("single", [])]),
        Document([run("single", [Measurement(figures={})])]),
        Document([run("single", [Measurement(figures={"timesFloor": 0.0})])]),
        Document(
            [run("single", [Measurement(figures={}, verdict="failed", reason="it did not start")])]
        ),
    ],
)
def test_a_report_of_next_to_nothing_is_one_too(bare: Document) -> None:
    assert "Angarium" in page(bare)
    for each in bare.runs:
        show(each, Console(quiet=True))


def test_the_table_tells_figures_bars_spread_and_parts() -> None:
    text = printed(180, *document().runs)
    for told in (
        "13.6",
        "13.2 to 14 ",
        "at most 5: not held",
        "at least 9000: held, and 9500 too",
        "drifted: the floor moved during 1 of 3",
        "broken: lost 1 of 200",
        "PostgreSQL, intake",
        "engine.wire.connection",
        "Svix",
    ):
        assert told in text, told


def printed(console_width: int, *runs: Run) -> str:
    console = Console(width=console_width, record=True, file=io.StringIO())
    for each in runs:
        show(each, console)
    return console.export_text()


def test_of_a_tiny_run_nothing_is_judged() -> None:
    tiny = run("single", [single(2)], better={"timesFloor": "less"}, tiny=True)
    table = printed(180, tiny)
    assert table.index("no figure counts") < table.index("timesFloor")
    for text in (table, page(Document([tiny]))):
        assert "no figure counts" in text
        assert "14" in text
        for judged in ("held", "Svix", "drifted"):
            assert judged not in text, judged


def test_compared_figures_of_steps_are_told_for_each_step() -> None:
    measured = [
        Measurement(
            figures={"firstDeliveryS": 0.9, "lastDeliveryS": 1.5},
            steps=[
                Step("unsettled", 20, {"firstDeliveryS": 0.5 + late, "readyS": 0.4}),
                Step("unsettled", 200, {"firstDeliveryS": 0.9, "lastDeliveryS": 1.5}),
            ],
        )
        for late in (0.0, 0.2)
    ]
    better = {"firstDeliveryS": "less", "lastDeliveryS": "less"}
    stepped = run("recovery", measured, better=better)
    stepped.sizes = {"backlogs": "20,200"}
    text = printed(120, stepped)
    assert "backlogs 20 and 200" in text
    assert re.search(r"unsettled +firstDeliveryS +lastDeliveryS", text)
    assert re.search(r"^ +20 +0\.600 s *$", text, re.M)
    assert re.search(r"^ +200 +0\.900 s +1\.50 s *$", text, re.M)
    told = page(Document([stepped]))
    assert "0.600 s" in told
    assert "Time by unsettled" in told


def test_what_is_broken_counts_in_no_median() -> None:
    wrong = Measurement(figures={"timesFloor": 98_765.0}, verdict="broken", reason="lost")
    text = page(Document([run("single", [single(0), wrong], better={"timesFloor": "less"})]))
    assert "98,765" not in text


def test_a_flame_graph_has_every_sample_once() -> None:
    stacks = {"a;b": 3, "a": 2, "a;c;!sock.recv": 5}
    root = tree(stacks)
    assert (root.samples, root.callees["a"].samples) == (10, 10)
    assert sum(each.samples for each in root.callees["a"].callees.values()) == 8


@pytest.mark.parametrize(
    ("value", "told"),
    [(0, "0"), (12_345.6, "12,346"), (13.64, "13.6"), (1.234, "1.23"), (0.0123, "0.012")],
)
def test_numbers_have_three_digits_that_mean_something(value: float, told: str) -> None:
    assert number(value) == told


def test_axes_have_few_digits() -> None:
    assert [short(each) for each in (0, 0.5, 1500, 20_000, 3e6)] == [
        "0",
        "0.5",
        "1,500",
        "20k",
        "3M",
    ]


@pytest.mark.parametrize(
    ("figure", "unit"),
    [
        ("cpuMicrosPerEvent", "µs"),
        ("p99Ms", "ms"),
        ("besideP99Ms", "ms"),
        ("rssGrowthMb", "MB"),
        ("deliveredPerSecond", "/s"),
        ("timesFloor", "x"),
        ("keyOverNone", "x"),
        ("keyTimesFloor", "x"),
        ("bytesPerEvent", "B"),
        ("logBytesPerEvent", "B"),
        ("events", ""),
    ],
)
def test_a_figures_name_says_its_unit(figure: str, unit: str) -> None:
    assert unit_of(figure) == unit


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize(
    "values", [[], [0.0], [5.0], [0.001, 0.002], [1, 1e6], [7, 7, 7], [2.9, 31]]
)
def test_a_scale_has_ticks_and_all_values(values: list[float], log: bool) -> None:
    found = scale(values, 10, 110, log=log)
    assert 2 <= len(found.ticks()) <= 12
    assert all(10 <= found(value) <= 110 for value in [*values, *found.ticks()])
