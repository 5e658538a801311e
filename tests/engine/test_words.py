"""The API's lists of words are those of the enumerations."""

from enum import Enum
from typing import Any, get_args

import pytest

from engine.core import vocabulary
from engine.model import words
from engine.model.file_records import FilePurpose, FileState

NAMES: list[tuple[Any, type[Enum]]] = [
    (words.EnvironmentName, vocabulary.Environment),
    (words.CredentialKindName, vocabulary.CredentialKind),
    (words.DestinationStatusName, vocabulary.DestinationStatus),
    (words.OrderingName, vocabulary.Ordering),
    (words.AlgorithmName, vocabulary.SigningAlgorithm),
    (words.PriorityName, vocabulary.Priority),
    (words.DeliveryStatusName, vocabulary.DeliveryStatus),
    (words.DeliveryKindName, vocabulary.DeliveryKind),
    (words.OriginKindName, vocabulary.DeliveryOrigin),
    (words.DlqStatusName, vocabulary.DlqStatus),
    (words.CategoryName, vocabulary.ErrorCategory),
    (words.ReplayStatusName, vocabulary.ReplayStatus),
    (words.FileStateName, FileState),
    (words.FilePurposeName, FilePurpose),
]


@pytest.mark.parametrize(("names", "enumeration"), NAMES)
def test_a_list_of_words_is_its_enumeration(names: Any, enumeration: type[Enum]) -> None:
    assert get_args(names) == tuple(enumeration.__members__)


def test_scopes_are_written_in_small_letters() -> None:
    assert set(get_args(words.ScopeName)) == {name.lower() for name in vocabulary.Scope.__members__}


def test_keys_and_settled_deliveries_have_some_of_the_words() -> None:
    assert set(get_args(words.KeyKindName)) < set(get_args(words.CredentialKindName))
    assert set(get_args(words.SettledStatusName)) < set(get_args(words.DeliveryStatusName))
