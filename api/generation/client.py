"""The generated modules of the client library."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from api.generation.methods import Methods, Operation, filter_of, parts_of
from api.generation.shapes import APART, PAGE, Shapes
from api.generation.text import MADE, formatted, with_imports
from api.generation.types import Types
from api.openapi.prose import TAGS
from api.table import ROUTES, openapi_json

CLIENT = Path(__file__).parents[2] / "clients" / "python"
PACKAGE = CLIENT / "angarium"
README = CLIENT / "README.md"
ITSELF = "client"  # in place of a group, for the client's own methods, which are handwritten
_TABLE = re.compile(r"(?<=\| \| \|\n\|---\|---\|\n)(\| `client.*\n)+")


def operations() -> list[Operation]:
    """Return the operations with a client method, in the order of the document."""
    paths = orjson.loads(openapi_json())["paths"]
    return [
        Operation(route, paths[route.path][route.method.lower()])
        for route in ROUTES
        if route.client is not None
    ]


def made_types() -> Types:
    """Return the types of the document's schemas."""
    return Types(orjson.loads(openapi_json())["components"]["schemas"])


def client_files() -> dict[Path, str]:
    """Return the text of every generated file, except the README."""
    found, types = operations(), made_types()
    groups = _by_group(found)
    shapes = Shapes(types, {name: _parts(each) for name, each in groups.items()})
    methods = Methods(types)
    made = {PACKAGE / "shapes" / f"{name}.py": text for name, text in shapes.modules().items()}
    for path, text in made.items():
        homes = [
            (f"angarium.shapes.{home}", _names_in(shapes, home)) for home in _homes(shapes, path)
        ]
        made[path] = with_imports(text, [*homes, *_STANDARD])
    whole = [("angarium.shapes", [*shapes.module_of, "JsonObject", "Page"])]
    filters = methods.filters(found)
    made[PACKAGE / "filters.py"] = with_imports(filters, [*whole, *_STANDARD])
    offered = [*whole, ("angarium.filters", [filter_of(name) for name in groups]), *_STANDARD]
    made[PACKAGE / "aio/made/__init__.py"] = (
        f'{MADE}"""The methods made from the API\'s routes."""\n'
    )
    del groups[ITSELF]
    classes = [(_module_of(name), [methods.class_of(name)]) for name in groups]
    made[PACKAGE / "aio/made/groups.py"] = with_imports(
        methods.groups(groups), [*classes, *_STANDARD]
    )
    for name, each in groups.items():
        text = methods.module(name, TAGS[each[0].route.tag], each)
        made[PACKAGE / f"aio/made/{name}.py"] = with_imports(text, offered)
    made = {path: formatted(text, path) for path, text in made.items()}
    return made | synchronous(PACKAGE, made)


def readme() -> str:
    """Return the client's README with its table of groups and methods."""
    groups = _by_group(operations())
    own = [each.method for each in groups.pop(ITSELF)]
    rows = {f"client.{name}": _methods_of(name) for name in groups} | {ITSELF: own}
    lines = [f"| `{name}` | `{'`, `'.join(methods)}` |\n" for name, methods in rows.items()]
    return _TABLE.sub("".join(lines), README.read_text("utf-8"), count=1)


def _module_of(group: str) -> str:
    """Return the module of a group's class: the handwritten module if it exists, otherwise the generated
    module."""
    by_hand = (PACKAGE / f"aio/{group}.py").exists()
    return f"angarium.aio.{'' if by_hand else 'made.'}{group}"


def _methods_of(group: str) -> list[str]:
    modules = dict.fromkeys([f"angarium.aio.made.{group}", _module_of(group)])
    texts = [(CLIENT / f"{name.replace('.', '/')}.py").read_text("utf-8") for name in modules]
    return re.findall(r"^    (?:async )?def ([a-z]\w*)", "\n".join(texts), re.MULTILINE)


def write_readme() -> None:
    """Write the README."""
    README.write_text(readme(), "utf-8")


def _by_group(found: Sequence[Operation]) -> dict[str, list[Operation]]:
    groups: dict[str, list[Operation]] = {}
    for operation in found:
        groups.setdefault(operation.group or ITSELF, []).append(operation)
    return groups


def _parts(found: Sequence[Operation]) -> list[Any]:
    return [part for operation in found for part in parts_of(operation)]


def _homes(shapes: Shapes, path: Path) -> list[str]:
    if path.stem == "__init__":
        return [*dict.fromkeys(shapes.module_of.values()), PAGE]
    return [home for home in ("words", "shared", *APART.values(), PAGE) if home != path.stem]


def _names_in(shapes: Shapes, home: str) -> list[str]:
    if home == PAGE:
        return ["JsonObject", "Page"]
    return [name for name, module in shapes.module_of.items() if module == home]


_STANDARD = [
    ("angarium.aio.resource", ["AsyncRead", "AsyncResource", "AsyncSend", "follow_pages"]),
    ("angarium.calls", ["PAGE", "Call", "Instant", "at", "body_of", "query_of"]),
    ("collections.abc", ["AsyncIterator", "Mapping", "Sequence"]),
    ("typing", ["Any", "Literal", "NotRequired", "TypedDict", "Unpack"]),
]


# In this order, each at the beginning of a word only.
_REPLACEMENTS = [
    (r"angarium\.aio", "angarium.sync"),
    (r"async (def|with|for) ", r"\1 "),
    (r"await ", ""),
    (r"Share it between tasks\.", "Safe to share between threads."),
    (r"The asynchronous client: ", "The synchronous client: "),
    (r"httpx\.Async(\w+)", r"httpx.\1"),
    (r"AsyncIterator", "Iterator"),
    (r"Async([A-Z]\w*)", r"\1"),
    (r"asleep", "sleep"),
    (r"async_transport", "sync_transport"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"aclose", "close"),
    (r"response\.a(read|iter_bytes)", r"response.\1"),
]


def synchronous(package: Path, made: Mapping[Path, str]) -> dict[Path, str]:
    """Return the modules of `angarium/sync`, converted from the modules of `angarium/aio`.

    `made`: the new texts of the modules that were generated in this run. All other modules are read from
    the disk.
    """
    source, target = package / "aio", package / "sync"
    present = {*source.glob("*.py"), *(path for path in made if path.is_relative_to(source))}
    texts = {
        target / path.relative_to(source): made.get(path) or path.read_text("utf-8")
        for path in sorted(present)
    }
    return {path: formatted(_without_await(text), path) for path, text in texts.items()}


def _without_await(text: str) -> str:
    for pattern, replacement in _REPLACEMENTS:
        text = re.sub(rf"(?<!\w){pattern}", replacement, text)
    return MADE + text.removeprefix(MADE)
