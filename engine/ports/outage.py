"""Outages: during an outage, the store does not answer. A task that needs the store tries again."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeVar

import structlog
import trio

from engine.ports import (
    BlockedError,
    ContentionError,
    OwnershipLostError,
    PoisonError,
    StoreAwayError,
    StoreError,
    UnknownOutcomeError,
)

FIRST_PAUSE_S = 0.1  # between two tries, doubling ...
LONGEST_PAUSE_S = 2.0  # ... to this, so that work resumes soon after the store is back
# The limit on the tries of a write if each try ends with an unexpected exception. A second try finds out
# what the first try wrote. A third try is needed if the connection also breaks during the second try.
# More tries would only delay other writes.
BROKEN_MOST = 3

T = TypeVar("T")
log = structlog.get_logger("angarium.store")


def never(_: StoreError) -> bool:
    """Return False: the run is repeated whatever happens."""
    return False


def nothing_written(error: StoreError) -> bool:
    """Return True if it is certain that no run of the statement has written anything, because at each run
    the store was away or a row was locked."""
    return isinstance(error, BlockedError | StoreAwayError) and not error.maybe_written


def surely_nothing(message: str) -> StoreAwayError:
    """Return a StoreAwayError for a write that has certainly written nothing."""
    error = StoreAwayError(message)
    error.maybe_written = False
    return error


class Outage:
    """The retries of one task that uses the store, such as the recorder. The task owns this object.

    `user` is the task's name in the log. `meanwhile` is called before each pause.
    """

    def __init__(
        self,
        user: str,
        *,
        longest_pause_s: float = LONGEST_PAUSE_S,
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self.under_way = False
        self._user = user
        self._longest_pause_s = longest_pause_s
        self._meanwhile = meanwhile

    async def outlast(
        self,
        run: Callable[[bool], Awaitable[T]],
        *,
        unless: Callable[[StoreError], bool] = never,
        until: Callable[[], bool] | None = None,
        writes: bool = False,
    ) -> T:
        """Call `run` until it succeeds, and return its result.

        `run` gets True if an earlier run has an unknown outcome. The kind of an exception decides what
        follows:

        - ContentionError: call `run` again at once.
        - StoreAwayError: call `run` again after a pause.
        - PoisonError, OwnershipLostError: raise the error.
        - Any other exception: if `writes` is True, and this run or an earlier run may have written, call
          `run` again, because only a further run can tell what was written. Otherwise raise the
          exception. After `BROKEN_MOST` such exceptions, raise UnknownOutcomeError.

        A ContentionError or StoreAwayError is raised if `unless` returns True for it. A StoreAwayError is
        also raised if `until` returns True after the pause. The raised error's `maybe_written` is True if
        any of the runs may have written.
        """
        again, pause_s, broken = False, FIRST_PAUSE_S, 0
        while True:
            try:
                result = await run(again)
            except (ContentionError, StoreAwayError) as error:
                error.maybe_written = again = again or error.maybe_written
                if unless(error):
                    raise
                if isinstance(error, ContentionError):
                    await trio.lowlevel.checkpoint()
                    continue
                self.began(error)
                await trio.sleep(pause_s)
                pause_s = min(2 * pause_s, self._longest_pause_s)
                if until is not None and until():
                    raise
            except (PoisonError, OwnershipLostError):
                self.ended()
                raise
            except Exception as error:
                self.ended()
                again = again or not isinstance(error, StoreError) or error.maybe_written
                if not (writes and again):
                    raise
                broken += 1
                if broken == BROKEN_MOST:
                    raise UnknownOutcomeError(f"{broken} tries broke: {error!r}") from error
                log.exception("write.broke", user=self._user)
                await trio.lowlevel.checkpoint()
            else:
                self.ended()
                return result

    async def every(self, seconds: float, work: Callable[[], Awaitable[object]]) -> NoReturn:
        """Do some work every `seconds`. If the store fails, the next round tries again."""
        while True:
            await trio.sleep(seconds)
            with self.survived():
                await work()

    @contextmanager
    def survived(self) -> Iterator[None]:
        """Suppress the store's errors except OwnershipLostError. The caller tries again later."""
        try:
            yield
        except OwnershipLostError:
            raise
        except (ContentionError, StoreAwayError) as error:
            self.began(error)
        except StoreError:
            self.ended()
            log.exception("store.refused", user=self._user)
        else:
            self.ended()

    def began(self, error: StoreError) -> None:
        if not self.under_way:
            self.under_way = True
            log.warning("store.away", user=self._user, error=str(error))
        if self._meanwhile is not None:
            self._meanwhile()

    def ended(self) -> None:
        if self.under_way:
            self.under_way = False
            log.info("store.back", user=self._user)
