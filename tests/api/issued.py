"""The secrets that a control plane gave out or received, and a search for them in answers and logs."""

import json
import traceback
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import structlog

from engine.model.headers import MASK, is_secret
from engine.templates.catalog import read_catalog

PREFIXES = ("ang_dev_", "ang_sta_", "ang_pro_", "angmk_", "anges_", "whsec_")
GIVEN_OUT_AS = ("secret", "token")  # fields of the only answer that shows a secret
# The names of the secret fields of all templates. No answer shows a destination's values of these fields.
# Only the catalog's examples show values, and those values are public.
CONFIG_SECRETS = frozenset().union(*(each.secrets for each in read_catalog().all()))
SHORTEST = 8  # shorter texts can occur by chance


@dataclass
class Issued:
    """The secrets of one house."""

    secrets: set[str] = field(default_factory=set)
    lines: list[str] = field(default_factory=list)  # the log, before it hides secrets

    def credential(self, secret: str | None) -> None:
        if secret is not None and secret.startswith(PREFIXES) and len(secret) > 2 * SHORTEST:
            self.secrets.add(secret)

    def sent(self, document: Any) -> None:
        """Record the secrets in a request body that configures a destination. The secrets are values in
        the body's `headers`, and in its `config`, which has the settings of the destination's
        template."""
        headers = document.get("headers") if isinstance(document, dict) else None
        if isinstance(headers, dict):
            for name, value in headers.items():
                if isinstance(value, str) and value != MASK and is_secret(name):
                    self._learn(value)
        config = document.get("config") if isinstance(document, dict) else None
        if isinstance(config, dict):
            for name, value in config.items():
                if isinstance(value, str) and value != MASK and name in CONFIG_SECRETS:
                    self._learn(value)

    def answered(self, what: str, status: int, body: bytes) -> None:
        """Search an answer for earlier secrets, then record its own."""
        text = body.decode("utf-8", "replace")
        given_out = self._given_out(body) if status in (200, 201) else set()
        self.search(what, text, but=given_out)
        for secret in given_out:
            self._learn(secret)

    def search(self, what: str, text: str, but: frozenset[str] | set[str] = frozenset()) -> None:
        found = [secret[:12] for secret in self.secrets - but if secret in text]
        assert found == [], f"{what} shows secrets: {found}"

    def search_logs(self) -> None:
        for line in self.lines:
            self.search("the log", line)

    def _given_out(self, body: bytes) -> set[str]:
        if not any(b'"%s":"' % name.encode() in body for name in GIVEN_OUT_AS):
            return set()
        document = json.loads(body)
        if not isinstance(document, dict):
            return set()
        values = [document.get(name) for name in GIVEN_OUT_AS]
        return {each for each in values if isinstance(each, str) and each.startswith(PREFIXES)}

    def _learn(self, secret: str) -> None:
        if len(secret) >= SHORTEST:
            self.secrets.add(secret)


@contextmanager
def logged(issued: Issued) -> Iterator[None]:
    """Record every line that is logged during the block, as the line is before its secrets are hidden."""

    def keep(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> Any:
        error = event.get("exc_info")
        told = "".join(traceback.format_exception(error)) if isinstance(error, Exception) else ""
        issued.lines.append(f"{dict(event)!r}\n{told}")
        return event

    # Change the list in place, because loggers keep a reference to it.
    processors = structlog.get_config()["processors"]
    processors.insert(0, keep)
    try:
        yield
    finally:
        processors.remove(keep)
    issued.search_logs()
