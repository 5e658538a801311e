"""The generated modules of the TypeScript client.

Fields, parameters and shapes have the API's names.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from api.generation.client import made_types, operations
from api.generation.methods import Operation, by_hand, parts_of, path_names
from api.generation.text import MADE as PYTHON_MADE
from api.generation.types import Schema, Types, name_of, names_within
from api.openapi.prose import TAGS
from api.openapi.readable import choices
from api.routes import Repeat

SOURCE = Path(__file__).parents[2] / "clients" / "typescript" / "src"

MADE = PYTHON_MADE.replace("#", "//", 1)
LINE = 100
_PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}
_NAME = re.compile(r"[A-Za-z_$][\w$]*")


def typescript_files() -> dict[Path, str]:
    """Return the text of every generated file of the TypeScript client."""
    types, found = made_types(), operations()
    return {
        SOURCE / "shapes.ts": _shapes(types, found),
        SOURCE / "resources.ts": _resources(types, [each for each in found if each.group]),
        SOURCE / "groups.ts": _groups({each.group: None for each in found if each.group}),
    }


# --- shapes


def _shapes(types: Types, found: Sequence[Operation]) -> str:
    wanted = _reached(types, [part for each in found for part in parts_of(each)])
    parts = [_declaration(types, name) for name in sorted(wanted)]
    return f"{MADE}/** The API's shapes. */\n\n" + "\n".join(parts)


def _reached(types: Types, schemas: Sequence[Schema]) -> set[str]:
    wanted: set[str] = set()
    left = [name for schema in schemas for name in names_within(schema)]
    while left:
        name = left.pop()
        if name not in wanted:
            wanted.add(name)
            left += names_within(types.schemas[name])
    return wanted


def _declaration(types: Types, name: str) -> str:
    schema = types.schemas[name]
    comment = _comment(str(schema.get("description", "")), 0)
    if "properties" in schema:
        return f"{comment}export interface {name} {_object(schema, 0)}\n"
    return f"{comment}export type {name} = {type_of(schema)};\n"


def _object(schema: Schema, indent: int) -> str:
    required = schema.get("required", ())
    space = " " * (indent + 2)
    lines = []
    for name, field in schema["properties"].items():
        key = name if _NAME.fullmatch(name) else f'"{name}"'
        mark = "" if name in required else "?"
        comment = _comment(str(field.get("description", "")), indent + 2)
        lines.append(f"{comment}{space}{key}{mark}: {type_of(field, indent + 2)};\n")
    return "{\n" + "".join(lines) + " " * indent + "}"


def type_of(schema: Schema, indent: int = 0) -> str:
    """Return the type of a schema."""
    if "$ref" in schema:
        return name_of(schema)
    if found := choices(schema):
        return " | ".join(dict.fromkeys(type_of(choice, indent) for choice in found))
    words = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    if words:
        return " | ".join("null" if word is None else f'"{word}"' for word in words)
    kind = schema.get("type")
    if kind == "array":
        held = type_of(schema["items"], indent)
        return f"({held})[]" if "|" in held else f"{held}[]"
    if kind == "object":
        if schema.get("properties"):
            return _object(schema, indent)
        held = schema.get("additionalProperties", True)
        value = type_of(held, indent) if isinstance(held, Mapping) and held else "unknown"
        return f"Record<string, {value}>"
    return "unknown" if kind is None else _PLAIN[kind]


def _comment(text: str, indent: int) -> str:
    words = text.replace("*/", "* /").split()
    if not words:
        return ""
    space, lines, line = " " * indent, [], ""
    for word in words:
        if line and len(space) + len(line) + len(word) + 4 > LINE:
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    lines.append(line)
    if len(lines) == 1:
        return f"{space}/** {lines[0]} */\n"
    return f"{space}/**\n" + "".join(f"{space} * {each}\n" for each in lines) + f"{space} */\n"


# --- methods


def _resources(types: Types, found: Sequence[Operation]) -> str:
    groups: dict[str, list[Operation]] = {}
    for operation in found:
        groups.setdefault(operation.group, []).append(operation)
    classes = [_class(types, group, each) for group, each in groups.items()]
    used = sorted(_used(types, found))
    imports = "".join(f"  {name},\n" for name in used)
    return (
        f"{MADE}/** The resources of the client: a method per operation. */\n\n"
        'import { Resource, type CallOptions, type Page } from "./resource.js";\n'
        f'import type {{\n{imports}}} from "./shapes.js";\n\n' + "\n".join(classes)
    )


def _groups(names: Iterable[str]) -> str:
    classes = {attribute(name): f"resources.{class_name(name)}" for name in names}
    fields = [f"  readonly {name}: {held};\n" for name, held in classes.items()]
    values = [f"    this.{name} = new {held}(transport);\n" for name, held in classes.items()]
    return (
        f"{MADE}/** The attributes of the client: its groups of methods. */\n\n"
        'import * as resources from "./handwritten.js";\n'
        'import type { Transport } from "./transport.js";\n\n'
        f"export abstract class Groups {{\n{''.join(fields)}\n"
        f"  constructor(transport: Transport) {{\n{''.join(values)}  }}\n}}\n"
    )


def _used(types: Types, found: Sequence[Operation]) -> set[str]:
    used: set[str] = set()
    for operation in found:
        if by_hand(operation):
            continue
        item = types.item_of(operation.answer) if operation.answer else None
        used.update(names_within(operation.answer if item is None else item))
        for schema in operation.query.values():
            used.update(names_within(schema))
        if operation.body is not None and operation.route.body is not None:
            used.update(names_within(operation.body))
    return used


def class_name(group: str) -> str:
    """Return the name of a group's class."""
    return group.title().replace("_", "") + "Resource"


