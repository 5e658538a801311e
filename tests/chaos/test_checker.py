"""The checker finds broken promises. Each test changes correct logs so that they break one promise."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.checker import Interval, Verdict, judged, latest, pauses

PATHS = ("strict", "key", "free")
Lines = list[dict[str, Any]]


def sent() -> Lines:
    lines: Lines = [
        {"poster": "ab"[k % 2], "n": [f"{k}"], "began": k + 0.1, "ended": k + 0.2, "status": 202,
         "ids": [f"id{k}"]}
        for k in range(10)
    ]  # fmt: skip
    lines.append({"poster": "c", "n": ["c0", "c1"], "began": 20.0, "ended": 21.0, "status": None})
    lines.append({"poster": "d", "n": ["d0"], "began": 20.0, "ended": 21.0, "status": 503})
    return lines


def arrival(path: str, n: str, at: float, k: int, **more: object) -> dict[str, Any]:
    line = {
        "k": k, "run": 1, "path": f"/{path}", "n": n, "event": f"id{n}", "delivery": f"{path}{n}",
        "sha": f"sha{n}", "at": at,
    }  # fmt: skip
    return line | more


def received() -> Lines:
    lines: Lines = []
    for place, path in enumerate(PATHS):
        for n in range(10):
            k = 100 * place + n
            lines.append(arrival(path, str(n), 30 + n, k))
            lines.append({"k": k, "run": 1, "answered": 30.1 + n})
    return lines


def verdict(
    tmp_path: Path, out: Lines, come: Lines, crashes: list[Interval] | None = None
) -> Verdict:
    for name, lines in (("sent", out), ("received", come)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return judged(tmp_path / "sent", tmp_path / "received", PATHS, crashes or [], [])


def again(path: str, n: str, at: float) -> Lines:
    return [arrival(path, n, at, 900), {"k": 900, "run": 1, "answered": at + 0.1}]


def test_a_time_without_arrivals_at_any_path_is_a_pause(tmp_path: Path) -> None:
    soon = [arrival("free", "0", 30.0 + tenth / 10, 900 + tenth) for tenth in range(25)]
    verdict(tmp_path, sent(), [*received(), *soon])
    assert pauses(tmp_path / "received") == pytest.approx([0.6, *[1.0] * 6])


def test_the_latest_delivery_counts_from_the_request_that_was_accepted(tmp_path: Path) -> None:
    refused = {"poster": "a", "n": ["0"], "began": 1.0, "ended": 1.1, "status": 503}
    late = [*again("free", "3", 80.0), arrival("key", "0", 70.0, 901)]
    come = [line for line in received() if (line.get("path"), line.get("n")) != ("/key", "0")]
    verdict(tmp_path, [refused, *sent()], [*come, *late])
    assert latest(tmp_path / "sent", tmp_path / "received") == 70.0 - sent()[0]["began"]


def test_logs_in_order_violate_nothing(tmp_path: Path) -> None:
    found = verdict(tmp_path, sent(), received())
    assert found.violations == []
    assert (found.accepted, found.refused, found.doubtful, found.duplicates) == (10, 1, 2, 0)


def test_a_receiver_that_is_killed_over_its_answer_may_have_given_it(tmp_path: Path) -> None:
    out, come = _fail(sent(), received())
    found = verdict(tmp_path, out, [*come, *_answering(3)])
    assert (found.violations, found.failed) == ([], 1)
    found = verdict(tmp_path, out, [*come, *_answering(3), *again("strict", "3", 50)])
    assert (found.duplicates, len(found.violations)) == (0, 1)  # it came again after the others


def _without(lines: Lines, path: str, n: str) -> Lines:
    return [line for line in lines if (line.get("path"), line.get("n")) != (f"/{path}", n)]


def _lose(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    return out, _without(come, "free", "4")


def _fail(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    return out, [line for line in come if line != {"k": 3, "run": 1, "answered": 33.1}]


def _fail_to_answer(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    out, come = _fail(out, come)
    return out, [*come, *_answering(3), {"k": 3, "run": 1, "unanswered": 33.2}]


def _answering(k: int) -> Lines:
    return [{"k": k, "run": 1, "answering": 33.1}]


def _invent(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    return out, come + again("key", "nobody", 50)


def _deliver_refused(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    return out, come + again("key", "d0", 50)


def _reorder(path: str) -> Callable[[Lines, Lines], tuple[Lines, Lines]]:
    def reordered(out: Lines, come: Lines) -> tuple[Lines, Lines]:
        late = [line for line in come if (line.get("path"), line.get("n")) == (f"/{path}", "4")]
        return out, _without(come, path, "4") + late

    return reordered


def _rename(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    come[0]["event"] = "another"
    return out, come


def _change(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    come[0]["sha"] = "another"
    return out, come


def _repeat(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    return out, come + again("free", "4", 50)


def _tear(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    return out, come + [line for place, path in enumerate(PATHS) for line in _one(path, place)]


def _one(path: str, place: int) -> Lines:
    k = 950 + place
    return [arrival(path, "c0", 50, k), {"k": k, "run": 1, "answered": 50.1}]


def _deliver_partly(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    return [*out, {"poster": "e", "n": ["e0"], "began": 22, "ended": 23, "status": 500}], (
        come + again("free", "e0", 50)
    )


def _twice(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    return [*out, out[3] | {"ids": ["another"]}], come


def _complain(out: Lines, come: Lines) -> tuple[Lines, Lines]:
    return [*out, {"poster": "e", "n": ["e0"], "began": 22, "ended": 23, "status": 400}], come


@pytest.mark.parametrize(
    ("breaking", "said"),
    [
        (_lose, "1 lost at /free: ['4']"),
        (_fail, "1 lost at /strict: ['3']"),
        (_fail_to_answer, "1 lost at /strict: ['3']"),
        (_invent, "1 invented at /key"),
        (_deliver_refused, "refused with 503, and at /key all the same"),
        (_reorder("strict"), "out of order at /strict"),
        (_reorder("key"), "out of order at /key"),
        (_rename, "under another id"),
        (_change, "several ids or bodies"),
        (_repeat, "1 again at /free without a crash"),
        (_tear, "1 of a batch of 2"),
        (_deliver_partly, "delivered elsewhere and not at /strict"),
        (_twice, "3 has two ids"),
        (_complain, "answered with 400"),
    ],
)
def test_a_broken_promise_is_found(
    tmp_path: Path, breaking: Callable[[Lines, Lines], tuple[Lines, Lines]], said: str
) -> None:
    found = verdict(tmp_path, *breaking(sent(), received())).violations
    assert any(said in violation for violation in found), found


def test_order_is_not_asked_of_what_has_none(tmp_path: Path) -> None:
    assert verdict(tmp_path, *_reorder("free")(sent(), received())).violations == []


def test_a_crash_excuses_what_it_may_have_cut_off_and_nothing_older(tmp_path: Path) -> None:
    come = received() + again("free", "4", 50)
    for crash, fine in (
        (Interval(34.2, 35), True),
        (Interval(40, 41), False),
        (Interval(51, 52), False),
    ):
        found = verdict(tmp_path, sent(), come, [crash])
        assert (found.violations == []) is fine, crash
        assert found.duplicates == 1


@pytest.mark.parametrize(("age", "late"), [(0, False), (4, True), (90, False), (-90, False)])
def test_what_was_read_too_late_may_come_again(tmp_path: Path, age: int, late: bool) -> None:
    come = received()
    for line in come:
        if (line.get("path"), line.get("n")) == ("/free", "4"):
            line["age"] = age
    found = verdict(tmp_path, sent(), come + again("free", "4", 50))
    assert (found.violations == []) is late
    assert found.late == late


@pytest.mark.parametrize(("age", "fine"), [(0, False), (2, True)])
def test_a_crash_excuses_what_a_receiver_that_stood_still_read_after_it(
    tmp_path: Path, age: int, fine: bool
) -> None:
    come = received()
    for line in come:
        if (line.get("path"), line.get("n")) == ("/free", "4"):
            line["age"] = age  # read at 34, sent before the crash
    found = verdict(tmp_path, sent(), come + again("free", "4", 34.5), [Interval(32, 33)])
    assert (found.violations == []) is fine
