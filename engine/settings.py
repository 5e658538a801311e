"""Settings: frozen, validated, from `ANGARIUM_...` variables and flags; every number has its reason.

The description of a field is what `angarium serve --help` prints. Field `egress_allow` is read from
`ANGARIUM_EGRESS_ALLOW`, and so on.
"""

from collections.abc import Mapping
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

PREFIX = "ANGARIUM_"
KIB = 1024
MIB = 1024 * KIB


class Settings(BaseModel):
    """All settings of one server process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bind: str = Field("127.0.0.1:8080", description="address and port to listen on")
    data_dir: Path = Field(Path("data"), description="embedded database, master key and files")
    database_url: str | None = Field(None, description="PostgreSQL 15+ of your own; none: embedded")
    master_key: str | None = Field(
        None,
        description="base64 of 32 bytes that encrypt secrets at rest; none: made in the data dir",
    )
    tls_cert: Path | None = Field(
        None, description="certificate chain (PEM); with it the door speaks TLS"
    )
    tls_key: Path | None = Field(None, description="private key (PEM) of the certificate")
    egress_allow: tuple[IPv4Network | IPv6Network, ...] = Field(
        (), description="CIDRs, comma separated, that receivers may live in although not public"
    )
    shutdown_grace: float = Field(
        25.0, ge=0, description="seconds to finish what is in flight at SIGTERM"
    )
    control_rate_limit: int | None = Field(
        None, ge=1, description="control-plane requests a minute; none: by plan"
    )
    ingest_rate_limit: int | None = Field(
        None, ge=1, description="ingestion requests a minute; none: by plan"
    )
    retention_days: int = Field(30, ge=1, description="days that events and deliveries are kept")
    log_format: str = Field(
        "auto", pattern="^(auto|console|json)$", description="console on a terminal, else json"
    )
    log_level: str = Field(
        "info", pattern="^(debug|info|warning|error)$", description="least level that is logged"
    )

    # --- bounds of the intake: what waits before a commit costs memory, and nobody waits gladly
    intake_events: int = Field(
        20_000, ge=1, description="events that may wait for their commit (1 s at full rate)"
    )
    intake_bytes: int = Field(
        64 * MIB, ge=MIB, description="bytes of events that may wait for their commit"
    )
    group_events: int = Field(1_000, ge=1, description="events in one commit; larger is no cheaper")
    group_bytes: int = Field(
        8 * MIB, ge=MIB, description="bytes in one commit, so that it stays below 100 ms"
    )
    body_bytes: int = Field(
        128 * MIB, ge=MIB, description="request bodies being read, of all callers"
    )
    body_bytes_workspace: int = Field(32 * MIB, ge=MIB, description="the same of one workspace")

    # --- bounds of delivery
    actor_deliveries: int = Field(
        512,
        ge=1,
        description="deliveries a destination holds in memory; the rest wait in PostgreSQL",
    )
    actor_bytes: int = Field(
        4 * MIB, ge=1, description="bytes of payload a destination holds in memory"
    )
    engine_deliveries: int = Field(
        50_000, ge=1, description="deliveries in memory over all destinations"
    )
    engine_bytes: int = Field(
        128 * MIB, ge=1, description="bytes of payload in memory over all destinations"
    )
    passivate_after: float = Field(
        30.0, gt=0, description="idle seconds until a destination's actor leaves memory"
    )
    settle_group: int = Field(1_000, ge=1, description="outcomes in one commit")
    descriptor_share_inbound: float = Field(
        0.45, gt=0, lt=1, description="share of the descriptor limit for clients"
    )
    descriptor_share_outbound: float = Field(
        0.45, gt=0, lt=1, description="share of the descriptor limit for receivers"
    )

    @field_validator("egress_allow", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return (
            [part.strip() for part in value.split(",") if part.strip()]
            if isinstance(value, str)
            else value
        )

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
