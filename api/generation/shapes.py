"""The generated shapes of the client.

A shape that only the methods of one group need is in the module of this group. All other shapes are in
`shared`.
"""

import keyword
from collections.abc import Iterable, Mapping
from typing import Any

from api.generation.text import comment, docstring, module
from api.generation.types import Types, names_within

SHARED, WORDS, PAGE = "shared", "words", "page"
# Shapes whose names have these endings get modules of their own. If the module of a large group contained
# these shapes too, the module would be too long.
APART = {"Authentication": "authentication", "Patch": "patches"}


class Shapes:
    """The shapes of all schemas that `operations` use, directly or through other schemas."""

    def __init__(self, types: Types, operations: Mapping[str, Iterable[Any]]) -> None:
        self._types = types
        self.module_of: dict[str, str] = {}
        users: dict[str, set[str]] = {}
        for group, parts in operations.items():
            for name in self._reached(list(parts)):
                users.setdefault(name, set()).add(group)
        for name, groups in users.items():
            if "enum" in types.schemas[name]:
                self.module_of[name] = WORDS
            elif _is_type(types, name):
                apart = next((APART[end] for end in APART if name.endswith(end)), None)
                self.module_of[name] = apart or (groups.pop() if len(groups) == 1 else SHARED)
        self.module_of |= {
            name: WORDS for name, schema in types.schemas.items() if "enum" in schema
        }

    def modules(self) -> dict[str, str]:
        made = {}
        for name in dict.fromkeys(self.module_of.values()):
            parts = [self._definition(shape) for shape in self._in_order(name)]
            made[name] = module(_SENTENCES.get(name, f"Shapes of `client.{name}`."), parts)
        names = sorted([*self.module_of, "JsonObject", "Page"])
        made["__init__"] = module(
            "The API's JSON as types. Names are the API's own; programs ignore fields of later "
            "versions.",
            [f"__all__ = {names!r}"],
            wanted=names,
        )
        return made

    def _reached(self, parts: list[Any]) -> set[str]:
        found: set[str] = set()
        while parts:
            for name in names_within(parts.pop()):
                if name not in found:
                    found.add(name)
                    parts.append(self._types.schemas[name])
        return found

    def _in_order(self, module_name: str) -> list[str]:
        ours = [name for name in self._types.schemas if self.module_of.get(name) == module_name]
        ordered: list[str] = []
        while ours:
            ready = [
                name for name in ours
                if not (self._reached([self._types.schemas[name]]) - {name}).intersection(ours)
            ]  # fmt: skip
            ordered += ready
            ours = [name for name in ours if name not in ready]
        return ordered

    def _definition(self, name: str) -> str:
        schema = self._types.schemas[name]
        if "enum" in schema:
            words = ", ".join(map(repr, schema["enum"]))
            return f"{comment(schema.get('description', ''))}{name} = Literal[{words}]"
        fields = schema.get("properties", {})
        required = set(schema.get("required", ()))
        lines = {
            field: (
                comment(given.get("description", ""), 4),
                self._field(given, not required or field in required),
            )
            for field, given in fields.items()
        }
        if any(map(keyword.iskeyword, fields)):  # a class cannot have such a field
            items = ", ".join(f"{field!r}: {type_}" for field, (_, type_) in lines.items())
            above = comment(schema.get("description", ""))
            return f'{above}{name} = TypedDict("{name}", {{{items}}})'
        body = "".join(f"{above}    {field}: {type_}\n" for field, (above, type_) in lines.items())
        total = "" if required else ", total=False"
        return f"class {name}(TypedDict{total}):\n{docstring(schema.get('description', name), 4)}\n{body}"

    def _field(self, schema: Any, required: bool) -> str:
        type_ = self._types.field(schema)
        return type_ if required else f"NotRequired[{type_}]"


def _is_type(types: Types, name: str) -> bool:
    """Pages, unions and the empty body get no type."""
    schema = types.schemas[name]
    return bool(schema.get("properties")) and types.item_of(schema) is None


_SENTENCES = {
    "authentication": "Shapes of the authentication of destinations.",
    "patches": "Shapes of changes: absent fields stay unchanged.",
    "client": "Shapes of the client's own methods.",
    SHARED: "Shapes that several groups of methods share.",
    WORDS: "The API's enumerations.",
}
