"""`python -m tests.architecture`: print each package's internal imports, and fail if they
form a cycle."""

import ast
import sys
from collections.abc import Mapping, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
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
    """Return the dotted names that a file imports, also within functions."""
    names = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level or node.module is None:
                raise AssertionError(f"{name_of(path)}: relative imports hide who imports whom")
            names.append(node.module)
    return names


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def files_of(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def graph(package: str) -> dict[str, set[str]]:
    uses: dict[str, set[str]] = {}
    for path in files_of(package):
        part = path.relative_to(ROOT).with_suffix("").parts[1]
        if part == "__init__":
            continue
        used = {name.split(".")[1] for name in imported(path) if name.startswith(f"{package}.")}
        uses.setdefault(part, set()).update(used - {part})
    return uses


def cycle(uses: Mapping[str, Set[str]]) -> list[str] | None:
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return None


def main() -> int:
    cycles = 0
    for package, order in LAYERS.items():
        uses = graph(package)
        for part in sorted(uses, key=order.index):
            print(f"{package}.{part}: {', '.join(sorted(uses[part], key=order.index)) or '-'}")
        found = cycle(uses)
        cycles += found is not None
        count = sum(map(len, uses.values()))
        told = "acyclic" if found is None else f"CYCLE {' -> '.join(found)}"
        print(f"{package}: {len(uses)} parts, {count} imports between them, {told}\n")
    return int(cycles > 0)


if __name__ == "__main__":
    sys.exit(main())
