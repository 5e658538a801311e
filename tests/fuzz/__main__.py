"""A fuzzer for one door, guided by branch coverage: `python -m tests.fuzz DOOR --minutes 5`.

A door is a piece of our code that reads a stranger's bytes (see `tests.fuzz.door`). The fuzzer needs the
package atheris, which is not a dependency of ours. If the check of an input raises an error, or takes too
much time or memory, the input is kept in the corpus. The name of its file contains the first 12 digits of
the input's hash. The developer who fixes the bug gives the file a better name. If a run finds no such
input, some small inputs that reach new branches are kept.
"""

import argparse
import hashlib
import importlib
import importlib.util
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.door import CORPUS, NAMES, door

# The fuzzer's longest input in bytes.
LONGEST = 4_096
SLOW_S = 20  # an input that takes longer counts as a hang
LARGEST_MIB = 2_048
# Inputs that reach new branches are kept, but at most this many for each door (see `tests.fuzz.door`).
# The number is small because the test suite replays each of these inputs.
KEPT = 20
KEPT_BYTES = 400
GROWN = "grown"
REACHES = "reaches-"
_FOUND = ("crash", "timeout", "oom", "slow")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("door", choices=NAMES)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=random.randrange(1, 1 << 31))
    # set for the child process that fuzzes
    parser.add_argument("--within", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--watched", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write(
            "atheris is not installed here (it is no dependency of the tests): pip install atheris\n"
            "Without it: python -m pytest tests/fuzz\n"
        )
        return 2
    if given.within is None:
        return _supervise(given.door, given.minutes, given.seed)
    return _fuzz(given.door, given.within, given.watched.split(","), given.minutes, given.seed)


def _supervise(name: str, minutes: float, seed: int) -> int:
    print(f"{name}: {minutes:g} min, seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="angarium-fuzz-") as folder:
        place = Path(folder)
        command = [sys.executable, "-m", "tests.fuzz", name, f"--within={folder}"]
        command += [
            f"--minutes={minutes}",
            f"--seed={seed}",
            f"--watched={','.join(door(name).watched)}",
        ]
        code = subprocess.run(command, check=False).returncode
        found = [path for path in place.iterdir() if path.name.startswith(_FOUND)]
        for path in found:
            kept = CORPUS / name / f"found-{path.name.rpartition('-')[2][:12]}"
            kept.write_bytes(path.read_bytes())
            print(f"{name}: {kept} raises: fix the bug, then give the file a name")
        if not found and code == 0:
            _keep(name, place / GROWN)
    print(f"{name}: {len(found)} found")
    return 0 if code == 0 and not found else 1


def _keep(name: str, grown: Path) -> None:
    """Keep a few of the inputs that reach new branches: inputs of different sizes, up to KEPT_BYTES."""
    folder = CORPUS / name
    for path in folder.glob(f"{REACHES}*"):
        shutil.copy(path, grown)
        path.unlink()
    sized = sorted((path.stat().st_size, path.name, path) for path in grown.iterdir())
    small = [path for size, _, path in sized if size <= KEPT_BYTES]
    step = max(1, -(-len(small) // KEPT))
    for path in small[::step]:
        mark = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        shutil.copy(path, folder / f"{REACHES}{mark}")


def _fuzz(name: str, place: Path, watched: list[str], minutes: float, seed: int) -> int:
    """Fuzz in this process, which the fuzzer ends."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=[*watched, f"tests.fuzz.doors.{name}"]):
        target = door(name)
    seeds, grown = place / "seeds", place / GROWN
    kept = CORPUS / name
    for folder in (seeds, grown, kept):
        folder.mkdir(parents=True, exist_ok=True)
    for data in target.seeds:
        (seeds / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
    words = place / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words))
    options = [
        f"-max_total_time={int(minutes * 60)}",
        f"-max_len={LONGEST}",
        f"-timeout={SLOW_S}",
        f"-rss_limit_mb={LARGEST_MIB}",
        f"-seed={seed}",
        f"-dict={words}",
        f"-artifact_prefix={place}/",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *options, str(grown), str(seeds), str(kept)], target.check)
    atheris.Fuzz()
    return 0


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    raise SystemExit(main())
