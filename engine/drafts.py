"""The documents that callers write: destinations and rules as JSON, with every rule about their shape.

A PATCH is merged into the present document and read as the same draft again, so that there is one set of
rules. The commands judge what depends on other rows (accounts, archived destinations).
"""

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    RootModel,
    StringConstraints,
    Tag,
    create_model,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import PydanticCustomError, core_schema

from engine.core.destination import CONCURRENCY, DEFAULT_RETRY_SCHEDULE_S, MOST_CONCURRENCY
from engine.core.vocabulary import HttpMethod, Ordering, Priority, SigningAlgorithm
from engine.filters import compile_filter
from engine.filters.program import SOURCE_BYTES as FILTER_BYTES
from engine.model.authentication import AuthenticationDraft
from engine.model.documents import DOCUMENT, MAX_MEMBERS, invalid
from engine.model.words import Word, word

NAME_LENGTH = 256  # as event types and identifiers: fits a line of any list
DESCRIPTION_LENGTH = 2_000  # some paragraphs
RULE_PATTERNS = 100  # one rule's; more are better put into several rules
AUTO: Literal["auto"] = "auto"
MAX_RATE_PER_SECOND = 1_000_000  # above it a limit limits nothing
_PATTERN = re.compile(r"[A-Za-z0-9._:/*-]{1,256}")


class Document(BaseModel):
    """A JSON object in camelCase that refuses what it does not know and converts nothing."""

    model_config = DOCUMENT


Name = Annotated[str, StringConstraints(min_length=1, max_length=NAME_LENGTH)]
Uuid = Annotated[
    str,
    StringConstraints(
        pattern="^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", to_lower=True
    ),
    Field(json_schema_extra={"format": "uuid"}),
]
TemplateName = Annotated[
    str,
    StringConstraints(min_length=1, max_length=64),  # of the catalog: names of files, and short
]
RetryDelay = Annotated[int, Field(ge=1, le=86_400)]


@dataclass(frozen=True, slots=True)
class NullIs:
    """Takes null for `default`, and says in the schema that it does."""

    default: Any

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Put the default before the validation of the rest."""
        return core_schema.no_info_before_validator_function(
            lambda value: self.default if value is None else value, handler(source)
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of the rest, or null."""
        return {"anyOf": [handler(schema), {"type": "null"}]}


@dataclass(frozen=True, slots=True)
class DocumentedAs:
    """Says that a part of an answer has the schema of another type: of a model whose fields it has, or of
    what a fragment of JSON holds."""

    model: Any

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Return the schema of the other type."""
        return handler.generate_schema(self.model)


def told(text: str, **bounds: Any) -> Any:
    """Return the annotation that describes a field of an answer."""
    return Field(description=text, **bounds)


def _few(value: Any) -> Any:
    """Refuse an object of many members before each of them is judged."""
    if isinstance(value, dict) and len(value) > MAX_MEMBERS:
        raise PydanticCustomError("too_many_members", "has too many members")
    return value


Few = BeforeValidator(_few)


@dataclass(frozen=True, slots=True)
class OrAuto:
    """Accepts "auto" or a whole number within bounds; errors of bounds speak of the number alone."""

    least: int
    most: int

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Check every value that is not a text as a number."""
        number = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        return core_schema.no_info_wrap_validator_function(_number_or_auto, number)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of both."""
        number = {"type": "integer", "minimum": self.least, "maximum": self.most}
        # No `const`, which is the same: generated clients would take it for the only value.
        return {"anyOf": [number, {"type": "string", "enum": [AUTO]}]}


def _number_or_auto(
    value: Any, number: core_schema.ValidatorFunctionWrapHandler
) -> int | Literal["auto"]:
    if value == AUTO:
        return AUTO
    if isinstance(value, str):
        raise PydanticCustomError("number_or_auto", f'must be a whole number or "{AUTO}"')
    return cast("int", number(value))


class DeliveryOptions(Document):
    """The way that a destination's requests are sent."""

    concurrency: Annotated[int | Literal["auto"], OrAuto(1, MOST_CONCURRENCY)] = Field(
        CONCURRENCY,
        description="Requests in flight at once; `auto`: as many as its answers bear, found by what they "
        "take and whether they fail.",
    )
    ordering: Word[Ordering] = Field(
        word(Ordering.NONE),
        description="What first-in first-out holds for: nothing, one key, the destination.",
    )
    timeout_ms: int = Field(15_000, ge=100, le=60_000, description="From DNS to the last byte.")
    rate_limit_per_second: float | None = Field(
        None, gt=0, le=MAX_RATE_PER_SECOND, allow_inf_nan=False,
        description="Attempts a second, with a burst of one second's worth; null: no limit.",
    )  # fmt: skip
    dry_run: bool = Field(False, description="Route and record, but send nothing.")
    retry_schedule: list[RetryDelay] = Field(
        list(DEFAULT_RETRY_SCHEDULE_S), max_length=20,
        description="Seconds after each failed attempt, each give or take 20 %.",
    )  # fmt: skip


