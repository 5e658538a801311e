"""The address of a template: it makes the URL and headers of requests, and checks the URL's host."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from engine.core.destination import Target
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.model.headers import MASK
from engine.templates.language import LeafError
from engine.templates.structure import Structure
from engine.wire.target import parse_target

HTTP_PORT, HTTPS_PORT = 80, 443
_PARAMETER = re.compile(r"\{\{ config\.(\w+) \}\}")
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:[/?]|$)", re.IGNORECASE)  # `/./` and `/../`, also escaped
_PRINTABLE = re.compile(r"[\x20-\x7e]*")
_CONFIG = frozenset({"config", "omit"})


@dataclass(frozen=True, slots=True)
class Destined:
    """The target of requests. `url` and `headers` can contain secrets. `shown_url` is `url` with MASK in
    place of each secret."""

    url: str
    shown_url: str
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a template. Each method takes a configuration as made by
    `ConfigurationSchema.complete`.

    The URL is the result of the expression `base`, followed by `path`. The values of the parameters in
    `path` are percent-encoded. If `base` is None, the URL is the value of the configuration's field
    `field`. If `hosts` is None, any host is allowed.
    """

    field: str  # errors name this field of the configuration
    base: Structure | None
    path: str
    headers: Structure
    secrets: frozenset[str]
    hosts: tuple[str, ...] | None  # names, or *.name for all subdomains; only https at port 443
    pattern: re.Pattern[str] | None  # which path and query must match
    added: frozenset[str]  # hosts that the operator adds: name or name:port, also for http

    def target(self, config: Mapping[str, Any]) -> Destined:
        """Return the target of requests."""
        return Destined(self._url(config), self._shown(config), self._headers(config))

    def check(self, config: Mapping[str, Any]) -> None:
        """Raise Refusal `invalid_request` if the URL breaks the template's rules, or if a header's value
        is unusable. The refusal names a field of the configuration."""
        url = self._url(config)
        name = f"config.{self.field}"
        try:
            target = parse_target(url)
        except Refusal as refusal:
            raise invalid(name, refusal.message) from None
        if _DOTS.search(target.path.decode("ascii")):
            raise invalid(name, "a URL has no step such as /../")
        if not self._is_added(target):
            self._keep_to_rules(name, target)
        for value in dict(self._headers(config)).values():
            if _PRINTABLE.fullmatch(value) is None or value != value.strip():
                raise invalid(
                    f"config.{self._culprit(config, value)}", "does not fit into a header"
                )

    def _is_added(self, target: Target) -> bool:
        name = f"[{target.host}]" if ":" in target.host else target.host
        usual = target.port == (HTTPS_PORT if target.tls else HTTP_PORT)
        return f"{name}:{target.port}" in self.added or (usual and name in self.added)

    def _keep_to_rules(self, name: str, target: Target) -> None:
        if self.hosts is not None:
            if not target.tls:
                raise invalid(name, "must begin with https://")
            if target.port != HTTPS_PORT or not any(
                _is_of(target.host, host) for host in self.hosts
            ):
                raise invalid(name, f"must lead to {' or '.join(self.hosts)}")
        if self.pattern is not None and self.pattern.fullmatch(target.path.decode("ascii")) is None:
            raise invalid(name, "is not of the form that this service's URLs have")

    def _culprit(self, config: Mapping[str, Any], value: str) -> str:
        return next(
            (
                name
                for name, each in config.items()
                if isinstance(each, str) and each and each in value
            ),
            self.field,
        )

    def _url(self, config: Mapping[str, Any]) -> str:
        if self.base is None:
            return str(config[self.field] or "")
        return self._base(config) + _filled(self.path, config, frozenset())

    def _shown(self, config: Mapping[str, Any]) -> str:
        if self.base is not None:
            return self._base(config) + _filled(self.path, config, self.secrets)
        url = str(config[self.field] or "")
        if self.field not in self.secrets:
            return url
        origin = re.match(r"[A-Za-z]+://[^/?#\\]*", url)
        return f"{origin[0]}/{MASK}" if origin else MASK

    def _base(self, config: Mapping[str, Any]) -> str:
        assert self.base is not None
        return str(self.base.value({"config": config})).rstrip("/")

    def _headers(self, config: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
        return tuple(self.headers.value({"config": config}).items())


def address_of(
    entry: Mapping[str, Any], secrets: frozenset[str], fields: frozenset[str], added: frozenset[str]
) -> Address:
    """Return the address that a file describes. Raises LeafError."""
    for name in (entry["field"], *_PARAMETER.findall(entry["path"])):
        if name not in fields:
            raise LeafError(f"address: config has no {name}")
    if "{" in _PARAMETER.sub("", entry["path"]):
        raise LeafError("address.path: parameters are written {{ config.name }}")
    base, pattern, hosts = entry["base"], entry["pattern"], entry["hosts"]
    return Address(
        field=entry["field"],
        base=None if base is None else Structure(base, _CONFIG),
        path=entry["path"],
        headers=Structure(entry["headers"], _CONFIG),
        secrets=secrets,
        hosts=None if hosts is None else tuple(hosts),
        pattern=None if pattern is None else re.compile(pattern),
        added=added,
    )


def _is_of(host: str, allowed: str) -> bool:
    return host.endswith(allowed[1:]) if allowed.startswith("*.") else host == allowed


def _filled(path: str, config: Mapping[str, Any], masked: frozenset[str]) -> str:
    def value(parameter: re.Match[str]) -> str:
        name = parameter[1]
        if name in masked:
            return MASK
        return quote(str(config[name] or ""), safe=":@")  # a path can hold these unescaped

    return _PARAMETER.sub(value, path)
