"""Commands on a workspace's settings: the portal's look, allowed origins, and what customers may do."""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Annotated, Any

from msgspec import structs
from pydantic import AfterValidator, Field, StringConstraints

from engine.control.audit import Principal, differences
from engine.control.commands import written
from engine.control.ports import SettingsStore
from engine.control.writer import ConfigurationWriter
from engine.drafts import Document, NullIs, patch_of
from engine.model.documents import invalid, merged, read
from engine.model.errors import Refusal
from engine.model.quotas import Ability, WorkspaceSettings
from engine.wire.target import parse_target

MAX_ORIGINS = (
    50  # per workspace: more than a portal in each environment and each customer's own domain
)
MAX_ORIGIN_LENGTH = 300  # a name in DNS has 253
BRAND_LENGTH = 100  # fits a heading
URL_LENGTH = 2_048  # as a destination's
LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})  # http is allowed for these
PORTS = {"https": 443, "http": 80}  # the default ports, which browsers leave out
MAX_PORT = 65_535
_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(\[[^\]/?#@]*\]|[^\[\]/?#@:]+)(?::([0-9]{1,5}))?")
_NAME = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_NAME_LENGTH = 253  # of a name in DNS


def _web_address(text: str) -> str:
    try:
        target = parse_target(text)
    except Refusal as refusal:
        raise ValueError(refusal.message.partition(": ")[2] or refusal.message) from None
    if not target.tls:
        raise ValueError("must begin with https://")
    return text


def normalised(text: str) -> str:
    """Return an origin as browsers write it. Raises ValueError, with a text for users."""
    found = _SHAPE.fullmatch(text)
    if found is None:
        raise ValueError(
            "must be scheme://host or scheme://host:port, such as https://app.example.com, without "
            "a path and without *"
        )
    scheme, host = found[1].lower(), _host(found[2])
    if scheme not in PORTS:
        raise ValueError("the scheme must be https")
    if scheme == "http" and host not in LOCAL:
        raise ValueError("http is for localhost and 127.0.0.1 only: write https")
    if found[3] is None:
        return f"{scheme}://{host}"
    port = int(found[3])
    if not 1 <= port <= MAX_PORT:
        raise ValueError("the port must be 1-65535")
    return f"{scheme}://{host}" if port == PORTS[scheme] else f"{scheme}://{host}:{port}"


def _host(text: str) -> str:
    if not text.isascii():
        raise ValueError("write the host as browsers send it, in ASCII: xn--...")
    host = text.lower()
    if host.startswith("["):
        return f"[{_address(host[1:-1], 6)}]"
    if host.rpartition(".")[2].isdigit():
        return _address(host, 4)
    if len(host) > _NAME_LENGTH or _NAME.fullmatch(host) is None:
        raise ValueError("the host must be a name or an address, and no pattern")
    return host


def _address(text: str, version: int) -> str:
    try:
        address = ip_address(text)
    except ValueError:
        address = None
    if address is None or address.version != version or "%" in text:
        raise ValueError("the host looks like an address but is not one") from None
    return address.compressed


HttpsUrl = Annotated[
    str,
    StringConstraints(max_length=URL_LENGTH),
    AfterValidator(_web_address),
    Field(json_schema_extra={"pattern": "^[Hh][Tt][Tt][Pp][Ss]://."}),
]
Color = Annotated[str, StringConstraints(pattern="^#[0-9a-fA-F]{6}$", to_lower=True)]
# A language tag (BCP 47) that `Intl` in browsers accepts: language, script, region and variants, without
# extensions.
Locale = Annotated[
    str,
    StringConstraints(
        pattern="^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-[A-Za-z0-9]{5,8})*$",
        max_length=35,
    ),
]
AllowedOrigin = Annotated[
    str,
    StringConstraints(max_length=MAX_ORIGIN_LENGTH),
    AfterValidator(normalised),
    Field(json_schema_extra={"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@*]+$"}),
]


class BrandColors(Document):
    """Colours as #rrggbb. Null: the portal uses its own colour."""

    primary: Color | None = None
    accent: Color | None = None
    background: Color | None = None
    text: Color | None = None


class Branding(Document):
    """The look of a portal. Null: the portal uses its own default."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=BRAND_LENGTH)] | None = None
    logo_url: HttpsUrl | None = Field(None, description="The address of the logo; https only.")
    colors: Annotated[BrandColors, NullIs({})] = Field(default_factory=BrandColors)
    locale: Locale | None = Field(None, description="BCP 47, such as `en`, `de-CH`, `zh-Hant-TW`.")
    support_url: HttpsUrl | None = Field(
        None, description="A page where customers find help; https only."
    )


Permitted = Annotated[bool, NullIs(True)]


class CustomerMay(Document):
    """The abilities of embed sessions within their customer's account. The default of each is true."""

    # one field for each Ability, by its name

    create_destinations: Permitted = Field(True, description="Create destinations.")
    edit_destinations: Permitted = Field(
        True, description="Change a destination's name, description, URL and config."
    )
    switch_destinations: Permitted = Field(
        True, description="Enable, disable and resume destinations."
    )
    archive_destinations: Permitted = Field(True, description="Archive destinations.")
    test_destinations: Permitted = Field(True, description="Send a sample to a destination.")
    edit_headers: Permitted = Field(
        True, description="Set a destination's headers and authentication."
    )
    edit_delivery_options: Permitted = Field(
        True, description="Set a destination's `delivery`, `method` and `disableAfterSeconds`."
    )
    rotate_secrets: Permitted = Field(
        True, description="Rotate signing secrets, and change the algorithm."
    )
    manage_rules: Permitted = Field(
        True, description="Create, change, enable, disable and delete routing rules."
    )
    manage_transforms: Permitted = Field(
        True, description="Create, run, publish, unpublish and delete transform scripts."
    )
    retry_deliveries: Permitted = Field(
        True, description="Retry dead letters and waiting deliveries."
    )
    discard_deliveries: Permitted = Field(
        True, description="Discard dead letters, and cancel waiting deliveries."
    )
    replay: Permitted = Field(True, description="Start, change and cancel replay jobs.")
    view_payloads: Permitted = Field(
        True,
        description="See the contents of events, requests, responses and files, script output, and error "
        "texts. Without this ability they are null.",
    )


class SettingsDraft(Document):
    """A workspace's settings."""

    branding: Annotated[Branding, NullIs({})] = Field(default_factory=Branding)
    allowed_origins: Annotated[list[AllowedOrigin], NullIs([])] = Field(
        default_factory=list,
        max_length=MAX_ORIGINS,
        description="Origins whose pages can call the API: https, or http for localhost and 127.0.0.1.",
    )
    customer_may: Annotated[CustomerMay, NullIs({})] = Field(default_factory=CustomerMay)
    return_url: HttpsUrl | None = Field(
        None,
        description="The page that the portal links to as the way back; https only.",
    )


# This checks only the shape of a patch.
SettingsPatch = patch_of(
    SettingsDraft,
    "SettingsPatch",
    branding=patch_of(Branding, "BrandingPatch", colors=patch_of(BrandColors, "BrandColorsPatch")),
    customer_may=patch_of(CustomerMay, "CustomerMayPatch"),
)


def settings_document(settings: WorkspaceSettings) -> dict[str, Any]:
    """Return settings as callers see them."""
    return {
        "branding": branding_document(settings),
        "allowedOrigins": list(settings.origins),
        "customerMay": {ability.value: settings.allows(ability) for ability in Ability},
        "returnUrl": settings.return_url,
    }


def branding_document(settings: WorkspaceSettings) -> dict[str, Any]:
    """Return the look of a portal with all its members."""
    branding = Branding.model_validate(settings.branding or {})
    return branding.model_dump(mode="json", by_alias=True)


class SettingsCommands:
    """Writes the settings of all workspaces."""

    def __init__(self, store: SettingsStore, writer: ConfigurationWriter) -> None:
        self._store = store
        self._writer = writer

    async def update(self, principal: Principal, patch: Mapping[str, Any]) -> WorkspaceSettings:
        """Apply a merge patch; return the resulting version. Raises Refusal 400."""
        workspace = principal.workspace

        async def attempt() -> WorkspaceSettings | None:
            present = await self._store.get(workspace)
            following = self._patched(present, patch)
            if following is present:
                return present
            shown = differences(settings_document(present), settings_document(following))
            entry = self._writer.entry(principal, "workspace.update", workspace, shown)
            if not await written(self._store.replace(following, entry)):
                return None
            self._writer.projection.settings(following)
            return following

        return await self._writer.command("the workspace's settings", attempt)

    def _patched(self, present: WorkspaceSettings, patch: Mapping[str, Any]) -> WorkspaceSettings:
        draft = read(SettingsDraft, merged(settings_document(present), patch))
        document = draft.model_dump(mode="json", by_alias=True)
        if document == settings_document(present):
            return present
        origins = tuple(document["allowedOrigins"])
        if len(set(origins)) < len(origins):
            raise invalid("allowedOrigins", "an origin is listed twice")
        may = document["customerMay"]
        return structs.replace(
            present,
            version=present.version + 1,
            branding=document["branding"],
            origins=origins,
            denied=frozenset(ability for ability in Ability if not may[ability.value]),
            return_url=document["returnUrl"],
            updated_at_ms=self._writer.next_ms(present.updated_at_ms),
        )
