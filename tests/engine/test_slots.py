"""The slots of a workspace, and the share of them that its customers' sessions can use."""

from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.errors import Refusal
from engine.model.read_models import SessionCustomer
from engine.runtime.slots import Slots, customers_places

ADA, BOB, CLEO, DAN = (
    SessionCustomer(f"account of {name}", name) for name in ("ada", "bob", "cleo", "dan")
)


def test_one_customer_has_a_quarter_and_the_keys_what_customers_leave() -> None:
    slots = Slots(64, 8, "tests", 5)
    with ExitStack() as held:
        for customer in (ADA, BOB, CLEO):
            for _ in range(2):
                held.enter_context(slots.taken("w", customer))
            with pytest.raises(Refusal):
                held.enter_context(slots.taken("w", customer))
        with pytest.raises(Refusal):
            held.enter_context(slots.taken("w", DAN))
        for _ in range(2):
            held.enter_context(slots.taken("w"))
        with pytest.raises(Refusal):
            held.enter_context(slots.taken("w"))
        held.enter_context(slots.taken("another", DAN))
    with slots.taken("w", DAN):
        pass


@given(st.integers(1, 1_000))
def test_customers_have_something_and_never_all_of_two_or_more(places: int) -> None:
    one, together = customers_places(places)
    assert 1 <= one <= together <= places
    assert together < places or places == 1
