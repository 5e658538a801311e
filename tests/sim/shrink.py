"""The shrinker makes the plan of a history as small as possible. It leaves out a part of the plan if the
history without this part still breaks the same promise."""

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from tests.sim.plan import Bounds, Plan

TRIES = 200  # histories: about 20 s
Breaks = Callable[[Plan], bool]


def shrink(plan: Plan, breaks: Breaks) -> Plan:
    """Leave out parts of `plan`, and return the smallest plan that was found for which `breaks` returns
    True. `breaks` must return True for `plan` itself."""
    left = TRIES
    smaller = True
    while smaller:
        smaller = False
        for tried in _smaller(plan):
            if not left:
                return plan
            left -= 1
            if breaks(tried):
                plan, smaller = tried, True
                break
    return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Yield plans with something left out, large parts first."""
    for kind in sorted(plan.faults):
        strikes = tuple(each for each in plan.strikes if each.kind != kind)
        yield replace(plan, faults=plan.faults - {kind}, strikes=strikes)
    for name in ("posts", "wishes", "strikes"):
        yield from _without(plan, name)
    if plan.bounds != Bounds():
        yield replace(plan, bounds=Bounds())
    # A destination that is left out stays in the plan, but is never created. If it were removed from the
    # plan, the other destinations would get other numbers, and so other receivers.
    for number, each in enumerate(plan.destinations):
        if each.at <= plan.span_s:
            never = replace(each, at=float("inf"))
            kept = (*plan.destinations[:number], never, *plan.destinations[number + 1 :])
            yield replace(plan, destinations=kept)
    for number, each in enumerate(plan.destinations):
        if each.receiver != "well":
            well = replace(each, receiver="well")
            kept = (*plan.destinations[:number], well, *plan.destinations[number + 1 :])
            yield replace(plan, destinations=kept)


def _without(plan: Plan, name: str) -> Iterator[Plan]:
    """Yield plans in which items of the list `name` are left out: first each half of the list, then each
    quarter, and so on down to each single item."""
    things = getattr(plan, name)
    size = (len(things) + 1) // 2
    while size and things:
        for start in range(0, len(things), size):
            yield replace(plan, **{name: things[:start] + things[start + size :]})
        size = size // 2 if size > 1 else 0
