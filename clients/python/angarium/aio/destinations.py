"""The handwritten methods on destinations."""

from collections.abc import Mapping
from typing import Any

from angarium.aio.made.destinations import AsyncDestinations as Made
from angarium.calls import Call, body_of
from angarium.shapes import (
    BasicAuthentication,
    BearerAuthentication,
    ClientCredentialsAuthentication,
    DeliveryOptions,
    DestinationWithSecret,
    HttpMethod,
    MutualTlsAuthentication,
    SigningOptions,
)


class AsyncDestinations(Made):
    """The methods on destinations: their settings, secrets, tests and state."""

    async def create_from_template(
        self,
        template_id: str,
        name: str,
        config: Mapping[str, Any],
        *,
        description: str | None = None,
        customer_external_id: str | None = None,
        customer_account_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        method: HttpMethod | None = None,
        authentication: BasicAuthentication
        | BearerAuthentication
        | ClientCredentialsAuthentication
        | MutualTlsAuthentication
        | Mapping[str, Any]
        | None = None,
        delivery: DeliveryOptions | Mapping[str, Any] | None = None,
        signing: SigningOptions | Mapping[str, Any] | None = None,
        disable_after_seconds: int | None = None,
        secret: str | None = None,
    ) -> DestinationWithSecret:
        """Create a destination from a template of the catalog (`client.templates`). The template's
        `configSchema` describes `config`."""
        body = {
            "template_id": template_id,
            "name": name,
            "config": config,
            "description": description,
            "customer_external_id": customer_external_id,
            "customer_account_id": customer_account_id,
            "headers": headers,
            "method": method,
            "authentication": authentication,
            "disable_after_seconds": disable_after_seconds,
            "delivery": delivery,
            "signing": signing,
            "secret": secret,
        }
        return await self._send(Call("POST", "/destinations", body=body_of(body), repeatable=False))

    async def rotate_secret(
        self, destination_id: str, *, grace_seconds: int = 86_400
    ) -> DestinationWithSecret:
        """Make a new signing secret. The former secret also signs for `grace_seconds` more. Only this
        answer shows the new secret."""
        return await self.update(
            destination_id, {"rotateSecret": True, "graceSeconds": grace_seconds}
        )
