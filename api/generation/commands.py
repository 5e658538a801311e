"""The generated modules of the command line."""

import re
from pathlib import Path
from typing import Any

from api.generation.client import operations
from api.generation.methods import Operation, argument_name, path_names
from api.generation.text import MADE, ROOT, formatted
from api.generation.types import Types
from api.openapi.vocabulary import shared

REMOTE = ROOT / "api" / "cli" / "remote"
_METAVARS = {"eventType": "EVENT_TYPE", "customerExternalId": "EXTERNAL_ID"}


def command_files(types: Types) -> dict[Path, str]:
    """Return the text of each generated module of the command line."""
    groups: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for operation in operations():
        if operation.route.command is not None:
            group, _, name = operation.route.command.name.partition(" ")
            groups.setdefault(group, []).append(_plain(operation, name, types))
            first.setdefault(group, f"{operation.route.summary}.")
    texts = {
        group: f'"""The plain commands of `angarium {group}`."""\n\n'
        "from api.cli.remote.plain import Option, Plain\n"
        "from api.cli.remote.tables import TableColumn\n\n"
        f"PLAIN: tuple[Plain, ...] = ({''.join(commands)})\n"
        for group, commands in groups.items()
    }
    words = "".join(
        f"{_constant(name)} = {tuple(schema['enum'])!r}\n" for name, schema in shared().items()
    )
    texts |= {
        "__init__": f'"""The groups of plain commands, and their short helps."""\n\nGROUPS = {first!r}\n',
        "words": f'"""The API\'s enumerations, for the options of commands."""\n\n{words}',
    }
    made = {REMOTE / f"made/{name}.py": MADE + text for name, text in texts.items()}
    return {path: formatted(text, path) for path, text in made.items()}


def _plain(operation: Operation, name: str, types: Types) -> str:
    route = operation.route
    assert route.client is not None
    assert route.command is not None
    text = f"{route.summary}.\n\n{route.description}".strip()
    given = [f"{name!r}", f'"{route.client.name}"', f"help={_wrapped(text)}"]
    variables = re.findall(r"{(\w+)}", route.path)
    arguments = [
        (argument, _METAVARS.get(variable, _constant(variable)))
        for argument, variable in zip(path_names(operation), variables, strict=True)
    ]
    if arguments:
        given.append(f"arguments={tuple(arguments)!r}")
    if route.command.columns:
        columns = "".join(
            f"TableColumn({title!r}, {field!r})," for title, field in route.command.columns
        )
        given.append(f"columns=({columns})")
    paged = operation.method == "list" or route.client.by_page
    listed = paged or (bool(route.command.columns) and "cursor" in operation.query)
    options = [
        _option(operation, field, schema, types)
        for field, schema in operation.query.items()
        if listed and field not in ("cursor", "limit", "environment", "from", "to")
    ]
    if options:
        given.append(f"options=({''.join(f'{option},' for option in options)})")
    if paged:
        given.append("paged=True")
    if listed and "from" in operation.query:
        given.append("spans=True")
    if route.command.confirm:
        given.append(f"confirm={route.command.confirm!r}")
    return f"Plain({', '.join(given)}),"


def _option(operation: Operation, field: str, schema: Any, types: Types) -> str:
    assert operation.route.command is not None
    argument = argument_name(field)
    short = re.sub("(_external)?_id$", "", argument).replace("event_type", "type").replace("_", "-")
    flags = operation.route.command.options.get(field, f"--{short}")
    given = [repr(flags), repr(argument)]
    repeated = schema.get("type") == "array"
    words = types.resolved(schema["items"] if repeated else schema).get("enum")
    if words:
        given.append(f"words={tuple(words)!r}")
    elif schema.get("type") == "boolean":
        assert "/" in flags, (
            f"{flags} has no form for false: set it in the route's `Command.options`"
        )
    else:
        named = "ID" if field.endswith("Id") else "TEXT"
        given.append(f"metavar={_METAVARS.get(field, named)!r}")
    if schema.get("description"):
        given.append(f"help={_wrapped(schema['description'])}")
    if repeated:
        given.append("repeated=True")
    return f"Option({', '.join(given)})"


def _wrapped(text: str) -> str:
    return f"({' '.join(map(repr, re.findall(r'(?s).{1,80}(?: |$)', text)))})"


def _constant(name: str) -> str:
    """`eventType` is EVENT_TYPE."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()