class SigningOptions(Document):
    """The signatures of outbound bodies."""

    algorithm: Word[SigningAlgorithm] = word(SigningAlgorithm.HMAC_SHA256)


_SECRET = re.compile(
    r"whsec_([A-Za-z0-9+/]{4}){8,20}"
    r"([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{6}==)?"
)


def _check_secret(secret: str) -> str:
    if _SECRET.fullmatch(secret) is None:
        raise ValueError("must be whsec_ and the base64 of 24 to 64 bytes")
    return secret


Secret = Annotated[
    str,
    AfterValidator(_check_secret),
    Field(json_schema_extra={"pattern": f"^{_SECRET.pattern}$"}),
]
MAX_GRACE_S = 604_800  # a week
MAX_DISABLE_AFTER_S = 30 * 86_400  # beyond a month, nobody waits for it


class _Options(Document):
    """The members that every destination has, with a template or without."""

    description: str | None = Field(None, max_length=DESCRIPTION_LENGTH)
    customer_external_id: Name | None = Field(
        None, description="Ties the destination to this end-customer's events."
    )
    customer_account_id: Uuid | None = Field(None, description="The same, by the account's id.")
    headers: Annotated[dict[str, str], Few, NullIs({})] = Field(
        default_factory=dict,
        description="Sent with every request. Names merge whatever their case; values of authorization, "
        "cookie and whatever is named like a key, token or secret are shown as ***.",
    )
    delivery: Annotated[DeliveryOptions, NullIs({})] = Field(default_factory=DeliveryOptions)
    signing: Annotated[SigningOptions, NullIs({})] = Field(default_factory=SigningOptions)
    method: Annotated[Word[HttpMethod], NullIs("POST")] = word(HttpMethod.POST)
    authentication: AuthenticationDraft | None = Field(
        None, description="How requests prove who sends them. Its secrets are shown as ***."
    )
    disable_after_seconds: int | None = Field(
        None, ge=1, le=MAX_DISABLE_AFTER_S,
        description="Seconds of failing after which the destination is disabled; null: never.",
    )  # fmt: skip
    secret: Secret | None = Field(
        None, description="The signing secret, of 24 to 64 bytes, to keep one that receivers know. "
        "Null: a new one is made.",
    )  # fmt: skip

    @property
    def http_method(self) -> HttpMethod:
        """The method as the engine's word."""
        return HttpMethod[self.method]

    @property
    def ordering(self) -> Ordering:
        """The ordering as the engine's word."""
        return Ordering[self.delivery.ordering]

    @property
    def algorithm(self) -> SigningAlgorithm:
        """The algorithm as the engine's word."""
        return SigningAlgorithm[self.signing.algorithm]


class _Direct(Document):
    name: Name
    url: str = Field(
        max_length=2048, description="http or https, without userinfo.",
        json_schema_extra={"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://."},
    )  # fmt: skip


class _Templated(Document):
    template_id: TemplateName = Field(description="Of `GET /destination-templates`.")
    name: Name
    config: dict[str, Any] = Field(
        description="As the template's `configSchema` has it. Secrets are shown as ***."
    )


class DestinationDraft(_Options, _Direct):
    """A destination as a caller writes it."""


class TemplateDestinationDraft(_Options, _Templated):
    """A destination of a template of the catalog, as a caller writes it. The template makes the URL of
    `config`; its defaults stand where `delivery` says nothing."""


