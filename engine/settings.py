"""Settings: frozen, validated, from `ANGARIUM_...` variables and flags; every number has its reason.

The description of a field is what `angarium serve --help` prints. Field `egress_allow` is read from
`ANGARIUM_EGRESS_ALLOW`, and so on.
"""

import re
from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from engine.core.destination import MOST_CONCURRENCY
from engine.model.hops import MOST as MOST_HOPS

PREFIX = "ANGARIUM_"
KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
LARGEST_SHARES = 0.95
_TEMPLATE = re.compile(r"[a-z][a-z0-9-]{0,31}")
_HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


class Settings(BaseModel):
    """All settings of one server process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bind: str = Field(
        "127.0.0.1:8080",
        description="address and port to listen on; only this machine, until you say otherwise."
        " [::]:8080 is every address of both families",
    )
    data_dir: Path = Field(Path("data"), description="embedded database, master key and files")
    database_url: str | None = Field(None, description="PostgreSQL 15+ of your own; none: embedded")
    master_key: str | None = Field(
        None,
        description="base64 of 32 bytes that encrypt secrets at rest, older ones after a comma; "
        "none: made in the data dir",
    )
    master_key_file: Path | None = Field(
        None,
        description="the same in a file, a key a line: `angarium master-key rotate` can then replace"
        " it while the server runs; none: master.key in the data dir",
    )
    tls_cert: Path | None = Field(
        None,
        description="certificate chain (PEM); with it the door speaks TLS. Read again when the file"
        " changes, and at SIGHUP",
    )
    tls_key: Path | None = Field(None, description="private key (PEM) of the certificate")
    operations_bind: str | None = Field(
        None,
        description="address and port of a listener for whoever operates the process: /livez, /readyz"
        " and /process without a credential, so keep it private; none: off",
    )
    egress_allow: tuple[IPv4Network | IPv6Network, ...] = Field(
        (), description="CIDRs, comma separated, that receivers may live in although not public"
    )
    shutdown_grace: float = Field(
        25.0,
        ge=0,
        description="seconds to finish what is in flight at SIGTERM; below the 30 s after which many "
        "process managers kill",
    )
    control_rate_limit: int | None = Field(
        None, ge=1, description="control-plane requests a minute; none: by plan"
    )
    ingest_rate_limit: int | None = Field(
        None, ge=1, description="ingestion requests a minute; none: by plan"
    )
    retention_days: int | None = Field(
        None,
        ge=1,
        le=3_650,
        description="days that events and deliveries are shown; none: by plan. What is unsettled is kept",
    )
    plans_file: Path | None = Field(
        None, description="TOML that changes the plans and adds others; none: free, pro and scale"
    )
    templates_dir: Path | None = Field(
        None, description="folder of destination templates (TOML) of your own, beside ours"
    )
    template_hosts: tuple[tuple[str, str], ...] = Field(
        (),
        description="TEMPLATE=HOST[:PORT], comma separated: where else a template may "
        "send to, by http too, such as slack=proxy.internal:8443",
    )
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s?#]+$",
        description="where receivers reach this server, for files' signed URLs; none: where it listens",
    )
    portal_url: str | None = Field(
        None,
        pattern="^https?://[^\\s#]+$",
        description="where the portal for end-customers is; embed sessions are given out as links to it",
    )
    hop_limit: int = Field(
        8,
        ge=1,
        le=MOST_HOPS - 1,
        description="deliveries of this service that may lie before an event, one behind another: chains"
        " of services are two or three long, and a loop doubles with each hop where two rules feed it",
    )
    log_format: str = Field(
        "auto", pattern="^(auto|console|json)$", description="console on a terminal, else json"
    )
    log_level: str = Field(
        "info", pattern="^(debug|info|warning|error)$", description="least level that is logged"
    )

    loop_step: float = Field(
        0.05,
        gt=0,
        description="seconds that nobody else is served, past which the log says what was done and for"
        " whom; no work that depends on input takes half as long",
    )

    # --- bounds of the intake: what waits before a commit costs memory, and nobody waits gladly
    intake_events: int = Field(
        20_000,
        ge=1,
        description="events that may wait for their commit (1 s at full rate); beside others a"
        " tenant's large batches in a line of their own, of the same bounds",
    )
    intake_bytes: int = Field(
        64 * MIB, ge=MIB, description="bytes of events that may wait for their commit"
    )
    group_events: int = Field(1_000, ge=1, description="events in one commit; larger is no cheaper")
    group_bytes: int = Field(
        8 * MIB, ge=MIB, description="bytes in one commit, so that it stays below 100 ms"
    )
    body_bytes: int = Field(
        128 * MIB,
        ge=MIB,
        description="bytes of request bodies being read, of all callers; past it 503",
    )
    body_bytes_workspace: int = Field(
        32 * MIB, ge=MIB, description="the same of one workspace, so that none takes it all"
    )

    answer_bytes: int = Field(
        64 * MIB,
        ge=4 * MIB,
        description="bytes of answers that clients have not taken yet, 32 of the largest, of all callers;"
        " a workspace, a customer or an unknown address has no more than it leaves free; past it 503",
    )

    # --- what one workspace's requests to the control plane may do at once; more of them wait
    control_requests: int = Field(
        256,
        ge=8,
        description="requests to the control plane that are worked on at once, of all callers; each costs"
        " some 100 KB. A workspace, a customer or an unknown address has no more than it leaves free",
    )
    control_reads_workspace: int = Field(
        2,
        ge=1,
        description="GET requests of a workspace that are worked on at once: half of the connections that"
        " the log is read with; some milliseconds each",
    )
    control_writes_workspace: int = Field(
        4,
        ge=1,
        description="the same of changes, which are made one after another: a few, so that a workspace"
        " that changes without end waits for itself",
    )
    control_outward_workspace: int = Field(
        16,
        ge=1,
        description="the same of tests of destinations and trials of scripts, which wait for a receiver"
        " or a worker, up to 60 s",
    )

    # --- files
    file_store: str | None = Field(
        None,
        pattern=r"^s3://[^/?#\s]+(/[^?#\s]*)?(\?[^#\s]*)?$",
        description="where files are: s3://BUCKET/PREFIX?region=...&endpoint=..., credentials from the"
        " AWS_* variables; none: in the data dir",
    )
    file_url_lifetime: float = Field(
        86_400.0,
        ge=60,
        le=30 * 86_400,
        description="seconds that a file's signed URL is valid: a day, for receivers that queue what they"
        " get; each attempt brings a new one",
    )
    file_spool_bytes: int = Field(
        2 * GIB,
        ge=32 * MIB,
        description="bytes on disk of files being received: 80 of the largest; past it 503",
    )
    file_spool_bytes_workspace: int = Field(
        GIB, ge=32 * MIB, description="the same of one workspace, so that none takes it all"
    )
    file_disk_reserve: int = Field(
        512 * MIB,
        ge=0,
        description="bytes of the data dir's disk that files leave free, for the database; past it 503",
    )

    # --- bounds of delivery
    actor_deliveries: int = Field(
        4_096,
        ge=1,
        description="deliveries a destination holds in memory, four large groups; the rest wait in"
        " PostgreSQL",
    )
    actor_bytes: int = Field(
        8 * MIB, ge=1, description="bytes of payload a destination holds in memory"
    )
    engine_deliveries: int = Field(
        50_000,
        ge=1,
        description="deliveries in memory over all destinations; of a workspace four fifths at most",
    )
    engine_bytes: int = Field(
        128 * MIB,
        ge=1,
        description="bytes of payload in memory over all destinations; of a workspace four fifths at"
        " most",
    )
    passivate_after: float = Field(
        30.0, gt=0, description="idle seconds until a destination's actor leaves memory"
    )
    max_in_flight: int = Field(
        10_000,
        ge=1,
        description="attempts in flight over all destinations, of a workspace four fifths at most; each"
        " costs about 10 KB",
    )
    auto_concurrency_max: int = Field(
        MOST_CONCURRENCY,
        ge=1,
        le=MOST_CONCURRENCY,
        description="attempts in flight at most to a destination whose concurrency is `auto`; as many as"
        " a fixed one may be",
    )
    settle_group: int = Field(
        1_000, ge=1, description="outcomes in one commit; larger is no cheaper"
    )
    descriptor_share_inbound: float = Field(
        0.45,
        gt=0,
        lt=1,
        description="share of the descriptor limit for clients; a tenth is kept in reserve",
    )
    transform_workers: int = Field(
        2,
        ge=1,
        le=64,
        description="processes that run transform scripts, started when there is one to run; half of "
        "them, at least one, take new and slow scripts, so that from two on quick ones do not wait",
    )
    descriptor_share_outbound: float = Field(
        0.45, gt=0, lt=1, description="share of the descriptor limit for receivers"
    )

    openings: int = Field(
        512,
        ge=1,
        description="connections to receivers that are being made at once, TLS handshakes too; of one"
        " workspace at most as many as are left",
    )
    openings_destination: int = Field(
        16,
        ge=1,
        description="the same of one destination, whose other attempts wait: what a receiver that has"
        " just come back is met with",
    )

    @field_validator("egress_allow", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            [part.strip() for part in value.split(",") if part.strip()]
            if isinstance(value, str)
            else value
        )

    @field_validator("template_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [part.strip().partition("=") for part in value.split(",") if part.strip()]
        if not all(_TEMPLATE.fullmatch(name) and _HOST.fullmatch(host) for name, _, host in pairs):
            raise ValueError("must be TEMPLATE=HOST or TEMPLATE=HOST:PORT, comma separated")
        return tuple((name, host.lower()) for name, _, host in pairs)

    @field_validator("bind", "operations_bind")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        if value is not None:
            _address(value)
        return value

    @model_validator(mode="after")
    def _belong_together(self) -> "Settings":
        if (self.tls_cert is None) is not (self.tls_key is None):
            raise ValueError("tls_cert and tls_key are needed together")
        if self.descriptor_share_inbound + self.descriptor_share_outbound > LARGEST_SHARES:
            raise ValueError("the descriptor shares leave nothing for the database and files")
        return self

    @property
    def address(self) -> tuple[str, int]:
        """The host and port of `bind`; an IPv6 host without its brackets."""
        return _address(self.bind)

    @property
    def listening(self) -> dict[str, tuple[str, int]]:
        """The hosts and ports that the server listens on, by the setting that names each."""
        found = {"bind": self.address}
        if self.operations_bind is not None:
            found["operations_bind"] = _address(self.operations_bind)
        return found

    @classmethod
    def from_environment(cls, variables: Mapping[str, str], **flags: object) -> "Settings":
        """Read `ANGARIUM_...` variables; flags that are not None win. Raises pydantic.ValidationError."""
        values: dict[str, object] = {
            name: variables[PREFIX + name.upper()]
            for name in cls.model_fields
            if variables.get(PREFIX + name.upper())
        }
        values.update({name: value for name, value in flags.items() if value is not None})
        return cls.model_validate(values)


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise ValueError("must be ADDRESS:PORT, such as 127.0.0.1:8080 or [::]:8080")
    bare = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if bare != "localhost":
        ip_address(bare)  # a ValueError of its own that says so
    return bare, int(port)
