"""Files generated from the route table: the repository's copies are current."""

from api.generation.client import PACKAGE, README, client_files, made_types, readme
from api.generation.commands import command_files
from api.generation.pages import page_files
from api.generation.text import present
from api.generation.typescript import typescript_files

AGAIN = "run `python -m api.generation`"


def test_the_made_files_are_current() -> None:
    made = client_files() | command_files(made_types()) | typescript_files() | page_files()
    assert present() == made, AGAIN


def test_the_table_of_methods_is_current() -> None:
    assert README.read_text("utf-8") == readme(), AGAIN


def test_nothing_asynchronous_is_left_in_the_synchronous_client() -> None:
    for path in (PACKAGE / "sync").rglob("*.py"):
        text = path.read_text()
        for word in ("async", "Async", "await", "aclose"):
            assert word not in text, f"{path.name}: {word}"
