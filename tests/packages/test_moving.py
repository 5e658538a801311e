"""The rewriting of imports for the wheel: it changes names in import statements, and nothing else."""

import ast
from pathlib import Path

import pytest

from deploy.wheel.build_hook import FOLDERS, LAUNCHER, PACKAGE, MoveError, move_all, moved

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from engine.core.x import y", "from angarium_server.engine.core.x import y"),
        ("from engine import core", "from angarium_server.engine import core"),
        ("import angarium", "from angarium_server import angarium"),
        ("import angarium as a", "from angarium_server import angarium as a"),
        ("import engine.x as x", "from angarium_server.engine import x as x"),
        ("def f():\n    from api import y", "def f():\n    from angarium_server.api import y"),
        ("x = 1; from api import y", "x = 1; from angarium_server.api import y"),
        ("é = 'é'; from api import y", "é = 'é'; from angarium_server.api import y"),
        (
            "from  storage.x import (\n    y,\n)",
            "from  angarium_server.storage.x import (\n    y,\n)",
        ),
        ("from enginery import x", "from enginery import x"),
        ("import json, engines", "import json, engines"),
        ("name = 'engine.core'  # from engine.core", "name = 'engine.core'  # from engine.core"),
        ('"""\nfrom engine.x import y\n"""', '"""\nfrom engine.x import y\n"""'),
        ("import_module('.x', __package__)", "import_module('.x', __package__)"),
    ],
)
def test_a_name_of_ours_is_moved(before: str, after: str) -> None:
    assert moved(before, "m.py") == after


@pytest.mark.parametrize(
    "source",
    [
        "import json, engine",
        "import engine.core",
        "import_module('api.cli')",
        "importlib.import_module('engine')",
        "resources.files('storage')",
        "importlib.util.find_spec('api.x')",
    ],
)
def test_an_import_that_cannot_be_moved_is_refused(source: str) -> None:
    with pytest.raises(MoveError, match=r"^m\.py:1: "):
        moved(source, "m.py")


def test_a_moved_module_differs_from_ours_in_the_names_of_imports_alone(tmp_path: Path) -> None:
    target = tmp_path / PACKAGE
    move_all(ROOT, target)
    for name, folder in {**FOLDERS, ".": str(LAUNCHER)}.items():
        for path in sorted((ROOT / folder).rglob("*")):
            copy = target / name / path.relative_to(ROOT / folder)
            if path.suffix == ".py":
                ours, carried = path.read_text("utf-8"), copy.read_text("utf-8")
                assert as_ours(carried) == ast.dump(ast.parse(ours)), path
                assert carried.count("\n") == ours.count("\n"), path
            elif path.is_file() and path.suffix != ".pyc":
                assert copy.read_bytes() == path.read_bytes()


def as_ours(source: str) -> str:
    return ast.dump(Back().visit(ast.parse(source)))


class Back(ast.NodeTransformer):
    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.module == PACKAGE and node.names[0].name != "main":
            return ast.Import(node.names)
        if node.module is not None:
            node.module = node.module.removeprefix(PACKAGE + ".")
        return node
