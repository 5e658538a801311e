"""The documents that callers write, destinations and routing rules, with all checks of their shape.

The commands check what needs the database: whether an account exists, or a destination is archived.
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

NAME_LENGTH = 256  # like event types and identifiers; it fits on one line of a list
DESCRIPTION_LENGTH = 2_000  # some paragraphs
RULE_PATTERNS = 100  # of one rule; a caller that needs more writes several rules
AUTO: Literal["auto"] = "auto"
MAX_RATE_PER_SECOND = 1_000_000  # a higher limit would limit nothing
_PATTERN = re.compile(r"[A-Za-z0-9._:/*-]{1,256}")


class Document(BaseModel):
    """A JSON object in camelCase that refuses unknown members and converts no value."""

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
    StringConstraints(min_length=1, max_length=64),  # templates are named after their files
]
RetryDelay = Annotated[int, Field(ge=1, le=86_400)]


@dataclass(frozen=True, slots=True)
class NullIs:
    """The annotation of a field that accepts null. The field's JSON schema says so, too. A null becomes
    `default`."""

    default: Any

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(
            lambda value: self.default if value is None else value, handler(source)
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [handler(schema), {"type": "null"}]}


@dataclass(frozen=True, slots=True)
class DocumentedAs:
    """The annotation of a field of an answer. The API documents the field with the schema of `model`. The
    code uses another type for the field: another model with the same fields, or a JSON fragment."""

    model: Any

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return handler.generate_schema(self.model)


def doc(text: str, **bounds: Any) -> Any:
    """Return the annotation that describes a field of an answer."""
    return Field(description=text, **bounds)


def _few(value: Any) -> Any:
    """Refuse an object with too many members before any member is checked."""
    if isinstance(value, dict) and len(value) > MAX_MEMBERS:
        raise PydanticCustomError("too_many_members", "has too many members")
    return value


Few = BeforeValidator(_few)


@dataclass(frozen=True, slots=True)
class OrAuto:
    """The annotation of a field that is "auto" or a whole number from `least` to `most`."""

    least: int
    most: int

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        number = core_schema.int_schema(strict=True, ge=self.least, le=self.most)
        return core_schema.no_info_wrap_validator_function(_number_or_auto, number)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        number = {"type": "integer", "minimum": self.least, "maximum": self.most}
        # The schema has `enum` and not `const`. If it had `const`, client generators would conclude that
        # the field is always "auto", although it can also be a number.
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
    """The sending options of a destination."""

    concurrency: Annotated[int | Literal["auto"], OrAuto(1, MOST_CONCURRENCY)] = Field(
        CONCURRENCY,
        description="Requests in flight at once. `auto`: the server adapts the number to the durations "
        "and failures of attempts.",
    )
    ordering: Word[Ordering] = Field(
        word(Ordering.NONE),
        description="Scope of first-in first-out order: none, a key of the event, or the destination.",
    )
    timeout_ms: int = Field(
        15_000,
        ge=100,
        le=60_000,
        description="The most time for an attempt, from the name look-up to the last byte.",
    )
    rate_limit_per_second: float | None = Field(
        None, gt=0, le=MAX_RATE_PER_SECOND, allow_inf_nan=False,
        description="Attempts per second, with a burst of one second. Null: no limit.",
    )  # fmt: skip
    dry_run: bool = Field(False, description="Route and record events, but send nothing.")
    retry_schedule: list[RetryDelay] = Field(
        list(DEFAULT_RETRY_SCHEDULE_S), max_length=20,
        description="Seconds to wait after each failed attempt, varied by up to 20 %. Empty: no retries.",
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
MAX_DISABLE_AFTER_S = 30 * 86_400  # a month: a longer wait has no use


class _Options(Document):
    """The members of every destination, with or without a template."""

    description: str | None = Field(None, max_length=DESCRIPTION_LENGTH)
    customer_external_id: Name | None = Field(
        None, description="The end-customer whose events the destination receives."
    )
    customer_account_id: Uuid | None = Field(
        None, description="The id of the same customer's account."
    )
    headers: Annotated[dict[str, str], Few, NullIs({})] = Field(
        default_factory=dict,
        description="Sent with every request. Names are case-insensitive. Answers show *** for "
        "authorization, cookie, and names that contain key, token, secret or the like.",
    )
    delivery: Annotated[DeliveryOptions, NullIs({})] = Field(default_factory=DeliveryOptions)
    signing: Annotated[SigningOptions, NullIs({})] = Field(default_factory=SigningOptions)
    method: Annotated[Word[HttpMethod], NullIs("POST")] = word(HttpMethod.POST)
    authentication: AuthenticationDraft | None = Field(
        None, description="Authentication of requests to receivers. Answers show secrets as ***."
    )
    disable_after_seconds: int | None = Field(
        None, ge=1, le=MAX_DISABLE_AFTER_S,
        description="Disable the destination after it has failed for this many seconds. Null: never.",
    )  # fmt: skip
    secret: Secret | None = Field(
        None, description="A signing secret of 24 to 64 bytes that receivers already know. "
        "Null: the server makes a new one.",
    )  # fmt: skip

    @property
    def http_method(self) -> HttpMethod:
        return HttpMethod[self.method]

    @property
    def ordering(self) -> Ordering:
        return Ordering[self.delivery.ordering]

    @property
    def algorithm(self) -> SigningAlgorithm:
        return SigningAlgorithm[self.signing.algorithm]


class _Direct(Document):
    name: Name
    url: str = Field(
        max_length=2048, description="http or https, without user name and password.",
        json_schema_extra={"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://."},
    )  # fmt: skip


class _Templated(Document):
    template_id: TemplateName = Field(description="An id from `GET /destination-templates`.")
    name: Name
    config: dict[str, Any] = Field(
        description="Values that match the template's `configSchema`. Answers show secrets as ***."
    )


class DestinationDraft(_Options, _Direct):
    """A destination as a caller writes it."""


class TemplateDestinationDraft(_Options, _Templated):
    """A destination made from a template, as a caller writes it. The template builds the URL from
    `config`. The template's defaults apply to fields that are missing in `delivery`."""


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
    """A destination with a URL, or one made from a template. The second form has `templateId`."""

    @classmethod
    def model_validate(cls, obj: Any, **_: Any) -> Self:
        """Read a destination with a template if `templateId` is set, and otherwise a destination with a
        URL. Errors name only the fields of this kind of destination."""
        if obj.get("templateId") is None:
            return cast("Self", cls.model_construct(root=DestinationDraft.model_validate(obj)))
        if "url" in obj:
            raise invalid("url", "a template builds the URL: leave `url` out, and set `config`")
        form = TemplateDestinationDraft.model_validate(obj)
        return cast("Self", cls.model_construct(root=form))


