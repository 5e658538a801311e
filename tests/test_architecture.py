"""Rules for the whole repository: imports, lengths of files, and forbidden words."""

import ast
import pkgutil
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture import (
    LAYERS,
    ROOT,
    cycles,
    files_of,
    graph,
    imported,
    late_callbacks,
    methods_and_functions,
    name_of,
    tree_of,
    within,
)

PACKAGES = ("engine", "api", "storage", "bench")
OURS = {*PACKAGES, "angarium", "tests"}
SOURCES = sorted(
    path
    for package in (*PACKAGES, "clients", "deploy", "tests")
    for path in (ROOT / package).rglob("*.py")
)
MODULES = [path for path in SOURCES if "tests" not in path.relative_to(ROOT).parts]
LONGEST_FILE = 400
LONGEST_MEDIAN = 180
LONGEST_TEST = 700  # one file holds a whole table of cases


# (package, what it must not import, exempt files)
FORBIDDEN = [
    ("engine", ("api", "storage", "bench", "tests", "angarium"), ()),
    ("storage", ("api", "bench", "tests", "angarium"), ()),
    ("api", ("bench", "tests"), ()),
    ("api", ("storage",), ("api/composition", "api/cli")),
    ("api", ("angarium",), ("api/cli", "api/generation", "api/mcp")),
    ("clients", ("engine", "api", "storage", "bench", "tests"), ()),
    ("engine", ("asyncio", "asyncpg", "trio_asyncio", "quart", "hypercorn", "httpx", "click"), ()),
    ("api", ("asyncio", "asyncpg", "trio_asyncio"), ()),
    ("engine/actors", ("engine.wire",), ()),
    ("engine/wire", ("engine.actors",), ()),
]


@pytest.mark.parametrize(("folder", "names", "but"), FORBIDDEN)
def test_imports_point_one_way(folder: str, names: tuple[str, ...], but: tuple[str, ...]) -> None:
    found = [
        f"{name_of(path)} imports {name}"
        for path in files_of(folder)
        if not name_of(path).startswith(but or ("none",))
        for name in imported(path)
        if within(name, *names)
    ]
    assert not found


FLAT = 4  # the number of modules of a package that are outside any part


@pytest.mark.parametrize("package", LAYERS)
def test_the_parts_of_a_package_import_only_those_before_them(package: str) -> None:
    order = LAYERS[package]
    uses = graph(package)
    assert uses.keys() <= {*order}
    assert not [
        f"{part} imports {used}"
        for part, others in uses.items()
        for used in others
        if order.index(used) > order.index(part)
    ]
    assert len(list((ROOT / package).glob("*.py"))) <= FLAT


@pytest.mark.parametrize("package", [*LAYERS, "api"])
def test_the_parts_of_a_package_import_each_other_in_no_cycle(package: str) -> None:
    assert cycles(graph(package)) == []


