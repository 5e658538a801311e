"""The duration of a refusal reveals nothing of a secret. The tests check the code's structure, because
a clock could not prove it."""

import ast
import hashlib
from pathlib import Path

import pytest

from engine.model.read_models import digest_of
from tests.door.house import INGEST, make_models

ROOT = Path(__file__).parents[2]
JUDGES = (
    "engine/model/token_keys.py",
    "clients/python/angarium/receiver.py",
)


def test_a_key_is_found_by_its_digest_alone() -> None:
    """A key is looked up by its hash. The duration of a look-up could reveal how many of the hash's first
    bytes are right. This does not help an attacker, who cannot choose the first bytes of a hash."""
    assert digest_of(INGEST) == hashlib.sha256(INGEST).digest()
    models = make_models()
    assert models.credential_by_digest(digest_of(INGEST), 0.0) is not None
    assert models.credential_by_digest(digest_of(INGEST[:-1]), 0.0) is None


@pytest.mark.parametrize("file", JUDGES)
def test_no_signature_is_compared_byte_by_byte(file: str) -> None:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    calls = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert "hmac.compare_digest" in calls
    compared = [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Compare)]
    for text in compared:
        assert "_signature(" not in text, text
        assert "expected ==" not in text, text
        assert "== signature" not in text, text
