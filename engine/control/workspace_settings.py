"""Commands on a workspace's settings: what portals look like, whence they call, what customers may do."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import trio
from msgspec import structs
from pydantic import AfterValidator, Field, StringConstraints, create_model

from engine.control.actor import Actor, Auditor, differences
from engine.control.commands import Commands, written
from engine.control.documents import invalid, merged, read
from engine.control.drafts import Document, NullIs, patch_of
from engine.control.origins import normalised
from engine.control.ports import SettingsStore
from engine.control.projection import Projection
from engine.errors import Refusal
from engine.identity import Identity
from engine.wire.target import parse_target
from engine.workspace_settings import Ability, WorkspaceSettings

ATTEMPTS = 5  # as with destinations
MAX_ORIGINS = (
    50  # of a workspace: a portal in each environment, and each customer's own domain is more
)
MAX_ORIGIN_LENGTH = 300  # a name in DNS has 253
BRAND_LENGTH = 100  # fits a heading
URL_LENGTH = 2_048  # as a destination's


def _web_address(text: str) -> str:
    try:
        target = parse_target(text)
    except Refusal as refusal:
        raise ValueError(refusal.message.partition(": ")[2] or refusal.message) from None
    if not target.tls:
        raise ValueError("must begin with https://")
    return text


HttpsUrl = Annotated[
    str,
    StringConstraints(max_length=URL_LENGTH),
    AfterValidator(_web_address),
    Field(json_schema_extra={"pattern": "^[Hh][Tt][Tt][Pp][Ss]://."}),
]
Color = Annotated[str, StringConstraints(pattern="^#[0-9a-fA-F]{6}$", to_lower=True)]
# Language, script, region and variants of BCP 47, as browsers' Intl takes them: no extensions.
Locale = Annotated[
    str,
    StringConstraints(
        pattern="^[A-Za-z]{2,3}(-[A-Za-z]{4})?(-([A-Za-z]{2}|[0-9]{3}))?(-[A-Za-z0-9]{5,8})*$",
        max_length=35,
    ),
]
Origin = Annotated[
    str,
    StringConstraints(max_length=MAX_ORIGIN_LENGTH),
    AfterValidator(normalised),
    Field(json_schema_extra={"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@*]+$"}),
]


class BrandColors(Document):
    """Colours as #rrggbb; null leaves the portal its own."""

    primary: Color | None = None
    accent: Color | None = None
    background: Color | None = None
    text: Color | None = None


class Branding(Document):
    """What a portal looks like. What is null the portal decides."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=BRAND_LENGTH)] | None = None
    logo_url: HttpsUrl | None = Field(None, description="https only.")
    colors: Annotated[BrandColors, NullIs({})] = Field(default_factory=BrandColors)
    locale: Locale | None = Field(None, description="BCP 47, such as `en`, `de-CH`, `zh-Hant-TW`.")
    support_url: HttpsUrl | None = Field(None, description="Where customers find help; https only.")


_MEANINGS = {
    Ability.CREATE_DESTINATIONS: "Create destinations.",
    Ability.EDIT_DESTINATIONS: "Change a destination's name, description, URL and config.",
    Ability.SWITCH_DESTINATIONS: "Enable and disable destinations.",
    Ability.ARCHIVE_DESTINATIONS: "Archive destinations.",
    Ability.TEST_DESTINATIONS: "Send a sample to a destination.",
    Ability.EDIT_HEADERS: "Set a destination's headers, when it is made and later.",
    Ability.EDIT_DELIVERY_OPTIONS: "Set a destination's `delivery`, when it is made and later.",
    Ability.ROTATE_SECRETS: "Rotate signing secrets, and change the algorithm.",
    Ability.MANAGE_RULES: "Create, change, switch and delete routing rules.",
    Ability.MANAGE_TRANSFORMS: "Create, run, publish and withdraw transform scripts.",
    Ability.RETRY_DELIVERIES: "Retry what is in the DLQ.",
    Ability.DISCARD_DELIVERIES: "Discard what is in the DLQ.",
    Ability.REPLAY: "Start and cancel replay jobs.",
    Ability.VIEW_PAYLOADS: "See what events, requests and responses hold; else it is shown as null.",
}


def _permissions(name: str, doc: str) -> type[Document]:
    fields: dict[str, Any] = {
        ability.name.lower(): (
            Annotated[bool, NullIs(True)],
            Field(True, description=_MEANINGS[ability]),
        )
        for ability in Ability
    }
    model: type[Document] = create_model(name, __base__=Document, __doc__=doc, **fields)
    return model


CustomerMay = _permissions(
    "CustomerMay", "What embed sessions may do with what is their customer's. All, unless said."
)


class SettingsDraft(Document):
    """A workspace's settings."""

    branding: Annotated[Branding, NullIs({})] = Field(default_factory=Branding)
    allowed_origins: Annotated[list[Origin], NullIs([])] = Field(
        default_factory=list,
        max_length=MAX_ORIGINS,
        description="Origins that browsers may call from: https, or http for localhost and 127.0.0.1.",
    )
    customer_may: Annotated[CustomerMay, NullIs({})] = Field(  # type: ignore[valid-type]  # made at run time
        default_factory=CustomerMay
    )


# Their shape alone is judged; what they come to is judged as a draft, merged into what is there.
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
    }


def branding_document(settings: WorkspaceSettings) -> dict[str, Any]:
    """Return what a portal looks like, whole: null where nothing was said."""
    branding = Branding.model_validate(settings.branding or {})
    return branding.model_dump(mode="json", by_alias=True)


class SettingsOfWorkspaces:
    """The settings of all workspaces, written."""

    def __init__(
        self,
        store: SettingsStore,
        commands: Commands,
        projection: Projection,
        identity: Identity,
        now: Callable[[], float],
    ) -> None:
        self._store = store
        self._commands = commands
        self._projection = projection
        self._auditor = Auditor(identity)
        self._now = now

    async def update(self, actor: Actor, patch: Mapping[str, Any]) -> WorkspaceSettings:
        """Apply a merge patch; return the version that holds now. Raises Refusal 400."""
        workspace = actor.workspace

        async def command() -> WorkspaceSettings:
            for _ in range(ATTEMPTS):
                present = await self._store.get(workspace)
                following = self._patched(present, patch)
                if following is present:
                    return present
                shown = differences(settings_document(present), settings_document(following))
                entry = self._auditor.entry(actor, "workspace.update", workspace, shown)
                if await written(self._store.replace(following, entry)):
                    self._projection.settings(following)
                    return following
                await trio.lowlevel.checkpoint()
            raise Refusal("conflict", "the settings are being changed by others: try again")

        return await self._commands.run(command)

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
            updated_at_ms=max(int(self._now() * 1000), (present.updated_at_ms or 0) + 1),
        )
