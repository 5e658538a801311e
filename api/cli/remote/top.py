"""`angarium top`: a table of destinations in a terminal, always up to date, with keys that change a
destination. Failing destinations come first."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from api.cli.errors import SettingsTrouble
from api.cli.remote.overview import EVERY_S, SORTS, Overview, Sort
from api.cli.remote.session import Session, over_http
from api.cli.remote.top_screen import TopChange, TopScreen

if TYPE_CHECKING:
    from angarium import Client

MOST = 500  # destinations read: five requests, and more than a person scrolls through
WAIT_MS = 100  # the wait for a key, before the time of the next read is checked


@click.command("top", short_help="Watch destinations live, failing ones first.")
@click.option("--sort", type=click.Choice(SORTS), default="trouble", help="[trouble]")
@click.option(
    "--interval", type=click.FloatRange(0.5, 3600), default=EVERY_S, metavar="SECONDS",
    help=f"The time between two reads of two or more requests each. [{EVERY_S:g}]",
)  # fmt: skip
@over_http
def command(session: Session, sort: Sort, interval: float) -> None:
    """Watch destinations in a terminal, failing destinations first.

    The keys "up" and "down" select a destination. These keys change the selected destination: "+" and "-"
    change its concurrency. "a" sets its concurrency to auto. "h" disables it, or enables it again. "r"
    resumes it if it pauses after failures or because of a Retry-After. The key "s" changes the order of
    the table. The key "q" ends the command.
    """
    try:
        import curses
    except ImportError:
        raise SettingsTrouble(
            "this Python has no curses: see `destinations list --watch`"
        ) from None
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise SettingsTrouble("top needs a terminal: see `angarium destinations list --watch`")
    with session.client() as client:
        environment = session.environment or client.auth_context()["environment"]
        if environment is None:
            raise SettingsTrouble("an MCP key has no environment: give --environment")
        top = Top(client, TopScreen(environment, sort=sort), interval)
        top.look()  # a wrong key is an error before the screen is used
        try:
            curses.wrapper(top.run)
        except curses.error as error:
            raise SettingsTrouble(f"this terminal cannot show the table: {error}") from None


class Top:
    """The loop of reading, drawing and handling keys."""

    def __init__(self, client: "Client", screen: TopScreen, interval_s: float) -> None:
        self._client = client
        self._screen = screen
        self._interval_s = interval_s
        self._overview = Overview(client, screen.sort)

    def run(self, window: Any) -> None:
        """Run until `q` or Ctrl-C."""
        import curses

        styles = _styles()
        curses.curs_set(0)
        window.timeout(WAIT_MS)
        looked_at = time.monotonic()
        while not self._screen.quits:
            height, width = window.getmaxyx()
            window.erase()
            for number, line in enumerate(self._screen.lines(width - 1, height)):
                window.addstr(number, 0, line.text, styles[line.style])
            window.refresh()
            try:
                key = _named(window.getch())
            except KeyboardInterrupt:
                return
            sort = self._screen.sort
            change = self._screen.press(key) if key else None
            if change is not None:
                self._apply(change)
            due = time.monotonic() - looked_at >= self._interval_s
            if due or change is not None or sort != self._screen.sort:
                self._look_again()
                looked_at = time.monotonic()

    def look(self) -> None:
        """Read from the server. Raises AngariumError."""
        self._overview.sort = self._screen.sort
        rows = self._overview.rows(MOST)
        throughput = self._client.throughput(self._screen.environment)  # type: ignore[arg-type]  # a word of the API
        self._screen.show(rows, dict(throughput))

    def _look_again(self) -> None:
        from angarium import AngariumError

        try:
            self.look()
        except AngariumError as error:
            self._screen.message = f"{error}; trying again"

    def _apply(self, change: TopChange) -> None:
        from angarium import AngariumError

        destinations, identifier = self._client.destinations, change.destination
        try:
            if change.kind == "concurrency":
                delivery: Any = {"concurrency": change.concurrency}
                destinations.update(identifier, {"delivery": delivery})
            elif change.kind == "resume":
                destinations.resume(identifier)
            elif change.kind == "hold":
                destinations.disable(identifier)
            else:
                destinations.enable(identifier)
        except AngariumError as error:
            self._screen.message = str(error)
        else:
            self._screen.message = said(change)


def said(change: TopChange) -> str:
    """Return the message for a change that was made."""
    if change.kind == "concurrency":
        return f"{change.name}: concurrency {change.concurrency}"
    return f"{change.name}: {_DONE[change.kind]}"


_DONE = {"resume": "resumed", "hold": "its deliveries are held", "release": "released"}
_KEYS = {"KEY_UP": "up", "KEY_DOWN": "down", "KEY_PPAGE": "page up", "KEY_NPAGE": "page down",
         "KEY_HOME": "home", "KEY_END": "end"}  # fmt: skip


def _named(code: int) -> str:
    """Return the name of the pressed key. Return an empty text if no key was pressed, or if the key has
    no use in this command."""
    import curses

    if 32 <= code < 127:
        return chr(code)
    return _KEYS.get(curses.keyname(code).decode("latin-1"), "") if code >= 0 else ""


def _styles() -> dict[str, int]:
    import curses

    red = 0
    if curses.has_colors():
        curses.use_default_colors()
        curses.init_pair(1, curses.COLOR_RED, -1)
        red = curses.color_pair(1)
    return {
        "plain": curses.A_NORMAL,
        "title": curses.A_BOLD,
        "heading": curses.A_BOLD | curses.A_UNDERLINE,
        "selected": curses.A_REVERSE,
        "bad": red or curses.A_BOLD,
        "weak": curses.A_DIM,
    }