def test_a_cycle_between_parts_is_found() -> None:
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [("b", "c")]
    assert cycles({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c", "f"}}) == [
        ("a", "b"),
        ("c", "d", "e"),
    ]


def test_an_import_of_a_part_from_its_package_names_the_part(tmp_path: Path) -> None:
    path = tmp_path / "low.py"
    path.write_text("from engine import drafts\nimport engine.wire\n")
    assert imported(path) == ["engine.drafts", "engine.wire"]
    path = tmp_path / "lower.py"
    path.write_text("def f():\n    from engine.model.errors import Refusal\n")
    assert within(imported(path)[0], "engine.model.errors")


SHARED = "data: the field's name is also a method's, or its value is that of a property"
# The test below forbids setting a callback after an object's construction. It permits these assignments.
# Those with SHARED only look as if they set a callback. The others do so, for the reason beside them.
LATE = {
    "engine/actors/actor.py: self._mailbox.current": SHARED,
    "engine/actors/actor.py: self._pending_read.waits": SHARED,
    "engine/core/machine.py: commands.snapshot": SHARED,
    "engine/recording/recorder.py: write.before": SHARED,
    "engine/recording/recorder.py: later.before": SHARED,
    "engine/replay/running_job.py: leg.ordered": SHARED,
    "api/app.py: g.allowance": SHARED,
    "api/composition/__init__.py: self.filing.sole_writer": SHARED,
    "api/judgement.py: g.allowance": SHARED,
    "api/judgement.py: g.workspace": SHARED,
    "api/metrics/exposition.py: scrape.pause": "a slice learns how to pause only when it begins",
    "engine/wire/opening.py: exchange.holder": "the exchange changes its holder; all fields exist",
}


def test_no_object_is_told_after_its_construction_whom_to_call() -> None:
    """An object gets its callbacks through its constructor."""
    paths = [path for package in ("engine", "storage", "api") for path in files_of(package)]
    methods, functions = methods_and_functions(map(tree_of, paths))
    found = {
        f"{name_of(path)}: {attribute}"
        for path in paths
        for attribute in late_callbacks(tree_of(path), methods, functions)
    }
    assert found == LATE.keys()


def test_a_callback_that_is_set_after_the_construction_is_found() -> None:
    tree = ast.parse(
        """
class Worker:
    def __init__(self, boss, done: Callable[[], None]):
        self.done = done
        self.then = self.finish
        self.size = 0
        boss.worker = self
        self.boss.done = done

    def finish(self):
        worker.when_done = job.finish
        worker.when_lost = None if quiet else self.finish
        worker.first, worker.size = partial(job.start, 1), self.size
        worker.boss.tell: Tell = lambda: None
        worker.note = noted
        worker._on_end = make()
        job.holder = self
        job.size = worker.size

def noted(): ...
"""
    )
    assert [*late_callbacks(tree, *methods_and_functions([tree]))] == [
        "boss.worker",
        "self.boss.done",
        "worker.when_done",
        "worker.when_lost",
        "worker.first",
        "worker.boss.tell",
        "worker.note",
        "worker._on_end",
    ]


def test_the_core_imports_the_standard_library_msgspec_and_itself() -> None:
    io = {"os", "time", "random", "socket", "threading", "subprocess", "logging", "secrets"}
    found = [
        f"{name_of(path)} imports {name}"
        for path in files_of("engine/core")
        for name in imported(path)
        if not within(name, "engine.core", "msgspec")
        and (name.partition(".")[0] not in sys.stdlib_module_names or name.partition(".")[0] in io)
    ]
    assert not found


def test_storage_imports_of_the_engine_only_what_it_implements_and_stores() -> None:
    allowed = (
        "engine.ports",
        "engine.core",
        "engine.model.errors",
        "engine.model.read_models",
        "engine.model.identity",
        "engine.model.version",
        "engine.nodes",
        "engine.settings",
        "engine.model.instants",
        "engine.log.delivery_log",
        "engine.log.queues",
        "engine.files.ports",
        "engine.model.file_records",
        "engine.log.observability",
        "engine.model.quotas",
        "engine.replay.job",
        "engine.replay.ports",
        "engine.recording.requeue",
        "engine.schemas.records",
        "engine.model.configuration",
        "engine.control.ports",
        "engine.model.headers",
    )
    found = [
        f"{name_of(path)} imports {name}"
        for path in files_of("storage")
        for name in imported(path)
        if within(name, "engine") and not within(name, *allowed)
    ]
    assert not found


def test_the_client_library_stands_on_httpx_alone() -> None:
    # anyio is allowed because httpx itself needs it. cryptography is an optional dependency for Ed25519.
    allowed = {"angarium", "httpx", "anyio", "cryptography"}
    found = {
        name
        for path in files_of("clients")
        for name in imported(path)
        if name.partition(".")[0] not in sys.stdlib_module_names | allowed
    }
    assert not found
    project = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())["project"]
    assert [requirement[:5] for requirement in project["dependencies"]] == ["httpx"]


def test_every_dependency_has_its_reason_and_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    reasons = (ROOT / "docs/decisions/0015-dependencies.md").read_text().lower()
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=\[; ]", requirement)[0]
        assert name in reasons, f"{name} has no reason in docs/decisions/0015-dependencies.md"
        lock = (ROOT / "requirements/runtime.lock").read_text()
        assert re.search(rf"^{re.escape(name)}==", lock, re.M), f"{name} is not in the lock"


def test_files_are_short() -> None:
    lengths = {name_of(path): len(path.read_text("utf-8").splitlines()) for path in SOURCES}
    too_long = {
        name: length
        for name, length in lengths.items()
        if length > (LONGEST_TEST if name.startswith("tests/") else LONGEST_FILE)
    }
    assert too_long == {}
    modules = sorted(lengths[name_of(path)] for path in MODULES if path.name != "__init__.py")
    assert modules[len(modules) // 2] <= LONGEST_MEDIAN


def test_every_module_begins_with_a_sentence_that_says_what_it_is() -> None:
    missing = []
    for path in SOURCES:
        text = path.read_text("utf-8")
        if not text.strip() and path.name == "__init__.py":
            continue
        docstring = ast.get_docstring(ast.parse(text))
        if not docstring or not docstring.split("\n\n")[0].rstrip().endswith((".", "?", "!", ":")):
            missing.append(name_of(path))
    assert not missing


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
    assert [name_of(path) for path in SOURCES if path.stem in empty] == []


def test_log_events_name_a_subject_and_what_happened_to_it() -> None:
    levels = ("debug", "info", "warning", "error", "exception", "critical")
    events = [
        (name_of(path), call.args[0].value)
        for path in MODULES
        for call in ast.walk(tree_of(path))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in levels
        and getattr(call.func.value, "id", "") == "log"
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[0].value, str)
    ]
    assert len(events) > 100
    assert [each for each in events if not re.fullmatch(r"[a-z_]+\.[a-z_]+", each[1])] == []


# Names that two classes have: a record, and the API's model of this record.
RECORDS_WITH_SHAPES = {
    "ActorState", "Attempt", "AuditEntry", "Circuit", "Delivery", "Destination", "Event", "FilterErrors",
    "Lane", "ReplayJob", "Requeued", "Throughput", "TransformScript",
}  # fmt: skip


