"""The projection of committed configuration into the read models and the actors."""

from collections.abc import Callable, Collection

import structlog
import trio

from engine.control import templated
from engine.control.ports import Projection
from engine.core.destination import MOST_CONCURRENCY, Destination, Target
from engine.core.vocabulary import CredentialKind, DestinationStatus
from engine.model import authentication
from engine.model.configuration import DestinationRecord, KeyRecord, Tenant
from engine.model.errors import Refusal
from engine.model.headers import Headers
from engine.model.quotas import CustomerAccount, WorkspaceSettings
from engine.model.read_models import ActiveSchema, Credential, Models, RuleModel
from engine.schemas.checks import ActiveSchemas
from engine.templates.catalog import Catalog
from engine.wire.target import parse_target

log = structlog.get_logger("angarium.control")
NOWHERE = parse_target("https://destination.invalid/")  # a name that never resolves, RFC 2606


class ModelProjection(Projection):
    """Writes committed changes into a server's read models, and passes destinations to their actors.
    Only commands and the loader call the methods that change read models.
    """

    def __init__(
        self,
        models: Models,
        configure: Callable[[Destination], None],
        catalog: Catalog,
        most_concurrency: int = MOST_CONCURRENCY,
    ) -> None:
        """`configure` passes a destination to its actor."""
        self.most_concurrency = most_concurrency
        self._models = models
        self._catalog = catalog
        self._configure = configure
        self._keys: set[str] = set()
        self.mcp_key_known = trio.Event()  # set by the first MCP key: agents can connect
        self._schemas = ActiveSchemas(models)

    def destination_version(self, destination: str) -> int:
        present = self._models.destinations.get(destination)
        return 0 if present is None else present.version

    def rule_version(self, rule: str) -> int:
        present = self._models.rules.get(rule)
        return 0 if present is None else present.version

    def tenant(self, tenant: Tenant) -> None:
        self._models.put_workspace(tenant.workspace, tenant.environments)

    def key(self, key: KeyRecord) -> None:
        """Accept exactly the secrets of this version of the key."""
        self._models.put_key(key.id, self._credentials(key))
        if key.secrets:
            self._keys.add(key.id)
            if key.kind is CredentialKind.MCP_KEY:
                self.mcp_key_known.set()
        else:
            self._keys.discard(key.id)

    def _credentials(self, key: KeyRecord) -> dict[bytes, Credential]:
        environment = None
        if key.kind is CredentialKind.API_KEY:
            environment = self._models.environments.get(key.environment or 0)
            if environment is None:
                return {}  # without its environment a key gives no access
        return {
            secret.digest: Credential(
                kind=key.kind,
                key_id=key.id,
                workspace=key.workspace,
                environment=environment,
                scope=key.scope,
                expires_at=None if secret.expires_at_ms is None else secret.expires_at_ms / 1000,
            )
            for secret in key.secrets
        }

    def destination(self, record: DestinationRecord) -> None:
        """Put this version of a destination into the read models, and pass the version to the actor."""
        if self.destination_version(record.id) >= record.version:
            return
        environment = self._models.environments.get(record.environment)
        if environment is None:
            log.error(
                "destination.environment_missing",
                destination=record.id,
                environment=record.environment,
                effect="its events are not routed; a restart reads all rows again",
            )
            return
        destination = engine_view(
            record, environment.workspace, self._catalog, self.most_concurrency
        )
        self._configure(destination)
        # `put_destination` comes last. If `_configure` raises, the read models keep the former version.
        # So if the new version is read again, it passes the check above, and `_configure` is tried again.
        self._models.put_destination(destination)

    def rule(self, rule: RuleModel) -> None:
        if self.rule_version(rule.id) < rule.version:
            self._models.put_rule(rule)

    def rule_removed(self, rule: str) -> None:
        self._models.remove_rule(rule)

    def schema(self, environment: int, event_type: str, active: ActiveSchema | None) -> None:
        self._schemas.put(environment, event_type, active)

    def settings(self, settings: WorkspaceSettings) -> None:
        self._models.put_settings(settings)

    def customer(self, account: CustomerAccount) -> None:
        self._models.put_customer(account)

    def keys(self) -> Collection[str]:
        """Return the keys that this process accepts."""
        return self._keys

    def rules(self) -> Collection[str]:
        """Return the rules that this process routes by."""
        return self._models.rules

    def schema_types(self) -> Collection[tuple[int, str]]:
        """Return the environments and event types that this process checks against a schema."""
        return self._schemas.types

    def key_removed(self, key: str) -> None:
        """Accept none of a key's secrets."""
        self._models.put_key(key, {})
        self._keys.discard(key)


def engine_view(
    record: DestinationRecord,
    workspace: str,
    catalog: Catalog,
    most_concurrency: int = MOST_CONCURRENCY,
) -> Destination:
    """Return a destination as the engine sees it.

    A new release can make a stored destination invalid. For example, the rules for URLs can be stricter,
    the catalog can lack the template, or the template can refuse the stored configuration. Such a
    destination counts as disabled: its deliveries wait until the destination is changed.
    """
    status = record.status
    headers = record.headers
    try:
        target, headers = _receiver(record, catalog)
        headers += authentication.own_headers(record.authentication)
    except Refusal as refusal:
        # If the destination has a template, the log has only the names of the refused fields, and not the
        # refusal's message, because this message could quote a secret.
        reason = refusal.message if record.template is None else _places(refusal)
        log.warning(
            "destination.unusable",
            destination=record.id,
            reason=reason,
            effect="its deliveries wait until its URL or configuration is changed",
        )
        target = NOWHERE
        if status is DestinationStatus.ACTIVE:
            status = DestinationStatus.DISABLED
    return Destination(
        id=record.id,
        environment=record.environment,
        workspace=workspace,
        version=record.version,
        status=status,
        name=record.name,
        url=record.url,
        target=target,
        headers=tuple((name.encode(), value.encode()) for name, value in headers),
        concurrency=most_concurrency if record.adapts else record.concurrency,
        adapts=record.adapts,
        ordering=record.ordering,
        timeout_ms=record.timeout_ms,
        rate_per_second=record.rate_per_second,
        dry_run=record.dry_run,
        retry_schedule_s=record.retry_schedule_s,
        signing=record.signing,
        customer=record.customer,
        customer_account=record.customer_account,
        transform=record.transform,
        template=record.template,
        method=record.method,
        authentication=authentication.per_attempt(record.authentication),
        disable_after_s=record.disable_after_s,
        enabled_version=record.enabled_version,
        moved_version=record.moved_version,
    )


def _receiver(record: DestinationRecord, catalog: Catalog) -> tuple[Target, Headers]:
    """Raises Refusal if the template can no longer be resolved."""
    if record.template is None:
        return parse_target(record.url), record.headers
    definition = templated.required(catalog, record.template.id)
    destined = templated.destined(definition, record.template)
    named = {name.lower() for name, _ in destined.headers}
    own = tuple(header for header in record.headers if header[0].lower() not in named)
    return parse_target(destined.url), (*own, *destined.headers)


def _places(refusal: Refusal) -> str:
    places = ", ".join(detail.path for detail in refusal.details)
    return f"the template does not take: {places}" if places else "the template does not take it"
