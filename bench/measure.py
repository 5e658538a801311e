"""The measurement of a declared scenario. The scenario's variants, such as `none` and `key`, take turns.
Before and after each turn, the floors of the machine are measured (`bench.calibration`).

If there are several variants, the name of a figure begins with the name of its variant (`keyTimesFloor`).
The name of a ratio between two variants has the names of both (`keyOverNone`).
"""

import statistics
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from bench.calibration import around, drifted, floors
from bench.checks import require, whole
from bench.declared import Declaration, Variant, declaration
from bench.intervals import ratios
from bench.latency import latency, merged
from bench.limits import verdict
from bench.load import LANE_SPAN
from bench.results import Floor, Latency, Measurement, Step
from bench.scenario import Serve, Sizes
from bench.service import Service
from bench.staging import Stage
from bench.timeline import Timeline
from bench.work import Done, work

Numbers = dict[str, float]


def serve(settings: Mapping[str, str] | None = None) -> Service:
    """Start a server with default settings."""
    return Service(settings=settings)


def measured(name: str, raw: Mapping[str, Any], sizes: Sizes, other: Serve | None) -> Measurement:
    """Measure the scenario of a file with these sizes. Raises Broken."""
    declared = declaration(name, raw, sizes)
    with Stage(name, declared, other or serve) as stage:
        return Run(declared, stage).measured()


