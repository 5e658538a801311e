"""The generated methods of the client: one asynchronous class for each group."""

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from api.generation.text import docstring, module
from api.generation.types import Types, without_null
from api.routes import Repeat, Route

_RENAMED = {"from": "since", "to": "until"}  # `angarium.calls` renames them back
_NOUNS = {"audit-logs": "entry", "deliveries": "delivery"}  # other nouns lose their final s
_LIST_ARGUMENTS = "*, limit: int | None = None, cursor: str | None = None"


@dataclass(frozen=True, slots=True)
class Operation:
    """A route for which the generated client has a method. `document` is the route's operation in the
    OpenAPI document."""

    route: Route
    document: Mapping[str, Any]

    @property
    def group(self) -> str:
        """The name in `client.NAME.method()`; empty for a method of the client itself."""
        return self._name.rpartition(".")[0]

    @property
    def method(self) -> str:
        return self._name.rpartition(".")[2]

    @property
    def _name(self) -> str:
        assert self.route.client is not None
        return self.route.client.name

    @property
    def answer(self) -> Mapping[str, Any]:
        """The schema of a success; empty if it is not JSON."""
        status = next(code for code in self.document["responses"] if code.startswith("2"))
        content = self.document["responses"][status].get("content", {})
        found: Mapping[str, Any] = content.get("application/json", {}).get("schema", {})
        return found

    @property
    def body(self) -> Mapping[str, Any] | None:
        content = self.document.get("requestBody", {}).get("content", {})
        found: Mapping[str, Any] | None = content.get("application/json", {}).get("schema")
        return found

    @property
    def query(self) -> dict[str, Mapping[str, Any]]:
        return {
            parameter["name"]: {
                **parameter["schema"],
                "required": parameter.get("required", False),
                "description": parameter.get("description", ""),
            }
            for parameter in self.document.get("parameters", ())
            if parameter["in"] == "query"
        }


def filter_of(group: str) -> str:
    """Return the name of the type of filters for a group of client methods. For the group `deliveries`,
    the name is `DeliveryFilter`."""
    return re.sub("ies$", "y", group.title().replace("_", "")).removesuffix("s") + "Filter"


class Methods:
    """A writer of the methods of one document's operations."""

    def __init__(self, types: Types) -> None:
        self._types = types

    def class_of(self, group: str) -> str:
        """Return the name of a group's asynchronous class. The synchronous class has the same name
        without `Async`, and this shorter name must not be the name of a shape."""
        name = group.title().replace("_", "")
        return f"Async{name}Methods" if name in self._types.schemas else f"Async{name}"

    def module(self, group: str, about: str, operations: Sequence[Operation]) -> str:
        methods = [
            text for operation in operations if not by_hand(operation) for text in self._of(operation)
        ]  # fmt: skip
        head = f"class {self.class_of(group)}(AsyncResource):\n{docstring(about, 4)}\n"
        text = head + "\n".join(methods)
        text = re.sub(r"\bfilter: [^,]+,", r"\g<0>  # noqa: A002 - the API's word\n", text)
        return module(f"The generated methods of `client.{group}`.", [text])

    def groups(self, names: Iterable[str]) -> str:
        lines = [f"        self.{name} = {self.class_of(name)}(send, read)\n" for name in names]
        head = (
            f"class AsyncGroups:\n{docstring('The base of the client.', 4)}\n"
            "    def __init__(self, send: AsyncSend, read: AsyncRead) -> None:\n"
        )
        return module(
            "The attributes of the client: its groups of methods.", [head + "".join(lines)]
        )

    def filters(self, operations: Sequence[Operation]) -> str:
        parts = []
        for operation in operations:
            chosen = self._chosen(operation) if operation.method == "list" else {}
            if chosen:
                fields = "".join(f"    {name}: {type_}\n" for name, type_ in chosen.items())
                text = docstring(
                    f"The filters of `client.{operation.group}.list` and `iterate`.", 4
                )
                parts.append(
                    f"class {filter_of(operation.group)}(TypedDict, total=False):\n{text}\n{fields}"
                )
        sentence = (
            "The filters of lists. A filter that is None or absent has no effect. `since` is "
            "inclusive, `until` exclusive."
        )
        return module(sentence, parts)

    def _of(self, operation: Operation) -> list[str]:
        item = self._types.item_of(operation.answer) if operation.answer else None
        if item is None:
            return [self._plain(operation)]
        if operation.method == "list":
            return [self._page(operation, item), self._iterate(operation, item)]
        assert operation.route.client is not None
        if operation.route.client.by_page:
            return [self._page(operation, item)]
        return [self._iterate(operation, item)]

    # --- lists

    def _chosen(self, operation: Operation) -> dict[str, str]:
        return {
            argument_name(name): _or_none(self._types.parameter(schema))
            for name, schema in operation.query.items()
            if name not in ("cursor", "limit")
        }

    def _page(self, operation: Operation, item: Any) -> str:
        narrowed = bool(self._chosen(operation))
        chosen = f", **chosen: Unpack[{filter_of(operation.group)}]" if narrowed else ""
        given = ["self", *_path_arguments(operation)]
        more = "**chosen, " if narrowed else ""
        return (
            f"    async def {operation.method}({', '.join(given)}, {_LIST_ARGUMENTS}{chosen})"
            f" -> Page[{self._types.field(item)}]:\n{_docstring(operation, ': one page')}"
            f'        query = query_of({{{more}"limit": limit, "cursor": cursor}})\n'
            f'        return await self._send(Call("GET", {_path(operation)}, query))\n'
        )

    def _iterate(self, operation: Operation, item: Any) -> str:
        chosen = self._chosen(operation)
        narrowed = operation.method == "list" and bool(chosen)
        given = ["self", *_path_arguments(operation)]
        given += [f"**chosen: Unpack[{filter_of(operation.group)}]"] if narrowed else []
        limit = operation.query["limit"]
        query = ["**chosen"] if narrowed else []
        if chosen and not narrowed:
            given += ["*", *(f"{name}: {type_} = None" for name, type_ in chosen.items())]
            query += [f'"{name}": {name}' for name in chosen]
        # Ask for the largest pages, unless the list returns these by default.
        query += ['"limit": PAGE'] if limit["default"] < limit["maximum"] else []
        name = "iterate" if operation.method == "list" else operation.method
        return (
            f"    def {name}({', '.join(given)}) -> AsyncIterator[{self._types.field(item)}]:\n"
            f"{_docstring(operation, ': all pages')}"
            f"        return follow_pages(self._send, {_path(operation)}, {{{', '.join(query)}}})\n"
        )

    # --- everything else

    def _plain(self, operation: Operation) -> str:
        positional, named = _path_arguments(operation), []
        values: list[str] = []
        fields = self._fields(operation)
        if operation.route.method == "PATCH":
            assert operation.body is not None
            positional.append(f"change: {self._types.field(operation.body)}")
        assert operation.route.client is not None
        for name, schema, required in fields:
            argument = argument_name(name)
            type_ = (self._types.parameter if operation.query else self._types.argument)(schema)
            values.append(f'"{argument}": {argument}')
            if required:
                positional.append(f"{argument}: {type_}")
            elif name in operation.route.client.positional:
                positional.append(f"{argument}: {_or_none(type_)} = None")
            else:
                named.append(f"{argument}: {_or_none(type_)} = None")
        arguments = ["self", *positional, *(["*", *named] if named else [])]
        document = f"{{{', '.join(values)}}}"
        call = [f'"{operation.route.method}"', _path(operation)]
        if operation.query:
            call.append(f"query_of({document})")
        elif fields:
            call.append(f"body=body_of({document})")
        elif operation.route.method == "PATCH":
            call.append("body=change")
        elif operation.route.method == "POST":
            call.append("body={}")
        call += _repeating(operation)
        answer = self._types.field(operation.answer)
        return (
            f"    async def {operation.method}({', '.join(arguments)}) -> {answer}:\n"
            f"{_docstring(operation)}        return await self._send(Call({', '.join(call)}))\n"
        )

    def _fields(self, operation: Operation) -> list[tuple[str, Any, bool]]:
        """Return each argument's name, its schema, and True if it is required."""
        if operation.query:
            return [(name, schema, schema["required"]) for name, schema in operation.query.items()]
        if operation.body is None or operation.route.method == "PATCH":
            return []
        body = self._types.resolved(operation.body)
        if "oneOf" in body:  # the first form; handwritten methods are for the others
            body = self._types.resolved(body["oneOf"][0])
        required = body.get("required", ())
        return [(name, each, name in required) for name, each in body.get("properties", {}).items()]


