"""The documentation site: its diagrams, plots and reference. The build of the site, which `make check`
runs, must fail if the site has a fault."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mkdocs.exceptions import PluginError

from api.table import openapi_json
from bench.history import IMAGES, kept
from bench.report.released import drawn
from deploy.site.hooks import on_post_build
from deploy.site.reference import pages
from deploy.site.sources import ROOT, place, slug, with_lists
from deploy.site.states import fence

PICTURE_BYTES = 200_000
STATES = (ROOT / "docs/states.md").read_text("utf-8")


@pytest.mark.parametrize("source", re.findall(r"^```mermaid\n(.*?)^```", STATES, re.M | re.S))
def test_a_state_diagram_has_every_state_and_signal(source: str) -> None:
    image = ElementTree.fromstring(fence(source, "mermaid", "states"))
    shown = {text.text for text in image.iter("text")}
    for start, end, signal in re.findall(r"(\S+) --> (\S+?)(?:: (.*))?$", source, re.M):
        for state in {start, end} - {"[*]"}:
            assert state in shown
        if "[*]" not in (start, end):
            assert {signal, f"↻ {signal}"} & shown, signal


def test_a_diagram_of_another_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="only state diagrams"):
        fence("graph TD\n  A --> B", "mermaid", "states")


@pytest.mark.parametrize(("name", "text"), drawn(kept()).items())
def test_a_plot_shows_the_figures_of_the_history(name: str, text: str) -> None:
    assert (IMAGES / name).read_text("utf-8") == text, "run: python -m bench history plot"


def test_the_reference_has_every_operation_and_its_links_lead_somewhere() -> None:
    found = pages()
    text = "\n".join(found.values())
    document = json.loads(openapi_json())
    for methods in (*document["paths"].values(), *document["webhooks"].values()):
        for operation in methods.values():
            assert f"{{#{operation['operationId']}}}" in text
    for page, anchor in re.findall(r'href="\.\./(\w+)/#([^"]+)"', text):
        assert f"{{#{anchor}}}" in found[page], anchor
    assert not re.findall(r'href="#[^"]+"', text)


def test_pictures_of_the_console_are_small() -> None:
    for scheme in ("light", "dark"):
        assert (IMAGES / f"console-{scheme}.png").stat().st_size <= PICTURE_BYTES


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ('<script src="https://elsewhere.example/a.js"></script>', True),
        ('<img alt="a" src="//elsewhere.example/a.png">', True),
        ('<link rel="stylesheet" href="https://elsewhere.example/a.css">', True),
        ('<a href="https://elsewhere.example/">a link that a reader follows</a>', False),
        ('<script src="../assets/a.js"></script>', False),
    ],
)
def test_a_site_that_loads_from_another_host_is_refused(
    text: str, refused: bool, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text(text)
    config: Any = SimpleNamespace(site_dir=str(tmp_path))
    if refused:
        with pytest.raises(PluginError, match="elsewhere"):
            on_post_build(config)
    else:
        on_post_build(config)


def test_a_style_that_imports_from_another_host_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@import 'https://elsewhere.example/fonts.css';")
    config: Any = SimpleNamespace(site_dir=str(tmp_path))
    with pytest.raises(PluginError, match="elsewhere"):
        on_post_build(config)


def test_lists_places_and_anchors_are_those_of_the_repository() -> None:
    assert with_lists("Text:\n- one\n  more\n- two\n```\nText\n- code\n```") == (
        "Text:\n\n- one\n  more\n- two\n```\nText\n- code\n```"
    )
    assert place("docs/api/README.md") == "api/index.html"
    assert place("docs/start.md") == "start/index.html"
    assert place("ARCHITECTURE.md") == "architecture/index.html"
    assert place("deploy/compose.yaml") == "deploy/compose.yaml"
    assert slug("What a script receives and returns", "-") == "what-a-script-receives-and-returns"
