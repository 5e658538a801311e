"""The seed that catches each mutant, kept in `caught.json`."""

import json
from pathlib import Path

CAUGHT = Path(__file__).with_name("caught.json")


def load() -> dict[str, int]:
    return dict(json.loads(CAUGHT.read_text())) if CAUGHT.exists() else {}


def save(seeds: dict[str, int]) -> None:
    CAUGHT.write_text(json.dumps(dict(sorted(seeds.items())), indent=2) + "\n")
