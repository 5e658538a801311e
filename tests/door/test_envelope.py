"""Error envelopes, request ids and byte budgets."""

import json

import pytest

from api.budget import BodyBudget
from api.envelope import envelope, request_id_of
from engine.model.errors import Detail


def test_an_envelope_has_details_only_where_there_are_some() -> None:
    assert envelope("not_found", "no", "r1") == (
        b'{"code":"not_found","message":"no","requestId":"r1"}'
    )
    full = json.loads(envelope("invalid_request", "no", "r1", (Detail("a.b", "is \u00e4"),)))
    assert full["details"] == [{"path": "a.b", "message": "is ä"}]


def test_an_envelope_can_quote_lone_surrogates() -> None:
    body = envelope("invalid_request", "\ud800", "r", (Detail("\udc00", "x"),))
    assert json.loads(body)["message"] == "?"


@pytest.mark.parametrize("given", [b"a", b"A-1.b_c:d", b"x" * 128])
def test_sane_request_ids_are_kept(given: bytes) -> None:
    assert request_id_of(given) == given.decode()


@pytest.mark.parametrize("given", [None, b"", b"x" * 129, b"a b", b"a\n", b"\xff", b"a/b", b'"'])
def test_other_request_ids_are_replaced_by_unique_short_ones(given: bytes | None) -> None:
    made = {request_id_of(given) for _ in range(100)}
    assert len(made) == 100
    assert all(len(one) < 24 and request_id_of(one.encode()) == one for one in made)


def test_request_ids_have_one_length() -> None:
    """A request id contains a counter. When the counter gains a digit, the id must not get longer,
    because answers to equal requests must have equal lengths.
    """
    assert {len(request_id_of(None)) for _ in range(300)} == {10 + 1 + 8}


def test_budgets_are_global_and_per_workspace() -> None:
    budget = BodyBudget(10, 6)
    assert budget.draw("a", 6)
    assert not budget.draw("a", 1)
    assert not budget.has_room("a", 1)
    assert not budget.draw("b", 5)
    assert budget.draw("b", 4)
    assert not budget.draw("c", 1)
    budget.give_back("a", 6)
    assert budget.draw("c", 6)
    budget.give_back("c", 6)
    budget.give_back("b", 4)
    assert budget.drawn == 0
    assert budget.draw("a", 0)
    budget.give_back("a", 0)
