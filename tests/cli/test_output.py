"""The output of commands: harmless for people, and valid JSON for programs."""

import ast
import io
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from api.cli.errors import Trouble
from api.cli.printing import json_text, say, say_whole
from api.cli.remote.output import Output
from api.cli.remote.tables import Table, TableColumn, shown
from api.printable import printable
from tests.cli.programs import ROOT, environment

CLI = ROOT / "api/cli"
WRITERS = ("click.echo", "click.secho", "print", "sys.stdout.write", "sys.stderr.write")
NASTY = "a\x1b[2Jb\x07\x9b\u202e\u2028c"


def test_control_characters_of_strangers_do_not_reach_a_terminal() -> None:
    for text in (printable(NASTY), shown({"a": NASTY}), shown([NASTY]), json_text(NASTY)):
        assert text.isprintable(), text


def test_nothing_is_printed_but_by_what_makes_it_harmless() -> None:
    """`printing.py` makes text harmless."""
    writing = {
        path.relative_to(CLI).as_posix()
        for path in CLI.glob("**/*.py")
        for call in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in WRITERS
    }
    assert writing == {"printing.py", "backup.py", "remote/output.py"}


def test_names_of_fields_and_errors_of_strangers_are_harmless(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Output("table").one({"payload": {NASTY: [{NASTY: NASTY}]}})
    say(f"first {NASTY}\nsecond {NASTY}")
    Trouble(NASTY).show()
    said = capsys.readouterr()
    for line in (said.out + said.err).splitlines():
        assert line.isprintable(), line
    assert len(said.out.split("\n")) == 4


def test_a_source_is_harmless_on_a_terminal_and_exact_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    say_whole(f"\t{NASTY}\n")
    assert capsys.readouterr().out == f"\t{NASTY}\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    say_whole(f"\t{NASTY}\n")
    shown_source = capsys.readouterr().out
    assert shown_source.startswith("    a")
    assert shown_source.removesuffix("\n").isprintable()


@pytest.mark.parametrize("value", [NASTY, "\ud800", "é ☃ 𝄞", {"a": ["\u2066", 1.5, None, True]}])
@pytest.mark.parametrize("indent", [True, False])
def test_json_is_valid_whatever_is_escaped(value: Any, indent: bool) -> None:
    text = json_text(value, indent=indent)
    assert json.loads(text) == value
    text.encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (True, "true"),
        (0, "0"),
        ("", ""),
        ([], "-"),
        (["a", "b"], "a, b"),
        ([1], "[1]"),
        ({"a": 1}, '{"a": 1}'),
    ],
)
def test_cells_are_as_people_read_them(value: Any, text: str) -> None:
    assert shown(value) == text


COLUMNS = (
    TableColumn("ID", "id"),
    TableColumn("STATE", lambda item: item["a"]["state"]),
    TableColumn("N", "b.c"),
)


def test_a_table_is_as_wide_as_what_is_in_it_and_has_its_titles_once() -> None:
    table = Table(COLUMNS)
    first = table.lines([{"id": "x", "a": {"state": "FAILED"}, "b": {"c": 1}}])
    second = table.lines([{"id": "longer", "a": {"state": "OK"}, "b": None}])
    plain = [
        line.replace("\x1b[1m", "").replace("\x1b[31m", "").replace("\x1b[0m", "")
        for line in first + second
    ]
    assert plain == ["ID  STATE   N", "x   FAILED  1", "longer  OK      -"]
    assert "\x1b[31m" in first[1], "what failed is red, on a terminal"
    assert Table(COLUMNS).lines([]) == []


def test_a_cell_that_is_too_long_is_cut_but_not_the_last() -> None:
    columns = (TableColumn("A", "a"), TableColumn("B", "b"))
    (_, line) = Table(columns).lines([{"a": "x" * 100, "b": "y" * 200}])
    assert "x…" in line
    assert "x" * 61 not in line
    assert line.endswith("y" * 200)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], io.StringIO]:
    def make(is_terminal: bool) -> io.StringIO:
        out = io.StringIO()
        out.isatty = lambda: is_terminal  # type: ignore[method-assign]  # a terminal for a test
        monkeypatch.setattr(sys, "stdout", out)
        return out

    return make


@pytest.mark.parametrize(("is_terminal", "form"), [(True, "table"), (False, "jsonl")])
def test_a_terminal_gets_a_table_and_a_pipe_lines_of_json(
    terminal: Callable[[bool], io.StringIO], is_terminal: bool, form: str
) -> None:
    terminal(is_terminal)
    assert Output(None).form == form
    assert Output("json").form == "json"


def test_one_object_in_a_table_is_a_line_a_field(
    terminal: Callable[[bool], io.StringIO],
) -> None:
    out = terminal(False)
    document = {"id": "i", "queue": {"pending": 1}, "list": [{"a": 1}, {"a": 2}], "none": {}}
    Output("table").one(document)
    assert out.getvalue().splitlines() == [
        "id             i",
        "queue.pending  1",
        "list[0].a      1",
        "list[1].a      2",
        "none           {}",
    ]


def test_a_terminal_of_another_encoding_shows_what_it_can(tmp_path: Path) -> None:
    script = (
        "from api.cli.remote.output import Output\n"
        "Output('jsonl').one({'a': '\\u2603'})\n"
        "Output('table').one({'a': '\\u2603'})\n"
    )
    env = {**environment("", tmp_path), "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, cwd=ROOT, capture_output=True, check=True
    )
    assert done.stdout == b'{"a": "\\u2603"}\na  \\u2603\n'


def test_a_list_that_was_cut_says_how_far_back_it_goes(
    terminal: Callable[[bool], io.StringIO], capsys: pytest.CaptureFixture[str]
) -> None:
    page: dict[str, Any] = {
        "items": [],
        "nextCursor": None,
        "searchedTo": "2026-01-02T03:04:05.000Z",
    }
    columns = (TableColumn("ID", "id"),)
    Output("table").listing(lambda limit, cursor: page, columns, limit=None, cursor=None)
    assert "examined back to 2026-01-02T03:04:05.000Z" in capsys.readouterr().err
    out = terminal(False)
    Output("json").listing(lambda limit, cursor: page, columns, limit=None, cursor=None)
    assert json.loads(out.getvalue()) == page