def attribute(name: str) -> str:
    """Return a name of the Python client in the style of TypeScript."""
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def _class(types: Types, group: str, found: Sequence[Operation]) -> str:
    methods = [
        text for operation in found if not by_hand(operation) for text in _methods(types, operation)
    ]  # fmt: skip
    comment = _comment(TAGS[found[0].route.tag], 0)
    return (
        f"{comment}export class {class_name(group)} extends Resource {{\n"
        + "\n".join(methods)
        + "}\n"
    )


def _methods(types: Types, operation: Operation) -> list[str]:
    item = types.item_of(operation.answer) if operation.answer else None
    if item is None:
        return [_plain(operation)]
    query = _query(operation, without=("cursor",))
    paths = _paths(operation)
    held = type_of(item)
    name = attribute(operation.method)
    page = name if operation.method == "list" else f"{name}Page"
    iterate = "iterate" if operation.method == "list" else name
    given = ", ".join(
        [*paths, f"query: {query} & {{ cursor?: string }} = {{}}", "options?: CallOptions"]
    )
    all_given = ", ".join([*paths, f"query: {query} = {{}}", "options?: CallOptions"])
    return [
        f"{_doc_comment(operation, ': one page')}  {page}({given}): Promise<Page<{held}>> {{\n"
        f'    return this.call({{ method: "GET", path: {_path(operation)}, query }}, options);\n  }}\n',
        f"{_doc_comment(operation, ': all pages')}  {iterate}({all_given}): AsyncIterable<{held}> {{\n"
        f"    return this.pages({_path(operation)}, query, options);\n  }}\n",
    ]


def _plain(operation: Operation) -> str:
    route = operation.route
    given, call = _paths(operation), [f'method: "{route.method}"', f"path: {_path(operation)}"]
    if operation.query:
        mandatory = any(each["required"] for each in operation.query.values())
        given.append(f"query: {_query(operation)}{'' if mandatory else ' = {}'}")
        call.append("query")
    elif operation.body is not None and route.body is not None:
        shape = type_of(operation.body)
        given.append(f"body: {shape}{' = {}' if route.action else ''}")
        call.append("body")
    elif route.method == "POST":
        call.append("body: {}")
    call += _repeating(operation)
    answer = type_of(operation.answer) if operation.answer else "unknown"
    given.append("options?: CallOptions")
    return (
        f"{_doc_comment(operation)}  {attribute(operation.method)}({', '.join(given)})"
        f": Promise<{answer}> {{\n    return this.call({{ {', '.join(call)} }}, options);\n  }}\n"
    )


def _repeating(operation: Operation) -> list[str]:
    route = operation.route
    assert route.client is not None
    found = []
    if route.client.once_with:
        found.append(f"repeatable: !body.{route.client.once_with}")
    elif route.repeats is Repeat.NEVER:
        found.append("repeatable: false")
    elif route.repeats is Repeat.GONE_IS_DONE:
        found.append("goneIsDone: true")
    return [*found, f"takesMs: {route.takes_s * 1000:.0f}"] if route.takes_s else found


def _query(operation: Operation, without: Sequence[str] = ()) -> str:
    fields = []
    for name, schema in operation.query.items():
        if name not in without:
            mark = "" if schema["required"] else "?"
            fields.append(f"{name}{mark}: {_parameter(schema)}")
    return "{ " + "; ".join(fields) + " }" if fields else "Record<string, never>"


def _parameter(schema: Schema) -> str:
    type_ = type_of(schema)
    if schema.get("type") == "array":
        return f"{type_of(schema['items'])} | {type_}"
    return f"{type_} | Date" if schema.get("format") == "date-time" else type_


def _names(operation: Operation) -> list[str]:
    return [attribute(name) for name in path_names(operation)]


def _paths(operation: Operation) -> list[str]:
    return [f"{name}: string" for name in _names(operation)]


def _path(operation: Operation) -> str:
    path, names = operation.route.path, iter(_names(operation))
    if "{" not in path:
        return f'"{path}"'
    segments = [
        next(names) if segment.startswith("{") else f'"{segment}"' for segment in path.split("/")[1:]
    ]  # fmt: skip
    return f"this.at({', '.join(segments)})"


def _doc_comment(operation: Operation, more: str = "") -> str:
    route = operation.route
    return _comment(f"{route.summary}{more}. {route.description}", 2)
