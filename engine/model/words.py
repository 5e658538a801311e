"""The API's words as types: names of enumeration members, and lists of words that no enumeration has."""

from enum import Enum
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from engine.core.vocabulary import CredentialKind, Scope

Kind = TypeVar("Kind", bound=Enum)

if TYPE_CHECKING:

    class Word(str, Generic[Kind]):
        """The name of a member of an enumeration. `Word[Priority]` is the type of the names of
        `Priority`. At run time, the names are str."""
else:

    class Word:
        """The names of an enumeration as a Literal. Pydantic uses the Literal to validate values, and to
        describe them in the OpenAPI document."""

        def __class_getitem__(cls, kind):
            return Literal[tuple(kind.__members__)]


def word(member: Kind) -> "Word[Kind]":
    """Return a member's name, as the API writes it."""
    return member._name_  # type: ignore[return-value]  # a Word is a str; `name` runs ten lines of Python


def word_or_none(member: Kind | None) -> "Word[Kind] | None":
    """Return a member's name; None for None."""
    return None if member is None else word(member)


CallerKindName = Literal["API_KEY", "MCP_KEY", "EMBED_SESSION", "CONSOLE"]
ActorKindName = Literal[CallerKindName, "CLI", "SYSTEM"]
ScopeName = Literal["ingest", "read", "manage"]
KeyKindName = Literal["API_KEY", "MCP_KEY"]
SettledStatusName = Literal["DELIVERED", "FAILED", "DRY_RUN"]
WaitingStatusName = Literal["PENDING", "RETRYING"]
JobStatusName = SettledStatusName | WaitingStatusName
PeriodName = Literal["1h", "6h", "24h", "7d", "30d"]
GranularityName = Literal["minute", "hour", "day"]
CREDENTIAL_KINDS: dict[CredentialKind, CallerKindName] = {
    CredentialKind.API_KEY: "API_KEY",
    CredentialKind.MCP_KEY: "MCP_KEY",
    CredentialKind.EMBED_SESSION: "EMBED_SESSION",
}
SCOPES: dict[Scope, ScopeName] = {
    Scope.INGEST: "ingest", Scope.READ: "read", Scope.MANAGE: "manage",
}  # fmt: skip
