"""The settings of a server: frozen, validated, from `ANGARIUM_...` variables and flags."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.core.destination import MOST_CONCURRENCY
from engine.model.egress_proxy import ProxyUrl
from engine.model.hops import MOST as MOST_HOPS
from engine.model.setting_values import (
    BearerKey,
    Bound,
    MachineName,
    Networks,
    Parts,
    TemplateHosts,
    Workers,
    check_peers,
    host_and_port,
)

PREFIX = "ANGARIUM_"
KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
LARGEST_SHARES = 0.95


class Settings(BaseModel):
    """All settings of one server process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bind: Bound = Field(
        "127.0.0.1:8080",
        description="address and port to listen on. The default accepts only this machine. [::]:8080 "
        "accepts all addresses of IPv4 and IPv6",
    )
    workers: Workers = Field(
        1, description="server processes behind one address. `auto`: one per core"
    )
    data_dir: Path = Field(
        Path("data"), description="folder of the embedded database, the master key and files"
    )
    database_url: str | None = Field(
        None, description="your own PostgreSQL 15 or newer. None: the embedded database"
    )
    master_key: str | None = Field(
        None,
        description="base64 of the 32 bytes that encrypt secrets at rest; older keys follow after "
        "commas. None: a key file in the data dir",
    )
    master_key_file: Path | None = Field(
        None,
        description="file with the master keys, one per line. `angarium master-key rotate` can "
        "replace them while the server runs. None: master.key in the data dir",
    )
    tls_cert: Path | None = Field(
        None,
        description="certificate chain (PEM). With it the server speaks TLS. The server reads it "
        "again when the file changes, and at SIGHUP",
    )
    tls_key: Path | None = Field(None, description="private key (PEM) of the certificate")
    trusted_proxies: Networks = Field(
        (),
        description="networks (CIDRs, separated by commas) of proxies whose X-Forwarded-For is believed",
    )
    operations_bind: Bound | None = Field(
        None,
        description="private address and port for /livez, /readyz, /process and /metrics. None: off",
    )
    operations_key: BearerKey | None = Field(
        None, description="key that /process and /metrics ask for, as a bearer token. None: no key"
    )
    peer_bind: Bound | None = Field(
        None,
        description="address and port for other servers on the same database. With it, servers share the "
        "work or stand by. None: a new server replaces the running one",
    )
    peer_advertise: str | None = Field(
        None, description="host and port where others reach peer_bind. None: peer_bind itself"
    )
    parts: Parts | None = Field(
        None,
        description="with peer_bind: number of parts that divide the workspaces. Each machine has "
        "a process per part. None: as stored; at the first start twice the workers, or 1 for 1",
    )
    node_name: MachineName | None = Field(
        None, description="name of this machine for other servers. None: the host's name"
    )
    egress_allow: Networks = Field(
        (),
        description="private networks (CIDRs, separated by commas) that Angarium can deliver to. None "
        "by default, because tenants choose the addresses",
    )
    egress_proxy: ProxyUrl | None = Field(
        None,
        description="http://user:password@host:port of a proxy (HTTP CONNECT). Requests to receivers "
        "then come from its address. Angarium still resolves and checks the receivers' addresses",
    )
    egress_ca: Path | None = Field(
        None,
        description="certificates (PEM) of receivers' authorities, in addition to the system's",
    )
    shutdown_grace: float = Field(
        25.0,
        ge=0,
        description="seconds to finish running attempts after SIGTERM. Many process managers kill "
        "a process after 30 s",
    )
    control_rate_limit: int | None = Field(
        None,
        ge=1,
        description="control-plane requests per minute of each workspace. None: the plan decides",
    )
    ingest_rate_limit: int | None = Field(
        None,
        ge=1,
        description="ingestion requests per minute of each workspace. None: the plan decides",
    )
    retention_days: int | None = Field(
        None,
        ge=1,
        le=3_650,
        description="days that events and deliveries stay visible. None: the plan decides. Unsettled "
        "deliveries are always kept",
    )
    plans_file: Path | None = Field(
        None, description="TOML file that changes or adds plans. None: free, pro and scale"
    )
    templates_dir: Path | None = Field(
        None,
        description="folder of your own destination templates (TOML), beside the built-in ones",
    )
    template_hosts: TemplateHosts = Field(
        (),
        description="additional hosts for templates, also by http: TEMPLATE=HOST[:PORT], separated by "
        "commas, such as slack=proxy.internal:8443",
    )
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^\s?#]+$",
        description="address of this server in the signed URLs of files and in links to the portal. "
        "None: the listening address",
    )
    portal_url: str | None = Field(
        None,
        pattern="^https?://[^\\s#]+$",
        description="address of your own portal for your customers. Links to embed sessions begin "
        "with it. None: this server's /portal/{workspaceId}",
    )
    hop_limit: int = Field(
        8,
        ge=1,
        le=MOST_HOPS - 1,
        description="most deliveries by this service in one chain of events. An event beyond them is "
        "refused as a loop, because each hop can double the number of events. Real chains have two "
        "or three",
    )
    log_format: str = Field(
        "auto",
        pattern="^(auto|console|json)$",
        description="console or json. auto: console on a terminal, otherwise json",
    )
    log_level: str = Field(
        "info", pattern="^(debug|info|warning|error)$", description="lowest level that is logged"
    )
    traces_sample: float | None = Field(
        None,
        ge=0,
        le=1,
        description="share (0 to 1) of the requests without a trace for which a new trace begins. "
        "Sampled traces that requests bring are always continued. None: no spans",
    )
    traces_rate: float = Field(
        1000.0, ge=1, description="most spans a second of one server; workspaces take turns"
    )
    loop_step: float = Field(
        0.05,
        gt=0,
        description="seconds that one step of the event loop can take before the log reports it. "
        "Normal work takes less than half of the default",
    )

    # --- bounds of the intake, because waiting events cost memory and time
    intake_events: int = Field(
        20_000,
        ge=1,
        description="events that can wait for their commit: 1 s at full rate. While others are "
        "active, a tenant's large batches wait in a second queue of the same size",
    )
    intake_bytes: int = Field(
        64 * MIB,
        ge=MIB,
        description="bytes of events that can wait for their commit, to bound memory",
    )
    group_events: int = Field(
        1_000, ge=1, description="most events in one commit. Larger groups cost as much per event"
    )
    group_bytes: int = Field(
        8 * MIB,
        ge=MIB,
        description="most bytes in one commit. The default keeps a commit below 100 ms",
    )
    body_bytes: int = Field(
        128 * MIB,
        ge=MIB,
        description="bytes of request bodies that are being read, of all callers, to bound memory. "
        "Beyond it the answer is 503",
    )
    body_bytes_workspace: int = Field(
        32 * MIB,
        ge=MIB,
        description="bytes of request bodies that are being read, of one workspace. The default "
        "leaves most to others",
    )

    answer_bytes: int = Field(
        64 * MIB,
        ge=4 * MIB,
        description="bytes of answers that clients have not read, of all callers: room for 32 of the "
        "largest answers. A workspace, customer or unknown address can use at most as much "
        "as it leaves free. Beyond it the answer is 503",
    )

    # --- concurrent requests to the control plane; further requests wait
    control_requests: int = Field(
        256,
        ge=8,
        description="control-plane requests at once, of all callers. Each takes some 100 KB. A "
        "workspace, customer or unknown address can use at most as many as it leaves free",
    )
    control_reads_workspace: int = Field(
        2,
        ge=1,
        description="GET requests of one workspace at once. The default is half of the connections "
        "that read the log. Further requests wait",
    )
    control_writes_workspace: int = Field(
        4,
        ge=1,
        description="changes of one workspace at once. They run one after another, so a few are "
        "enough. Further requests wait",
    )
    control_outward_workspace: int = Field(
        16,
        ge=1,
        description="tests of destinations, trial runs of scripts and downloads of files of one "
        "workspace at once. Each can wait up to 60 s for a receiver, worker or file store",
    )

    # --- files
    file_store: str | None = Field(
        None,
        pattern=r"^s3://[^/?#\s]+(/[^?#\s]*)?(\?[^#\s]*)?$",
        description="store for files: s3://BUCKET/PREFIX?region=...&endpoint=..., with credentials "
        "from the AWS_* variables. None: the data dir",
    )
    file_url_lifetime: float = Field(
        86_400.0,
        ge=60,
        le=30 * 86_400,
        description="seconds that a file's signed URL is valid. The default, a day, suits receivers "
        "that queue webhooks. Each attempt brings a new URL",
    )
    file_spool_bytes: int = Field(
        2 * GIB,
        ge=32 * MIB,
        description="bytes on disk of files that are being received: room for 80 of the largest. Beyond "
        "it the answer is 503",
    )
    file_spool_bytes_workspace: int = Field(
        GIB,
        ge=32 * MIB,
        description="bytes on disk of files that are being received, of one workspace. The default "
        "leaves half to others",
    )
    file_disk_reserve: int = Field(
        512 * MIB,
        ge=0,
        description="bytes of the data dir's disk that files leave free for the database. Below it "
        "the answer is 503",
    )

    # --- bounds of delivery
    actor_deliveries: int = Field(
        4_096,
        ge=1,
        description="deliveries of one destination in memory. The default is four large groups. The "
        "rest waits in PostgreSQL",
    )
    actor_bytes: int = Field(
        8 * MIB,
        ge=1,
        description="bytes of payload of one destination in memory. The rest waits in PostgreSQL",
    )
    engine_deliveries: int = Field(
        50_000,
        ge=1,
        description="deliveries in memory, of all destinations. One workspace has at most four fifths",
    )
    engine_bytes: int = Field(
        128 * MIB,
        ge=1,
        description="bytes of payload in memory, of all destinations. One workspace has at most four "
        "fifths",
    )
    passivate_after: float = Field(
        30.0, gt=0, description="seconds until an idle destination's actor leaves memory"
    )
    max_in_flight: int = Field(
        10_000,
        ge=1,
        description="attempts in flight, to all destinations. Each takes about 10 KB. One workspace "
        "has at most four fifths",
    )
    auto_concurrency_max: int = Field(
        MOST_CONCURRENCY,
        ge=1,
        le=MOST_CONCURRENCY,
        description="most attempts in flight to a destination whose concurrency is `auto`. The "
        "default is the limit of a fixed concurrency",
    )
    settle_group: int = Field(
        1_000, ge=1, description="most outcomes in one commit. Larger groups cost as much each"
    )
    descriptor_share_inbound: float = Field(
        0.45,
        gt=0,
        lt=1,
        description="share of the file descriptors for clients. With the default of the outbound "
        "share, a tenth remains for the database and files",
    )
    transform_workers: int = Field(
        2,
        ge=1,
        le=64,
        description="processes that run transform scripts, started on demand. Half of them, at least "
        "one, run new and slow scripts. With two or more, quick scripts do not wait for "
        "slow ones",
    )
    descriptor_share_outbound: float = Field(
        0.45, gt=0, lt=1, description="share of the file descriptors for connections to receivers"
    )
    openings: int = Field(
        512,
        ge=1,
        description="connections to receivers that are being opened at once, with their TLS "
        "handshakes. One workspace can use at most as many as it leaves free",
    )
    openings_destination: int = Field(
        16,
        ge=1,
        description="connections that are being opened to one destination at once, to protect a "
        "receiver that has just come back",
    )

    @model_validator(mode="after")
    def _belong_together(self) -> "Settings":
        if (self.tls_cert is None) is not (self.tls_key is None):
            raise ValueError("tls_cert and tls_key are needed together")
        if self.peer_bind is not None:
            tls, own_database = self.tls_cert is not None, self.database_url is not None
            check_peers(self.peer_bind, self.peer_advertise, tls=tls, own_database=own_database)
        if self.descriptor_share_inbound + self.descriptor_share_outbound > LARGEST_SHARES:
            raise ValueError("the descriptor shares leave nothing for the database and files")
        return self

    @property
    def address(self) -> tuple[str, int]:
        """The host and port of `bind`; an IPv6 host without its brackets."""
        return host_and_port(self.bind)

    @property
    def listening(self) -> dict[str, tuple[str, int]]:
        """The hosts and ports that the server listens on, by the name of the setting."""
        found = {"bind": self.bind, "operations_bind": self.operations_bind}
        found["peer_bind"] = self.peer_bind
        return {name: host_and_port(bind) for name, bind in found.items() if bind is not None}

    @property
    def peer_address(self) -> str | None:
        """The address for other servers; None without `peer_bind`."""
        return None if self.peer_bind is None else self.peer_advertise or self.peer_bind

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