def parts_of(operation: Operation) -> list[Any]:
    """Return the schemas in a method's signature."""
    parts = [operation.answer, *operation.query.values()]
    return parts if operation.body is None else [*parts, operation.body]


def by_hand(operation: Operation) -> bool:
    """Return True if the method of an operation is handwritten."""
    assert operation.route.client is not None
    return operation.route.client.by_hand


def _repeating(operation: Operation) -> list[str]:
    route = operation.route
    assert route.client is not None
    found = []
    if route.client.once_with:
        field = route.client.once_with
        source = f'change.get("{field}")' if route.method == "PATCH" else argument_name(field)
        found.append(f"repeatable=not {source}")
    elif route.repeats is Repeat.NEVER:
        found.append("repeatable=False")
    elif route.repeats is Repeat.GONE_IS_DONE:
        found.append("gone_is_done=True")
    return [*found, f"takes_s={route.takes_s}"] if route.takes_s else found


def _docstring(operation: Operation, more: str = "") -> str:
    route = operation.route
    return docstring(f"{route.summary}{more}.\n\n{route.description}".strip(), 8)


def _path(operation: Operation) -> str:
    path = operation.route.path
    if "{" not in path:
        return f'"{path}"'
    names = iter(path_names(operation))
    segments = [
        next(names) if segment.startswith("{") else f'"{segment}"' for segment in path.split("/")[1:]
    ]  # fmt: skip
    return f"at({', '.join(segments)})"


def _path_arguments(operation: Operation) -> list[str]:
    return [f"{name}: str" for name in path_names(operation)]


def path_names(operation: Operation) -> list[str]:
    """Return the names of the Python arguments for a path's parameters. For `/routing-rules/{id}`, the
    only name is `rule_id`."""
    found = []
    for before, name in re.findall(r"/([^/]+)/{(\w+)}", operation.route.path):
        noun = _NOUNS.get(before) or before.rpartition("-")[2].removesuffix("s")
        found.append(f"{noun}_id" if name == "id" else _snake(name))
    return found


def argument_name(name: str) -> str:
    """Return the Python argument's name for the API's parameter `name`. For `eventType`, this is
    `event_type`; for `from`, it is `since`."""
    renamed = _RENAMED.get(name, _snake(name))
    assert not keyword.iskeyword(renamed), name
    return renamed


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: f"_{match[0].lower()}", name)


def _or_none(type_: str) -> str:
    return type_ if type_ == "Any" else f"{without_null(type_)} | None"
