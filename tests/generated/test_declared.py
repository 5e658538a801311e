"""Declarations that developers must write by hand: routes in the table, commands, and methods of the
clients. These tests find missing declarations."""

import re
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import click
import pytest

from api import resources
from api.cli import main
from api.generation.client import operations
from api.generation.methods import by_hand
from api.generation.typescript import SOURCE, attribute, class_name
from api.openapi import document
from api.routes import Route
from api.table import ROUTES


def test_the_table_has_the_routes_of_every_module() -> None:
    listed = {route.name for route in ROUTES}
    for found in iter_modules(resources.__path__):
        module = import_module(f"{resources.__name__}.{found.name}")
        declared = getattr(module, "ROUTES", ())
        missing = [route.name for route in declared if route.name not in listed]
        assert not missing, f"api/table.py lacks {missing} of {found.name}"


def test_a_tag_without_a_description_is_named() -> None:
    with pytest.raises(LookupError, match=r"api/openapi/prose.py for \['Unknown'\]"):
        document([replace(ROUTES[0], tag="Unknown")])


@pytest.mark.parametrize(
    "route", [each for each in ROUTES if each.command], ids=lambda route: route.name
)
def test_the_command_line_has_every_declared_command(route: Route) -> None:
    assert route.command is not None
    command: click.Command | None = main
    for word in route.command.name.split():
        assert isinstance(command, click.Group), route.command.name
        command = command.get_command(click.Context(command), word)
    assert command is not None, route.command.name


def test_typescript_has_every_handwritten_method() -> None:
    texts = {name: (SOURCE / f"{name}.ts").read_text("utf-8") for name in ("client", "handwritten")}
    for operation in filter(by_hand, operations()):
        text, held = texts["client"], "Angarium"
        if operation.group:
            text, held = texts["handwritten"], class_name(operation.group)
        body = text.partition(f"export class {held} extends ")[2].partition("\n}\n")[0]
        name = attribute(operation.method)
        assert re.search(rf"^  (async )?\*?{name}\(", body, re.MULTILINE), f"{held}.{name}"
