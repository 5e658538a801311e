"""A user's own server, which `bench drive` puts under load.

This module uses only the server's API: it creates a destination and a rule, and deletes them afterwards.
"""

import ipaddress
import socket
import ssl
import sys
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from bench.programs import call

CONSENT = "--i-own-this-server"


class RefusedError(Exception):
    """The run is not allowed or cannot begin; the message says what to change."""


def loopback(url: str) -> bool:
    """Return True if every address of a URL's host is this machine's own. Raises RefusedError if the host
    has no address."""
    host = urlsplit(url).hostname or ""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise RefusedError(f"The host of {url} has no address: {error}") from None
    return all(ipaddress.ip_address(each[4][0]).is_loopback for each in found)


class OwnServer:
    """A user's server. During the `with` block, it has a destination at `hook` for events of one type."""

    def __init__(
        self,
        url: str,
        key: str,
        hook: str,
        event_type: str,
        concurrency: int,
        trust: ssl.SSLContext | None = None,
    ) -> None:
        self.url, self.key, self._trust = url.rstrip("/"), key, trust
        self._hook, self._type, self._concurrency = hook, event_type, concurrency
        self._rule = self._destination = ""
        self.environment = ""

    def __enter__(self) -> Self:
        """Create the destination and its rule.

        Raises RefusedError if the key does not have the scope `manage`, if the server refuses a request,
        or if other destinations would get the events, too.
        """
        context = self._api("GET", "/auth/context")
        if context.get("scope") != "manage" or context.get("kind") != "API_KEY":
            raise RefusedError(
                "The key is not an API key with scope manage. Create one for this run."
            )
        self.environment = str(context["environment"])
        try:
            self._set_up()
        except BaseException:
            self._take_away()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._take_away()

    def _set_up(self) -> None:
        delivery = {"concurrency": self._concurrency, "retrySchedule": [1, 2, 5]}
        draft = {"name": "python -m bench drive", "url": self._hook, "delivery": delivery}
        self._destination = self._api("POST", "/destinations", draft)["id"]
        rule = {"name": "python -m bench drive", "destinationId": self._destination}
        made = self._api("POST", "/routing-rules", {**rule, "eventTypes": [self._type]})
        self._rule = made["id"]
        event = {"eventType": self._type, "payload": {"n": 0, "sentAt": 0}}
        shown = self._api("POST", "/routing-rules/preview", {"event": event})
        others = [
            each["destinationId"]
            for each in shown["destinations"]
            if each["destinationId"] != self._destination
        ]
        if others:
            raise RefusedError(
                f"Events of type {self._type} would also go to {len(others)} other destinations, "
                f"such as {others[0]}. Choose another --event-type."
            )

    def _take_away(self) -> None:
        """Delete the rule and the destination. If a deletion fails, print a message instead of raising:
        an exception would lose the figures of the run."""
        for kind, identifier in (
            ("routing-rules", self._rule),
            ("destinations", self._destination),
        ):
            if not identifier:
                continue
            try:
                self._api("DELETE", f"/{kind}/{identifier}")
            except RefusedError as error:
                sys.stderr.write(f"/{kind}/{identifier} is left. Delete it yourself. {error}\n")
        self._rule = self._destination = ""

    def _api(self, method: str, path: str, body: object = None) -> Any:
        try:
            return call(method, self.url + path, body, self.key, self._trust)
        except RuntimeError as error:
            raise RefusedError(f"The server refused: {error}") from None
        except (OSError, ValueError) as error:
            if isinstance(getattr(error, "reason", None), ssl.SSLCertVerificationError):
                raise RefusedError(
                    f"The certificate of {self.url} is from an untrusted authority, or for another "
                    f"name. Give the authority with --cacert FILE. {error}"
                ) from None
            raise RefusedError(f"{self.url} does not answer like Angarium: {error}") from None
