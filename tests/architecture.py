"""`python -m tests.architecture`: print the internal imports of engine and storage, and fail if they form
a cycle. Print the cycles of api, which has no layers."""

import ast
import sys
from collections.abc import Mapping, Set
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
    """Return the dotted names that a file imports, also within functions: a module with the name that is
    imported from it, because `from engine import drafts` imports the part `engine.drafts`."""
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
    """Return the groups of parts that all import each other, directly or through others."""
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
        failed |= bool(found) and package in LAYERS
        count = sum(map(len, uses.values()))
        told = "".join(f", CYCLE of {' '.join(cycle)}" for cycle in found) or ", acyclic"
        print(f"{package}: {len(uses)} parts, {count} imports between them{told}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
