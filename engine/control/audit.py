"""The principal of a change, and the audit entry that records the change."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from engine.model.configuration import AuditEntry
from engine.model.identity import Identity
from engine.model.read_models import SessionCustomer
from engine.model.words import ActorKindName


class Principal(Struct, frozen=True, kw_only=True):
    """The author of a change: a key, an embed session, the command line, or the service itself.

    `environment` is the number of the environment that is changed, or None if the change concerns all
    environments.
    """

    kind: ActorKindName
    id: str  # the key's id; for an embed session the id of the customer's account
    workspace: str
    environment: int | None = None
    request_id: str | None = None
    customer: SessionCustomer | None = None

    def sees(self, account: str | None) -> bool:
        """Return True if this principal can see objects tied to `account` (None: tied to no account)."""
        return self.customer is None or self.customer.account == account


class Auditor:
    """The maker of audit entries."""

    def __init__(self, identity: Identity) -> None:
        self._identity = identity

    def entry(
        self,
        principal: Principal,
        action: str,
        object_id: str,
        changes: Mapping[str, Any] | None = None,
        previous_fingerprint: str | None = None,
    ) -> AuditEntry:
        """Return the entry of one action, such as `destination.update`."""
        return AuditEntry(
            id=self._identity.other(),
            workspace=principal.workspace,
            environment=principal.environment,
            action=action,
            object_type=action.partition(".")[0],
            object_id=object_id,
            actor_type=principal.kind,
            actor_id=principal.id,
            request_id=principal.request_id,
            changes=json.dumps(changes, ensure_ascii=False).encode() if changes else None,
            previous_fingerprint=previous_fingerprint,
        )


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return {field: {"from", "to"}} of the fields that differ, given two versions as the API shows
    them.
    """
    return {
        name: {"from": before.get(name), "to": after.get(name)}
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name) and name != "updatedAt"
    }
