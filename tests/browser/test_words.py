"""The API's words in pages: each list of options and each table of texts has all words of its
enumeration.

The lists in `web/shared/words.js` are generated. Pages have handwritten lists where they need labels or
another order.
"""

import json
import re
from enum import Enum

import pytest

from api.generation.pages import FILE, OFFERED
from api.table import openapi_json
from engine.core.health import HoldReason
from engine.core.vocabulary import Environment
from engine.log.queues import Gate
from engine.nodes.liveness import NodeState
from engine.routing.preview import Reason
from tests.browser.test_files import OURS, WEB

PAGES = [
    path for path in OURS if path.suffix == ".js" and path != FILE and "i18n" not in path.parts
]
ENUMERATIONS = [
    set(match) for match in map(json.loads, re.findall(rb'"enum":(\[[^\]]*\])', openapi_json()))
]
# Choices that leave words out on purpose.
FEWER = {
    "shared/parts/replaying.js": {"FAILED", "DELIVERED"},  # dry runs are not replayed from there
    "console/pages/components.js": {"ON"},  # a sample
}
TEXTS: dict[tuple[str, str], type[Enum]] = {
    ("console/main.js", "NAMES"): Environment,
    ("console/session.js", "SHORT"): Environment,
    ("console/parts/settings/system.js", "SHAPES"): NodeState,
    ("shared/parts/holds.js", "reasons"): HoldReason,
    ("shared/parts/waits.js", "told"): Gate,
}
OWN = {
    "PROBING",
    "PROBES",
}  # words of a page, for states that the API describes with several fields


def closed(text: str, start: int, brackets: str = "[]") -> str:
    """Return the text from a bracket to the one that closes it."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == brackets[0]) - (text[at] == brackets[1])
        if depth == 0:
            return text[start : at + 1]
    raise AssertionError(text[start:])


def choices_of(text: str) -> list[set[str]]:
    """Return one set for each list of options in a page's source: the enumeration's words in that list,
    such as DELIVERED. A list without any word of an enumeration has no set.
    """
    found = []
    for match in re.finditer(r"\boptions: (?:(\[)|([A-Z]\w*)\b)", text):
        start = match.start(1)
        if match[2]:
            declared = re.search(rf"\bconst {match[2]} = (?=\[)", text)
            if declared is None:
                continue  # imported
            start = declared.end()
        words = set(re.findall(r'[\[,]\s*"([A-Z][A-Z_0-9]+)"', closed(text, start)))
        if words:
            found.append(words)
    return found


def test_a_choice_has_all_words_of_an_enumeration() -> None:
    wrong = [
        (name, words)
        for path in PAGES
        for name in [path.relative_to(WEB).as_posix()]
        for words in choices_of(path.read_text())
        if words not in ENUMERATIONS and words != FEWER.get(name)
    ]
    assert wrong == []


@pytest.mark.parametrize(("name", "table"), TEXTS)
def test_a_table_of_texts_has_all_words_of_its_enumeration(name: str, table: str) -> None:
    text = (WEB / name).read_text()
    start = re.search(rf"\bconst {table} = [^{{\n]*", text)
    assert start is not None
    words = set(re.findall(r"\b([A-Z][A-Z_0-9]+): ", closed(text, start.end(), "{}")))
    assert words - OWN == set(TEXTS[name, table].__members__)


def test_a_rule_that_does_not_match_has_a_text_for_every_reason() -> None:
    words = set(re.findall(r'case "(\w+)":', (WEB / "console/parts/whynot.js").read_text()))
    assert words == set(Reason.__members__)


def test_pages_use_every_generated_list() -> None:
    used = set()
    for path in PAGES:
        for names in re.findall(
            r'^import \{ ([\w, ]+) \} from "[^"]+/words\.js";$', path.read_text(), re.M
        ):
            used |= set(names.split(", "))
    assert used == set(OFFERED)


def test_words_are_found_in_every_form_of_a_choice() -> None:
    page = """
      const ORDER = [WAITING, "AA", "A_1"];
      options: ORDER, options: OTHERS, options: ["BB", "B_1"],
      options: [["CC", t("See")], ["", mode === "DD" ? t("None") : []], ...known],
    """
    assert choices_of(page) == [{"AA", "A_1"}, {"BB", "B_1"}, {"CC"}]
