"""The files of a run for other programs: figures as CSV, plots as self-contained SVG."""

import csv
import io
import re
from collections.abc import Iterator
from importlib.resources import files
from xml.etree import ElementTree

from bench.report.numbers import unit_of
from bench.report.plots import plots
from bench.results import Run

STYLE = (files("bench.report") / "style.css").read_text("utf-8")
_HEAD = 24  # pixels for a line with a plot's title or legend
_NAME = 170  # pixels between names


def csv_text(run: Run) -> str:
    """Return CSV with a line for each figure of the run.

    A measurement has figures of its own. If it tries several rates, for example, it also has steps: each
    step has the figures for one rate. For a figure of a step, the column `step` has the name of what
    varies (`rate`), and the column `at` has its value in this step. For a figure of the measurement, both
    columns are empty.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["measurement", "step", "at", "figure", "value", "unit"])
    for number, each in enumerate(run.measurements, 1):
        for figure, value in each.figures.items():
            writer.writerow([number, "", "", figure, value, unit_of(figure)])
        for step in each.steps:
            for figure, value in step.figures.items():
                writer.writerow([number, step.name, step.value, figure, value, unit_of(figure)])
    return out.getvalue()


def svgs(run: Run) -> Iterator[tuple[str, str]]:
    """Yield name and text of each plot of a run."""
    for markup in plots(run):
        # This program's own markup is well-formed.
        shown = ElementTree.fromstring(markup)
        drawn = shown.find(".//svg")
        caption = shown.find("figcaption")
        if drawn is None or caption is None:
            continue
        title = "".join(caption.itertext())
        left, top, width, height = map(float, drawn.attrib.pop("viewBox").split())
        drawn.set("xmlns", "http://www.w3.org/2000/svg")
        drawn.set("viewBox", f"{left:g} {top - 2 * _HEAD:g} {width:g} {height + 2 * _HEAD:g}")
        said = ElementTree.SubElement(drawn, "text", {"x": "8", "y": f"{top - _HEAD - 8:g}"})
        said.text, said.attrib["class"] = title, "value"
        for place, entry in enumerate(shown.findall("ul/li")):
            colour = entry.find("i")
            name = ElementTree.SubElement(drawn, "text", {"y": f"{top - 6:g}"})
            name.set("x", f"{8 + place * _NAME:g}")
            name.text = "".join(entry.itertext())
            kind = "" if colour is None else colour.get("class", "")
            name.set("class", kind)
            name.set("style", "fill: currentColor")
        style = ElementTree.Element("style")
        style.text = STYLE + "\nsvg { background: var(--card); }"
        drawn.insert(0, style)
        name_of = re.sub(r"\W+", "-", title.partition(",")[0].lower()).strip("-")
        yield f"{name_of}.svg", ElementTree.tostring(drawn, "unicode") + "\n"