def test_a_class_name_means_one_thing() -> None:
    places: dict[str, list[str]] = {}
    for package in ("engine", "storage", "api"):
        for path in files_of(package):
            for node in tree_of(path).body:
                if isinstance(node, ast.ClassDef):
                    places.setdefault(node.name, []).append(name_of(path))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert twice.keys() == RECORDS_WITH_SHAPES
    shapes = "api/shapes/"
    assert [
        name
        for name, files in twice.items()
        if [each.startswith(shapes) for each in sorted(files)] != [True, False]
    ] == []


def unexplained(path: Path) -> Iterator[str]:
    """Yield the places where a file silences a warning without a reason.

    The reason can be a comment on the same line or directly above it. If a file silences the warnings of
    one rule on several lines, a reason at the first of these lines is enough.
    """
    pattern = re.compile(r"#\s*(?:noqa:\s*(?P<codes>[A-Z0-9, ]+)|type:\s*ignore\S*)(?P<rest>.*)$")
    explained: set[str] = set()
    above = ""
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if match := pattern.search(line):
            code = (match["codes"] or "type").strip()
            if re.search(r"\w{2,}", match["rest"]) or above.lstrip().startswith("#"):
                explained.add(code)
            elif code not in explained:
                yield f"{name_of(path)}:{number}"
        above = line


def test_every_silenced_warning_gives_its_reason() -> None:
    assert [place for path in MODULES for place in unexplained(path)] == []


def own_files() -> list[Path]:
    """Return the files that git does not ignore. Without git (in an unpacked archive), return all files
    except generated ones."""
    listed = None
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
    if listed is not None and listed.returncode == 0:
        return [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    made = re.compile(r"(^|/)(\.venv[^/]*|\.git|data|__pycache__|\.\w+_cache|\.hypothesis)(/|$)")
    return [path for path in ROOT.rglob("*") if not made.search(name_of(path))]


def tracked_texts() -> Iterator[tuple[str, str]]:
    for path in own_files():
        if path.is_relative_to(ROOT / "tests/fuzz/corpus"):
            continue
        if path.is_file() and b"\0" not in (content := path.read_bytes()):
            yield name_of(path), content.decode("utf-8")


# The forbidden words are written in pieces, so that this file does not contain them.
UNSAID = re.compile(
    r"\b(?:"
    + "|".join(
        (
            "T" + r"ODO\b",
            "F" + r"IXME\b",
            "X" + r"XX\b",
            "chat" + "gpt",
            "clau" + "de",
            "anthro" + "pic",
            "open" + r"ai\b",
            "language " + "model",
            "files\\.python" + "hosted",
            "py" + r"pi\.org",
            "/wo" + "rk/",
            "/ro" + "ot/",
        )
    )
    + ")",
    re.IGNORECASE,
)


def test_the_project_speaks_of_itself_alone() -> None:
    found = [
        f"{name}:{number}: {match[0]}"
        for name, text in tracked_texts()
        for number, line in enumerate(text.splitlines(), 1)
        if (match := UNSAID.search(line))
    ]
    assert not found


def test_locks_have_a_hash_for_all_and_name_no_address() -> None:
    for lock in sorted((ROOT / "requirements").glob("*.lock")):
        text = lock.read_text()
        assert "://" not in text, f"{lock.name} names an address"
        requirements = [line for line in text.splitlines() if re.match(r"^[a-z0-9]", line)]
        entries = re.split(r"^(?=[a-z0-9])", text, flags=re.M)[1:]
        assert len(entries) == len(requirements)
        assert all("--hash=sha256:" in entry for entry in entries)


def test_documents_link_to_what_exists() -> None:
    broken = [
        f"{name} -> {target}"
        for name, text in tracked_texts()
        if name.endswith(".md")
        for target in re.findall(r"\]\(([^)#\s]+)", text)
        if "://" not in target and not ((ROOT / name).parent / target).exists()
    ]
    assert not broken


def test_every_name_of_the_table_of_decisions_exists() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    table = text.split("## Where is it decided?")[1].split("\n## ")[0]
    names = re.findall(r"`((?:api|engine|storage)\.[\w.]+)`", table)
    assert len(names) > 20
    assert all(pkgutil.resolve_name(name) is not None for name in names)
    assert re.findall(r"`[A-Z]\w*\.\w+`", table) == [], "a name without its module is not checked"


def test_versions_agree() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    client = tomllib.loads((ROOT / "clients/python/pyproject.toml").read_text())["project"][
        "version"
    ]
    package = (ROOT / "clients/python/angarium/__init__.py").read_text()
    exchange = (ROOT / "clients/python/angarium/exchange.py").read_text()
    assert f'__version__ = "{client}"' in package
    assert f'VERSION = "{client}"' in exchange
    assert f"## {ours}" in (ROOT / "CHANGELOG.md").read_text()