def _check_pattern(pattern: str) -> str:
    if _PATTERN.fullmatch(pattern) is None:
        raise ValueError("must be 1-256 characters of A-Za-z0-9._:/- and *")
    if any("*" in segment and segment != "*" for segment in pattern.split(".")):
        raise ValueError("a * must be a whole segment between dots")
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
        description="Patterns, such as `order.*`. A * matches one segment; at the end, one or more. A "
        "single * matches all types except angarium.*.",
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
        return Priority[self.priority]


def patch_of(
    draft: type[Document], name: str, without: tuple[str, ...] = (), **replaced: Any
) -> type[Document]:
    """Return the model of a merge patch of a draft. All fields are optional; null stands for a default.

    The patch leaves out the draft's fields in `without`. `replaced` maps names of fields to types. If the
    draft has the field, the patch gives it this type instead of the draft's. If the draft lacks the
    field, the patch has it in addition.
    """
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
    """Return the model of a draft as answers show it. It requires every field. A field can be null only
    if its type allows null."""
    fields: dict[str, Any] = {
        name: (replaced.get(name, info.annotation), Field(description=info.description))
        for name, info in draft.model_fields.items()
    }
    return create_model(draft.__name__, __base__=Document, __doc__=draft.__doc__, **fields)


# Only the shape of a patch is checked here. The merged document is checked as a draft.
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
