"""`python -m tests.architecture`: print the imports between the parts of engine, of storage and of api.

A cycle of imports is a failure.
"""

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
# The parts of each package. A part can import only the parts before it.
LAYERS = {
    "engine": (
        "core", "model", "nodes", "runtime", "settings", "plans", "log", "ports", "peers", "recording",
        "actors", "schemas", "filters", "drafts", "wire", "submission", "tracing", "intake", "replay",
        "outbound", "templates", "files", "routing", "ingest", "control", "transforms",
    ),
    "storage": (
        "durable", "database", "embedded", "migrations", "log", "audit", "encryption", "ownership",
        "nodes", "files", "counters", "configuration", "intake", "backlog", "recording", "dead_letters",
        "replays", "retention", "backup",
    ),
}  # fmt: skip


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imported(path: Path) -> list[str]:
    """Return the dotted names that a file imports, including imports within functions.

    `from engine import drafts` gives `engine.drafts`, because the imported name can be a module.
    """
    names = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                raise AssertionError(f"{name_of(path)}: relative imports hide who imports whom")
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def files_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


Function = ast.FunctionDef | ast.AsyncFunctionDef


def methods_of(tree: ast.AST) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (each for each in node.body if isinstance(each, Function))


def assignments(tree: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Yield each assignment's target and value. `a, b = 1, 2` yields `a` with 1, and `b` with 2."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                yield from zip(target.elts, node.value.elts, strict=False)
            else:
                yield target, node.value


def methods_and_functions(trees: Iterable[ast.Module]) -> tuple[set[str], set[str]]:
    """Return two sets of names: methods that are not properties, and functions at module level."""
    methods, functions = set[str](), set[str]()
    for tree in trees:
        methods |= {
            each.name
            for each in methods_of(tree)
            if not any("property" in ast.unparse(name) for name in each.decorator_list)
        }
        functions |= {each.name for each in tree.body if isinstance(each, Function)}
    return methods, functions


def late_callbacks(tree: ast.Module, methods: Set[str], functions: Set[str]) -> Iterator[str]:
    """Yield each assignment that gives a method or a function to an attribute of another object.

    An assignment of `self` itself, such as `other.owner = self`, is yielded as well if it is in a
    constructor. Assignments to attributes named `on_...` are always yielded. Types are not known here, so
    a value counts as a method if its name is in `methods`.
    """
    own = {*methods_of(tree)}
    known = set[str]()
    unfinished = set[ast.AST]()  # what constructors contain
    fields = {
        target.attr
        for target, _ in assignments(tree)
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
    }
    for node in ast.walk(tree):
        if isinstance(node, Function) and node not in own:
            known.add(node.name)
        elif isinstance(node, Function) and node.name == "__init__":
            unfinished.update(ast.walk(node))
        elif isinstance(node, ast.arg) and "Callable" in ast.unparse(node.annotation or node):
            known.add(node.arg)
        elif isinstance(node, ast.ImportFrom):
            known |= {each.asname or each.name for each in node.names if each.name in functions}

    def calls(value: ast.expr | None) -> bool:
        match value:
            case ast.Lambda() | ast.Call(func=ast.Name(id="partial")):
                return True
            case ast.Name(id=name):
                return name in known or (name == "self" and value in unfinished)
            case ast.Attribute(value=holder, attr=name):
                return name in methods and (ast.unparse(holder) != "self" or name not in fields)
            case ast.IfExp(body=one, orelse=other):
                return calls(one) or calls(other)
            case ast.BoolOp(values=values):
                return any(map(calls, values))
        return False

    for target, value in assignments(tree):
        if (
            isinstance(target, ast.Attribute)
            and ast.unparse(target.value) not in ("self", "cls")
            and (target.attr.lstrip("_").startswith("on_") or calls(value))
        ):
            yield ast.unparse(target)


def graph(package: str) -> dict[str, set[str]]:
    uses: dict[str, set[str]] = {}
    for path in files_of(package):
        part = path.relative_to(ROOT).with_suffix("").parts[1]
        if part == "__init__":
            continue
        used = {name.split(".")[1] for name in imported(path) if name.startswith(f"{package}.")}
        uses.setdefault(part, set()).update(used - {part})
    return uses


def cycles(uses: Mapping[str, Set[str]]) -> list[tuple[str, ...]]:
    """Return the groups of parts in which each part imports each other part, directly or through further
    parts."""
    reached: dict[str, set[str]] = {}
    for part in uses:
        found, left = reached.setdefault(part, set()), [part]
        while left:
            new = uses.get(left.pop(), set()) - found
            found |= new
            left += new
    groups = {
        tuple(sorted(each for each in found if part in reached.get(each, ())))
        for part, found in reached.items()
    }
    return sorted(groups - {()})


def main() -> int:
    failed = False
    for package in (*LAYERS, "api"):
        uses = graph(package)
        rank = LAYERS.get(package, sorted(uses)).index
        for part in sorted(uses, key=rank):
            print(f"{package}.{part}: {', '.join(sorted(uses[part], key=rank)) or '-'}")
        found = cycles(uses)
        failed |= bool(found)
        count = sum(map(len, uses.values()))
        told = "".join(f", CYCLE of {' '.join(cycle)}" for cycle in found) or ", acyclic"
        print(f"{package}: {len(uses)} parts, {count} imports between them{told}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
