"""A decorator that runs one test for several cases. All cases share the same fixtures.

It takes a quarter of a second of CPU time to start a server and its database. Cases that leave nothing
behind, such as refused requests, can share one server. Each case is still reported on its own. Cases that
see the effects of other cases need `pytest.mark.parametrize`, which gives each case its own fixtures.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., Awaitable[None]]
KEYWORD = inspect.Parameter.KEYWORD_ONLY
SHOWN = 100  # the length of a case in its report, in characters


def each_case(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Return a decorator that runs an asynchronous test once for each case, with the same
    fixtures.

    It takes the arguments of `pytest.mark.parametrize`: one name and its values, or names and tuples.
    """
    table = list(cases)

    def decorate(test: Test) -> Test:
        given = {names} if isinstance(names, str) else set(names)
        signature = inspect.signature(test)
        asked = [each for each in signature.parameters if each not in given]

        @functools.wraps(test)
        async def run(subtests: pytest.Subtests, **fixtures: Any) -> None:
            for case in table:
                values = (
                    {names: case} if isinstance(names, str) else dict(zip(names, case, strict=True))
                )
                with subtests.test(repr(values)[:SHOWN]):
                    await test(**fixtures, **values)

        parameters = [inspect.Parameter(each, KEYWORD) for each in ("subtests", *asked)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # for pytest
        return run

    return decorate
