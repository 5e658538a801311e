"""Makes `angarium/sync` from `angarium/aio`: the same code without `async` and `await`.

Run it after each change of `angarium/aio`; a test says when that was forgotten. Needs ruff.
"""

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "angarium"
SOURCE, TARGET = PACKAGE / "aio", PACKAGE / "sync"
MADE = "# Made from angarium/aio by generate_sync.py; do not edit.\n"

# The project's rules, wherever this is run from, and whether or not the files exist yet.
RUFF = ["--isolated", "--line-length", "100", "--target-version", "py311"]
SORTED = ["--select", "I,UP", "--config", 'lint.isort.known-first-party=["angarium"]']

# Whole words, in this order.
REPLACEMENTS = [
    (r"angarium\.aio", "angarium.sync"),
    (r"async (def|with|for) ", r"\1 "),
    (r"await ", ""),
    (r"Share it between tasks\.", "Safe to share between threads."),
    (r"The asynchronous client: ", "The synchronous client: "),
    (r"httpx\.Async(\w+)", r"httpx.\1"),
    (r"AsyncIterator", "Iterator"),
    (r"Async([A-Z]\w*)", r"\1"),
    (r"asleep", "sleep"),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"aclose", "close"),
    (r"response\.a(read|iter_bytes)", r"response.\1"),
]


def synchronous(text: str) -> str:
    """Return the synchronous form of a module's text, not yet formatted."""
    for pattern, replacement in REPLACEMENTS:
        text = re.sub(rf"(?<!\w){pattern}", replacement, text)
    return text


def generated() -> dict[str, str]:
    """Return the text of each module of `angarium/sync`, by its file's name."""
    made = {}
    for path in sorted(SOURCE.glob("*.py")):
        text = synchronous(path.read_text("utf-8"))
        if path.name == "__init__.py":
            text = '"""The synchronous client, made from `angarium.aio`."""\n'
        made[path.name] = _formatted(MADE + text, TARGET / path.name)
    return made


def _formatted(text: str, path: Path) -> str:
    fixes = ["check", "--fix-only", "--unsafe-fixes", "--quiet", *SORTED]
    for arguments in (fixes, ["format", "--quiet"]):
        text = subprocess.run(  # noqa: S603 - our own arguments
            [sys.executable, "-m", "ruff", *arguments, *RUFF, "--stdin-filename", str(path), "-"],
            input=text,
            capture_output=True,
            check=True,
            encoding="utf-8",
        ).stdout
    return text


def main() -> None:
    """Write the package anew."""
    TARGET.mkdir(exist_ok=True)
    for path in TARGET.glob("*.py"):
        path.unlink()
    for name, text in generated().items():
        (TARGET / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
