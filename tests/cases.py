"""A table of cases that one test tries within the same fixtures.

A server and its database cost a quarter of a second of CPU. Cases that leave nothing behind, as refused
requests do, share them. Each case is still reported by itself. Cases that see what others left need
`pytest.mark.parametrize`, which gives each one fixtures of its own.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., Awaitable[None]]
KEYWORD = inspect.Parameter.KEYWORD_ONLY
SHOWN = 100  # characters of a case in its report


def each_case(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Return a decorator for an asynchronous test: run it once for each case, with the same fixtures.

    It takes what `pytest.mark.parametrize` takes: one name and its values, or several names and tuples.
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
