"""The API's words: names of enumeration members."""

from typing import Any, get_args

from engine.core.vocabulary import CredentialKind, DeliveryStatus, Priority, Scope
from engine.model import words


def test_a_word_is_the_name_of_a_member() -> None:
    kind: Any = words.Word[Priority]
    assert get_args(kind) == tuple(Priority.__members__)
    assert words.word(Priority.HIGH) == Priority.HIGH.name
    assert words.word_or_none(None) is None


def test_scopes_are_written_in_small_letters() -> None:
    assert {scope: scope.name.lower() for scope in Scope} == words.SCOPES
    assert get_args(words.ScopeName) == tuple(words.SCOPES.values())


def test_credentials_are_actors_and_two_of_them_keys() -> None:
    assert {kind: kind.name for kind in CredentialKind} == words.CREDENTIAL_KINDS
    assert set(words.CREDENTIAL_KINDS.values()) < set(get_args(words.ActorKindName))
    assert set(get_args(words.KeyKindName)) < set(CredentialKind.__members__)


def test_settled_deliveries_have_some_of_the_statuses() -> None:
    assert set(get_args(words.SettledStatusName)) < set(DeliveryStatus.__members__)
