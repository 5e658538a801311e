"""The generator of docs/bench-results.md from `bench.results`: `python -m bench.schema_page`. A test
fails if the page is out of date."""

import sys
from typing import Any

import msgspec

from bench.programs import ROOT
from bench.results import FORMAT, Document

PAGE = ROOT / "docs" / "bench-results.md"
_HEAD = f"""# What a run of the bench writes

This page is for users who process results. `python -m bench run SCENARIO --json FILE` writes one JSON
document of the format `{FORMAT}`. Within a format, names keep their meaning, and objects can gain fields.
Optional fields without a value are omitted. The last word of a name gives its unit: milliseconds (`Ms`),
seconds (`S`) or CPU microseconds (`Micros`). `python -m bench.schema_page` makes this page from
`bench/results.py`.
"""


def text() -> str:
    """Return the page."""
    _, components = msgspec.json.schema_components([Document], ref_template="#{name}")
    return _HEAD + "".join(_table(name, components[name]) for name in _order(components))


def _order(components: dict[str, Any]) -> list[str]:
    found = [Document.__name__]
    for name in found:
        found += [each for each in _named(components[name]) if each not in found]
    return found


def _named(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        here = [schema["$ref"].removeprefix("#")] if "$ref" in schema else []
        return here + [name for value in schema.values() for name in _named(value)]
    if isinstance(schema, list):
        return [name for value in schema for name in _named(value)]
    return []


def _table(name: str, schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    about = " ".join(schema.get("description", "").split())
    rows = [
        f"| `{field}` | {_type(of)} | {'yes' if field in required else ''} | {_about(of)} |\n"
        for field, of in schema["properties"].items()
    ]
    head = "| field | type | required | |\n|---|---|---|---|\n"
    return f"\n## {name}\n\n{about}\n\n{head}{''.join(rows)}"


def _about(of: dict[str, Any]) -> str:
    return " ".join(of.get("description", "").split())


def _type(of: dict[str, Any]) -> str:
    if "$ref" in of:
        name = of["$ref"].removeprefix("#")
        return f"[{name}](#{name.lower()})"
    if "anyOf" in of:
        return " or ".join(_type(each) for each in of["anyOf"])
    kind = of.get("type", "anything")
    if kind == "array":
        return f"array of {_type(of['items'])}"
    if kind == "object" and isinstance(of.get("additionalProperties"), dict):
        return f"object of {_type(of['additionalProperties'])}"
    return str(kind)


if __name__ == "__main__":
    PAGE.write_text(text(), "utf-8")
    sys.stdout.write(f"{PAGE}\n")
