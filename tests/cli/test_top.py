"""The screen of `angarium top`: its contents in a small terminal, and the effects of keys."""

import pytest

from api.cli.remote.overview import Overview, Row
from api.cli.remote.top_screen import FOOT, HEAD, TopChange, TopScreen, stepped


def row(name: str, **changes: object) -> Row:
    return {
        "state": "HEALTHY", "hold": None, "circuit": "CLOSED", "pending": 0, "rate": 1.25,
        "inFlight": 2, "concurrency": 8, "allowed": 8, "p95": 12, "inDlq": "0", "status": "ACTIVE",
        "id": f"id of {name}", "name": name, "url": "http://a/",
    } | changes  # fmt: skip


def screen(*rows: Row) -> TopScreen:
    made = TopScreen("DEVELOPMENT")
    rates = {"accepted": 10.0, "delivered": 9.5, "failed": 0.5, "pending": 7, "inFlight": 2}
    made.show(list(rows), rates)
    return made


@pytest.mark.parametrize(("width", "height"), [(80, 24), (79, 10), (40, 6), (5, 2)])
def test_every_line_fits_a_small_terminal(width: int, height: int) -> None:
    shown = screen(*(row(f"destination {number} " + "x" * 90) for number in range(50)))
    lines = shown.lines(width, height)
    assert len(lines) <= height
    assert all(len(line.text) <= width for line in lines)


def test_a_row_shows_state_backlog_rate_and_concurrency() -> None:
    shown = screen(row("orders", state="FAILING", hold="CIRCUIT", pending=1_234, inDlq="1000+"))
    title, _, heading, first, *_ = shown.lines(80, 24)
    assert "in 10.0/s" in title.text
    assert heading.text.split() == [
        "STATE", "HOLD", "PENDING", "RATE/S", "FLIGHT", "P95", "MS", "DLQ", "NAME",
    ]  # fmt: skip
    assert first.text.split() == [
        "FAILING",
        "CIRCUIT",
        "1234",
        "1.2",
        "2/8",
        "12",
        "1000+",
        "orders",
    ]


def test_a_selection_stays_with_its_destination_when_the_order_changes() -> None:
    shown = screen(row("a"), row("b"), row("c"))
    shown.press("down")
    shown.show([row("b"), row("c"), row("a")], {})
    assert shown.index == 0
    assert shown.press("+") == TopChange("concurrency", "id of b", "b", 10)


def test_the_selected_row_is_always_on_the_screen() -> None:
    shown = screen(*(row(f"n{number}") for number in range(50)))
    for key, name in (("end", "n49"), ("up", "n48"), ("home", "n0"), ("page down", "n10")):
        shown.press(key)
        (selected,) = [
            line for line in shown.lines(80, HEAD + FOOT + 4) if line.style == "selected"
        ]
        assert selected.text.split()[-1] == name


def test_keys_ask_for_changes_of_the_selected_destination() -> None:
    shown = screen(row("a"))
    assert shown.press("-") == TopChange("concurrency", "id of a", "a", 6)
    assert shown.press("a") == TopChange("concurrency", "id of a", "a", "auto")
    assert shown.press("r") == TopChange("resume", "id of a", "a")
    assert shown.press("x") is None


def test_holding_deliveries_is_asked_for_first() -> None:
    shown = screen(row("a"))
    assert shown.press("h") is None
    assert "y/n" in shown.message
    assert shown.press("n") is None
    shown.press("h")
    assert shown.press("y") == TopChange("hold", "id of a", "a")
    shown.show([row("a", status="DISABLED")], {})
    assert shown.press("h") == TopChange("release", "id of a", "a")


def test_the_order_goes_round_and_q_quits() -> None:
    shown = screen()
    orders = [(shown.press("s"), shown.sort)[1] for _ in range(3)]
    assert orders == ["pending", "name", "trouble"]
    shown.press("+")  # a key without an effect
    shown.press("q")
    assert shown.quits


def test_control_characters_of_a_name_do_not_reach_the_terminal() -> None:
    shown = screen(row("evil\x1b[2J"))
    assert not any("\x1b" in line.text for line in shown.lines(80, 24))


def test_a_step_of_the_concurrency_is_one_while_it_is_small_then_a_quarter() -> None:
    assert [stepped(each, up=True) for each in (1, 8, 200, 256)] == [2, 10, 250, 256]
    assert [stepped(each, up=False) for each in (1, 8, 256)] == [1, 6, 192]


class Client:
    """Each request for summaries takes the next of `attempts`."""

    def __init__(self, *attempts: int) -> None:
        self.attempts = list(attempts)
        self.destinations = self

    def summaries(self, sort: str) -> list[dict[str, object]]:
        total = self.attempts.pop(0)
        destination = {
            "id": "d", "name": "n", "url": "http://a/", "status": "ACTIVE",
            "customerAccountId": None, "delivery": {"concurrency": "auto"},
        }  # fmt: skip
        health = {
            "state": "HEALTHY", "hold": {"reason": "RATE", "until": None},
            "circuit": {"state": "CLOSED"}, "latencyMs": {"p95": None},
            "queue": {"pending": 1, "inFlight": 0, "concurrency": 4},
        }  # fmt: skip
        return [{
            "destination": destination, "health": health, "totals": {"attempts": total},
            "series": [{"attempts": 100}], "inDlq": 1_000, "atLeast": True,
        }]  # fmt: skip


def test_the_rate_is_that_between_two_looks_and_at_first_that_of_the_hour() -> None:
    overview = Overview(Client(500, 530, 530), "pending")  # type: ignore[arg-type]  # a fake
    hour = 3_600 * 500_000
    (first,) = overview.rows(10, hour + 50)
    assert (first["rate"], first["concurrency"], first["inDlq"]) == (2.0, "auto (4)", "1000+")
    assert [overview.rows(10, hour + at)[0]["rate"] for at in (60, 70)] == [3.0, 0.0]