class AnyDestinationDraft(
    RootModel[
        Annotated[
            Annotated[DestinationDraft, Tag("direct")]
            | Annotated[TemplateDestinationDraft, Tag("template")],
            Discriminator(
                lambda value: "direct" if value.get("templateId") is None else "template"
            ),
        ]
    ]
):
    """A destination of a URL, or one of a template: the form that has `templateId`."""

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Read the form that is meant, so that no error is about the other form."""
        if obj.get("templateId") is None:
            return cast("Self", cls.model_construct(root=DestinationDraft.model_validate(obj)))
        if "url" in obj:
            raise invalid("url", "the template makes the URL: give its parts in `config`")
        form = TemplateDestinationDraft.model_validate(obj)
        return cast("Self", cls.model_construct(root=form))


def _check_pattern(pattern: str) -> str:
    """Accept `*` alone and segments between dots, each literal or a whole `*`."""
    if _PATTERN.fullmatch(pattern) is None:
        raise ValueError("must be 1-256 characters of A-Za-z0-9._:/- and *")
    if any("*" in segment and segment != "*" for segment in pattern.split(".")):
        raise ValueError("a * stands for a whole segment between dots")
    return pattern


Pattern = Annotated[
    str,
    AfterValidator(_check_pattern),
    Field(
        json_schema_extra={
            "pattern": r"^(\*|[A-Za-z0-9_:/-]*)(\.(\*|[A-Za-z0-9_:/-]*))*$",
            "minLength": 1,
            "maxLength": 256,
        }
    ),
]


def _check_filter(source: str) -> str:
    compile_filter(source)
    return source


FilterSource = Annotated[
    str, StringConstraints(min_length=1, max_length=FILTER_BYTES), AfterValidator(_check_filter)
]


class RuleDraft(Document):
    """A routing rule as a caller writes it."""

    name: Name
    destination_id: Uuid
    event_types: list[Pattern] = Field(
        min_length=1, max_length=RULE_PATTERNS,
        description="Patterns: * is one segment, at the end one or more; * alone is everything but "
        "angarium.*.",
    )  # fmt: skip
    filter: FilterSource | None = Field(
        None,
        description="A CEL expression over `event` (eventType, payload, metadata, source, "
        "customerExternalId, occurredAt), at most 2 KiB. Null: every event of these types.",
    )  # fmt: skip
    priority: Annotated[Word[Priority], NullIs("STANDARD")] = word(Priority.STANDARD)
    enabled: Annotated[bool, NullIs(True)] = True

    @property
    def priority_class(self) -> Priority:
        """The priority as the engine's word."""
        return Priority[self.priority]


def patch_of(
    draft: type[Document], name: str, without: tuple[str, ...] = (), **replaced: Any
) -> type[Document]:
    """Return the merge patch of a draft: any subset of its fields, each null for its default if it has
    one. `without`: fields that no patch has."""
    fields: dict[str, Any] = {}
    for field, info in draft.model_fields.items():
        if field in without:
            continue
        kind = replaced.pop(field, info.annotation)
        bounds = [bound for bound in info.metadata if not isinstance(bound, NullIs)]
        narrowed = Annotated[(kind, *bounds, Field())]  # type: ignore[valid-type]  # made at run time
        given: Any = narrowed if info.is_required() else narrowed | None
        more = info.json_schema_extra
        fields[field] = (given, Field(None, description=info.description, json_schema_extra=more))
    for field, kind in replaced.items():
        fields[field] = (kind | None, Field(None))
    patch: type[Document] = create_model(name, __base__=Document, __doc__=draft.__doc__, **fields)
    return patch


def shown_of(draft: type[Document], **replaced: Any) -> type[Document]:
    """Return the shape of a draft in an answer: every field is there, null only where null is a value."""
    fields: dict[str, Any] = {
        name: (replaced.get(name, info.annotation), Field(description=info.description))
        for name, info in draft.model_fields.items()
    }
    return create_model(draft.__name__, __base__=Document, __doc__=draft.__doc__, **fields)


# Only the shape of a patch is judged here. Merged into the document, it is judged as a draft.
DestinationPatch = patch_of(
    DestinationDraft,
    "DestinationPatch",
    ("secret",),
    headers=Annotated[dict[str, str | None], Few],
    authentication=Annotated[dict[str, Any], Few],
    delivery=patch_of(DeliveryOptions, "DeliveryOptionsPatch"),
    signing=patch_of(SigningOptions, "SigningOptionsPatch"),
    rotate_secret=bool,
    grace_seconds=Annotated[int, Field(ge=0, le=MAX_GRACE_S)],
    template_id=str,
    config=dict[str, Any],
)
RulePatch = patch_of(RuleDraft, "RulePatch")
