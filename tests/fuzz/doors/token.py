"""Browser tokens, for customers and for the console: only our own tokens are accepted."""

import base64
from types import SimpleNamespace
from typing import Any, cast

from engine.control.console import CODE_PREFIX, PREFIX, ConsoleTokens, session_reader
from engine.control.sessions import SessionTokens
from engine.core.vocabulary import CredentialKind, Scope
from engine.model.read_models import Credential, Models, SessionCustomer
from tests.fuzz.door import Door

NOW = 1_700_000_000.0
ID = "01890000-0000-7000-8000-000000000000"
KEYS = {b"keyidone": b"k" * 32, b"keyidtwo": b"l" * 32}
_ENVIRONMENT = SimpleNamespace(workspace="w")
_KEY = Credential(
    kind=CredentialKind.API_KEY, key_id=ID, workspace="w", environment=None, scope=Scope.READ,
)  # fmt: skip
# The parts of the models that both readers use.
_MODELS = cast(
    Models,
    SimpleNamespace(
        environments={7: _ENVIRONMENT}, credential_of=lambda key, _now: _KEY if key == ID else None
    ),
)
EMBED = SessionTokens(KEYS, _MODELS)
CONSOLE = ConsoleTokens(KEYS, _MODELS)
READ = session_reader(EMBED, CONSOLE)
OTHERS = session_reader(
    SessionTokens({b"keyidone": b"o" * 32}, _MODELS),
    ConsoleTokens({b"keyidone": b"o" * 32}, _MODELS),
)
TOKENS = (
    EMBED.sign(7, SessionCustomer(ID, "acme"), int(NOW * 1000) + 60_000).encode(),
    CONSOLE.open(ID, NOW).token.encode(),
    CONSOLE.code(ID, NOW).encode(),
)


def check(data: bytes) -> None:
    """A token must be accepted if it equals one of ours and has not expired. Any other token must be
    refused."""
    for own in TOKENS:
        for token in (data, own[: len(data) % len(own)] + data, own + data):
            genuine = _said(token) in {_said(each) for each in TOKENS}
            assert (READ(token, NOW) is not None) == genuine
            assert READ(token, NOW + 13 * 3600) is None
            assert OTHERS(token, NOW) is None


def _said(token: bytes) -> Any:
    """The last base64 character has bits without a meaning."""
    kind = next((each for each in (PREFIX, CODE_PREFIX) if token.startswith(each)), b"anges_")
    encoded = token.removeprefix(kind)
    try:
        whole = base64.b64decode(encoded + b"=" * (-len(encoded) % 4), b"-_", validate=True)
    except ValueError:
        return None, token
    return kind, whole


DOOR = Door(
    "token",
    check,
    ("engine.control", "engine.model"),
    (*TOKENS, PREFIX, CODE_PREFIX, b"anges_", TOKENS[0][:-1], TOKENS[1][:-1]),
    (b"angcs_", b"angcc_", b"anges_", b"=", b"-", b"_", b"+", b"/", b"\xff", b"A"),
    largest=1_024,
)