class Run:
    """One run of a scenario. Each event number is used once."""

    def __init__(self, declared: Declaration, stage: Stage) -> None:
        self._declared = declared
        self._stage = stage
        self._first = 0
        self._timeline = Timeline()
        self._floors: list[Floor] = []
        self._done: dict[str, list[Done]] = defaultdict(list)
        self._figures: dict[str, list[Numbers]] = defaultdict(list)

    def measured(self) -> Measurement:
        """Measure all variants."""
        declared = self._declared
        last = declared.variants[-1]
        turns = [
            (number, variant)
            for number in range(declared.rounds)
            for variant in (declared.variants if number % 2 == 0 else declared.variants[::-1])
        ]
        # Only the last turn of the last variant is profiled.
        profiled = max(place for place, (_, variant) in enumerate(turns) if variant is last)
        self._floors.append(floors(self._stage.service(turns[0][1])))
        for place, (_, variant) in enumerate(turns):
            if variant.load.warm:
                self._work(variant, warm=True)
            done = self._work(variant, profiled=place == profiled)
            self._floors.append(floors(self._stage.service(variant)))
            self._done[variant.name].append(done)
            self._figures[variant.name].append(
                self._numbers(variant, done, around(self._floors[-2:]))
            )
        found = self._whole()
        if profile := self._done[last.name][-1].profile:
            profile.into(found)
        return found

    def _work(self, variant: Variant, *, warm: bool = False, profiled: bool = False) -> Done:
        stage, declared = self._stage, self._declared
        takers = declared.takers(variant.load.to)
        deliveries = sum(group.count if group.fanout else 1 for group in takers if not group.dead)
        plan = stage.plan(variant)
        events = variant.load.number
        if warm:
            events = variant.load.warm
            plan |= {"events": events, "rate": 0}
        plan["first"] = self._first
        self._first += events
        stage.behave(variant.receivers)
        done = work(
            stage.service(variant),
            stage.receiver,
            plan,
            lambda accepted: accepted * deliveries,
            settled=lambda: stage.recorded(variant),
            timeline=None if warm else self._timeline,
            profiled=profiled,
        )
        require(
            done.sent["accepted"] == events,
            f"{variant.name or 'it'} accepted {done.sent['accepted']} of {events}:"
            f" {done.sent['answers']}",
        )
        ordered = variant.load.own_lanes and any(
            group.delivery.ordering != "NONE" for group in takers
        )
        disorder = stage.receiver.disorder(span=LANE_SPAN) if ordered else 0
        whole(done.sent, done.stats, deliveries, repeats=declared.duplicates, disorder=disorder)
        group = declared.group(variant.load.to)
        if not (warm or variant.load.zipf or group.fanout or len(takers) > 1):
            served, least = done.stats["paths"], done.stats["leastOfAPath"]
            require(served == min(events, group.count), f"{served} of {group.count} were served")
            require(least >= events // group.count, f"a destination got {least}")
        return done

    # --- the results

    def _numbers(self, variant: Variant, done: Done, floor: Floor) -> Numbers:
        sent, stats = done.sent, done.stats
        events, deliveries = sent["accepted"], stats["unique"]
        span_s = stats["last"] - sent["began"]
        per_delivery = done.cpu_s / deliveries * 1e6
        figures: Numbers = {
            "events": events,
            "timesFloor": round(per_delivery / floor.send_micros, 2),
            "cpuMicrosPerEvent": round(done.cpu_s / events * 1e6, 1),
            "ofWhichDatabaseMicros": round(done.database_s / events * 1e6, 1),
            "floorMicros": floor.send_micros,
            "acceptedPerSecond": sent["acceptedPerSecond"],
            "deliveredPerSecond": round(deliveries / span_s, 1),
            "rssGrowthMb": done.rss_growth_mb,
        }
        if deliveries != events:
            figures["deliveries"] = deliveries
            figures["cpuMicrosPerDelivery"] = round(per_delivery, 1)
        if stats["failed"]:
            figures["failedAttempts"] = stats["failed"]
        if stats["duplicates"]:
            figures["duplicates"] = stats["duplicates"]
        if variant.load.sizes:
            figures["bytesPerEvent"] = round(sent["sentBytes"] / events)
        for source in (stats, sent):
            figures |= {
                key: round(value, 3)
                for key, value in source.items()
                if key.endswith("Ms") and value is not None
            }
        for name, source in (("generator", sent), ("receiver", stats)):
            figures[f"{name}Busy"] = source["busy"]
            if source["limitPerSecond"] is not None:  # unknown for a run with few requests
                figures[f"{name}LimitPerSecond"] = source["limitPerSecond"]
        return figures

    def _whole(self) -> Measurement:
        declared = self._declared
        found = Measurement(
            figures={},
            floors=self._floors,
            drifted=drifted(self._floors),
            timeline=self._timeline.samples,
        )
        for variant in declared.variants:
            turns, done = self._figures[variant.name], self._done[variant.name]
            numbers = {
                key: statistics.median([each[key] for each in turns if key in each])
                for key in dict.fromkeys(key for each in turns for key in each)
            }
            found.figures |= {named(variant.name, key): each for key, each in numbers.items()}
            latencies = {
                "delivery": latency(merged(each.stats["latency"] for each in done)),
                "accept": latency(merged(each.sent["ack"] for each in done)),
            }
            found.latencies |= {named(variant.name, key): each for key, each in latencies.items()}
            if variant.value is not None:
                found.steps.append(self._step(variant, numbers, latencies["delivery"]))
        reasons = (
            f"{variant.name}: {reason}" if variant.name else reason
            for variant in declared.variants
            for done in self._done[variant.name]
            for _, reason in [verdict(done.sent, done.stats)]
            if reason
        )
        if reason := next(reasons, ""):
            found.verdict, found.reason = "void", reason
        for variant in declared.variants[1:]:
            for figure in declared.compared:
                found.figures |= self._over(variant.name, figure)
        return found

    def _step(self, variant: Variant, numbers: Numbers, delivery: Latency) -> Step:
        assert variant.value is not None
        return Step(self._declared.step or "value", variant.value, numbers, delivery)

    def _over(self, name: str, figure: str) -> Numbers:
        first = self._declared.variants[0].name
        title = over(name, first, figure)
        pairs = [
            [each[figure] for each in self._figures[which] if figure in each]
            for which in (first, name)
        ]
        return ratios(title, *pairs)


def named(variant: str, figure: str) -> str:
    """Return a figure's name with its variant's name."""
    return variant + figure[0].upper() + figure[1:] if variant else figure


def over(name: str, first: str, figure: str) -> str:
    """Return the name of the ratio of a figure between two variants, such as `keyOverNoneP99Ms`. For the
    figure `timesFloor`, the name is only `keyOverNone`."""
    title = f"{name}Over{first[0].upper()}{first[1:]}"
    return title if figure == "timesFloor" else f"{title}{figure[0].upper()}{figure[1:]}"
