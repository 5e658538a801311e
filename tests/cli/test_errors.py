"""Messages about grouped errors, which task nurseries raise."""

import pytest

from api.cli.errors import Trouble, UnreachableTrouble, explain
from engine.ports import OwnershipLostError, StoreAwayError

AWAY = StoreAwayError("no answer")
REPLACED = OwnershipLostError("another server has taken over")


@pytest.mark.parametrize(
    "error",
    [
        BaseExceptionGroup("", [AWAY]),
        BaseExceptionGroup("", [BaseExceptionGroup("", [AWAY]), StoreAwayError("reset")]),
    ],
    ids=["one", "two"],
)
def test_a_database_that_is_away_is_told_of_once(error: BaseException) -> None:
    with pytest.raises(UnreachableTrouble, match="cannot be reached: no answer"):
        explain(error)


@pytest.mark.parametrize("errors", [[AWAY, REPLACED], [REPLACED, AWAY]], ids=["last", "first"])
def test_of_several_tasks_whoever_knows_why_is_heard(errors: list[Exception]) -> None:
    with pytest.raises(Trouble, match="another server has taken over") as caught:
        explain(BaseExceptionGroup("", [BaseExceptionGroup("", errors)]))
    assert not isinstance(caught.value, UnreachableTrouble)


def test_what_nobody_foresaw_is_raised_as_it_is() -> None:
    group = BaseExceptionGroup("", [AWAY, ValueError("of the code")])
    with pytest.raises(BaseExceptionGroup) as caught:
        explain(group)
    assert caught.value is group
