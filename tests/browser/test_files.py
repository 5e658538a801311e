"""Rules for the files in `web`: vendored files are unchanged, each text exists in every language, and no
file is too long.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from api.table import openapi_json
from tests.browser import check
from tests.browser.axe import AXE, AXE_SHA256
from tests.packages.npm import Tools

WEB = Path(__file__).parents[2] / "web"
OURS = sorted(
    path
    for path in WEB.rglob("*")
    if path.suffix in (".js", ".css", ".html") and "vendor" not in path.parts
)
TEXT = re.compile(r'(?<![\w.])tn?\(\s*"((?:[^"\\]|\\.)*)"(?:,\s*"((?:[^"\\]|\\.)*)")?')
ENTRY = re.compile(r'^  "((?:[^"\\]|\\.)*)": ?$|^  "((?:[^"\\]|\\.)*)": ', re.M)
CATALOGUE = WEB / "shared" / "i18n" / "de.js"
# Enumerations of the API. Either no page shows their words, or the pages show other texts instead.
UNSHOWN = {
    "AnalyticsGranularity",
    "AnalyticsPeriod",
    "BatchEntry",
    "ClientCredentialsAuthentication",
    "DestinationDisabled",
    "Environment",
    "ErrorCode",
    "ExplainedRule",
    "FileItem",
    "FileSource",
    "HttpMethod",
    "Node",
    "PreviewRule",
    "ReplayDraft",
    "ReplayJob",
    "ReplayJobDetail",
    "Scope",
    "SigningAlgorithm",
}
SAME = {"DNS", "TLS", "HTTP_4XX", "HTTP_5XX"}  # the same in German as in English
LONGEST = 400
EMBED_BYTES = 3072


def texts() -> set[str]:
    found = set()
    for path in OURS:
        if path.suffix == ".js":
            for match in TEXT.finditer(path.read_text()):
                found |= {each for each in match.groups() if each}
    return found


def test_vendored_files_are_the_bytes_of_the_manifest() -> None:
    manifest = json.loads((WEB / "vendor" / "vendor.json").read_text())["files"]
    there = {
        str(path.relative_to(WEB / "vendor")): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (WEB / "vendor").rglob("*")
        if path.is_file() and path.name not in ("vendor.json", "preact.d.ts")
    }
    assert there == manifest


def test_axe_is_the_one_that_was_reviewed() -> None:
    assert hashlib.sha256(AXE.read_bytes()).hexdigest() == AXE_SHA256


def test_the_script_that_hosts_load_is_small() -> None:
    assert len((WEB / "portal" / "embed.js").read_bytes()) <= EMBED_BYTES


def test_every_text_is_in_the_german_catalogue() -> None:
    known = {one or two for one, two in ENTRY.findall(CATALOGUE.read_text())}
    assert texts() - known == set()


def words_of(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return set().union(*map(words_of, schema))
    if not isinstance(schema, dict):
        return set()
    return {*schema.get("enum", ()), *words_of(list(schema.values()))}


def test_every_word_of_the_api_is_in_the_german_catalogue() -> None:
    known = {one or two for one, two in ENTRY.findall(CATALOGUE.read_text())}
    schemas = json.loads(openapi_json())["components"]["schemas"]
    assert UNSHOWN - schemas.keys() == set()
    missing = {
        name: words_of(schema) - known - SAME
        for name, schema in schemas.items()
        if name not in UNSHOWN
    }
    assert {name: words for name, words in missing.items() if words} == {}


def test_a_translation_has_the_values_of_its_text() -> None:
    pairs = re.findall(
        r'^  "((?:[^"\\]|\\.)*)":\s+"((?:[^"\\]|\\.)*)",$', CATALOGUE.read_text(), re.M
    )
    value = re.compile(r"\{\w+\}")
    assert len(pairs) > 20
    assert [
        text for text, said in pairs if sorted(value.findall(text)) != sorted(value.findall(said))
    ] == []


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(WEB)))
def test_a_file_is_short(path: Path) -> None:
    longest = 2000 if "i18n" in path.parts else LONGEST
    assert len(path.read_text().splitlines()) <= longest


def test_pages_hold_no_inline_script_or_style() -> None:
    for path in WEB.rglob("*.html"):
        page = path.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", page)


@pytest.mark.parametrize(("automatic", "code"), [("", 0), ("true", 1)])
def test_checks_without_npm_fail_only_where_ci_is_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, automatic: str, code: int
) -> None:
    monkeypatch.setattr(check, "WEB", Tools(tmp_path, "nothing", "nothing"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CI", automatic)
    assert check.main(mend=False) == code
