"""The knee, which is the highest rate that the server sustains in an open loop, and the overload above
the knee.

Under overload the server accepts some events and must refuse all others with 429 or 503. Every accepted
event must arrive. The number of events a second that arrive in time must stay about the same as at the
knee.

The latency of the answers is compared with the average wait that follows from Little's law. This wait is
the number of connections divided by the accepted events a second.

Below the knee, the p99 from due time to arrival is a few milliseconds. Above the knee, it reaches
hundreds of milliseconds.
"""

from bench.calibration import around, drifted, floors
from bench.checks import require, whole
from bench.latency import decoded, latency
from bench.limits import verdict
from bench.results import Floor, Latency, Measurement, Step
from bench.service import Receiver, Service
from bench.timeline import Timeline
from bench.work import Done, work

KNEE_P99_MS = 50.0  # from due time to arrival: about ten times that of an idle server
# The smallest share of a step's events that must arrive before the step ends. The other events can still
# be in flight then.
KEPT_UP = 0.95
TRIES = 2  # a single pause of the machine is not a knee
HALVINGS = 3  # of the interval between the last sustained rate and the first failed one
REFUSALS = ("429", "503")
ANSWERS = ("202", *REFUSALS)  # the allowed answers under overload


class Climb:
    """The measurement of rising rates on a server."""

    def __init__(
        self, service: Service, receiver: Receiver, seconds: float, connections: int
    ) -> None:
        service.destination(receiver.url + "/hook", ["bench.*"], concurrency=64)
        self._service, self._receiver = service, receiver
        self._seconds, self._connections = seconds, connections
        self._first = 0
        self.timeline = Timeline()
        self.steps: list[Step] = []
        self.void = ""

    def warm(self, events: int) -> None:
        """Open the connections and compile routes, in a closed loop."""
        plan = {
            "events": events,
            "connections": min(events, self._connections),
            "first": self._first,
        }
        self._first += events
        work(self._service, self._receiver, plan, lambda accepted: accepted)

    def step(self, rate: float, connections: int = 0) -> tuple[Done, dict[str, float]]:
        """Post events at a rate until the step ends. Events that are not sent by then are never sent; the
        figure `unsent` counts them."""
        self._receiver.reset()
        plan = {
            "steps": [[rate, self._seconds]],
            "connections": connections or self._connections,
            "first": self._first,
            "hdr": True,
            "give_up_s": self._seconds + 60,
        }
        self._first += round(rate * self._seconds) + 1
        done = work(
            self._service,
            self._receiver,
            plan,
            lambda accepted: accepted,
            timeline=self.timeline,
        )
        sent, stats = done.sent, done.stats
        whole(sent, stats)
        in_time = self._arrived(sent["began"] + self._seconds)
        figures: dict[str, float] = {
            "offeredPerSecond": rate,
            "acceptedPerSecond": round(sent["accepted"] / self._seconds, 1),
            "goodputPerSecond": round(in_time / self._seconds, 1),
            "refused": sum(
                count for status, count in sent["answers"].items() if status in REFUSALS
            ),
            "unsent": sent["unsent"],
            "cpuMicrosPerEvent": round(done.cpu_s / max(1, stats["unique"]) * 1e6, 1),
            "p50Ms": stats["p50Ms"] or 0.0,
            "p99Ms": stats["p99Ms"] or 0.0,
            "ackP99Ms": sent["ackP99Ms"] or 0.0,
            "answerP99Ms": sent["answerP99Ms"] or 0.0,
            "generatorBusy": sent["steps"][0]["busy"],
        }
        self.steps.append(Step("rate", rate, figures, _latency(done)))
        return done, figures

    def _arrived(self, until: float) -> int:
        return sum(at <= until for _, _, at in self._receiver.log())

    def knee(self, start: float, growth: float, most: float) -> Step:
        """Return the step of the highest sustained rate. If the server sustains no rate, return the first
        step."""
        held, failed, rate = 0.0, 0.0, start
        best: Step | None = None
        halvings = 0
        while not failed or halvings < HALVINGS:
            if self._holds(rate):
                held, best = rate, self.steps[-1]
            else:
                failed = rate
            if not failed:
                if rate >= most:
                    break
                rate = min(most, rate * growth)
            elif not held:
                break
            else:
                halvings += 1
                rate = (held + failed) / 2
        self.steps.sort(key=lambda step: step.value)
        return best or self.steps[0]

    def _holds(self, rate: float) -> bool:
        """Earlier failed tries are not reported."""
        for left in reversed(range(TRIES)):
            done, figures = self.step(rate)
            if self._kept_up(figures):
                return True
            if left:
                self.steps.pop()
        self.void = self.void or verdict(done.sent, done.stats)[1]
        return False

    @staticmethod
    def _kept_up(figures: dict[str, float]) -> bool:
        return (
            figures["goodputPerSecond"] >= KEPT_UP * figures["offeredPerSecond"]
            and figures["p99Ms"] <= KNEE_P99_MS
        )


def _latency(done: Done) -> Latency:
    return latency(decoded(done.stats["latency"]))


def steps(
    service: Service,
    receiver: Receiver,
    *,
    start: float,
    growth: float,
    most: float,
    seconds: float,
    connections: int,
    warm: int,
) -> Measurement:
    """Find the knee; return all steps."""
    climb = Climb(service, receiver, seconds, connections)
    climb.warm(warm)
    measured = [floors(service)]
    knee = climb.knee(start, growth, most)
    measured.append(floors(service))
    return _measurement(climb, measured, _knee(knee, measured))


def overload(
    service: Service,
    receiver: Receiver,
    *,
    start: float,
    growth: float,
    most: float,
    seconds: float,
    connections: int,
    overload_connections: int,
    times: float,
    warm: int,
) -> Measurement:
    """Find the knee, which is the highest rate that the server sustains. Then measure the server at the
    knee, at a rate `times` as high, and at the knee again. Raises `Broken` if an answer is neither an
    acceptance nor a refusal."""
    climb = Climb(service, receiver, seconds, connections)
    climb.warm(warm)
    measured = [floors(service)]
    knee = climb.knee(start, growth, most)
    steps = list(climb.steps)
    _, alone = climb.step(knee.value)
    measured.append(floors(service))
    done, beyond = climb.step(knee.value * times, overload_connections)
    answers = done.sent["answers"]
    require(set(answers) <= {*ANSWERS}, f"answers must be of {ANSWERS}: {answers}")
    measured.append(floors(service))
    _, again = climb.step(knee.value)
    goodput = (alone["goodputPerSecond"] + again["goodputPerSecond"]) / 2
    line_ms = 1000 * overload_connections / max(1.0, beyond["acceptedPerSecond"])
    figures = _knee(knee, measured) | {
        "kneeGoodputPerSecond": round(goodput, 1),
        "overloadGoodputPerSecond": beyond["goodputPerSecond"],
        "overloadRefused": beyond["refused"],
        "overloadUnsent": beyond["unsent"],
        "overloadAckP99Ms": beyond["ackP99Ms"],
        "goodputOverKnee": round(beyond["goodputPerSecond"] / max(1.0, goodput), 3),
        "overloadLineMs": round(line_ms, 1),
        "overloadAnswerP99Ms": beyond["answerP99Ms"],
        "answerP99OverLine": round(beyond["answerP99Ms"] / line_ms, 2),
    }
    climb.steps = [*steps, climb.steps[-2]]
    return _measurement(climb, measured, figures)


def _knee(knee: Step, measured: list[Floor]) -> dict[str, float]:
    micros = knee.figures["cpuMicrosPerEvent"]
    return {
        "kneePerSecond": knee.value,
        "kneeP99Ms": knee.figures["p99Ms"],
        "kneeTimesFloor": round(micros / around(measured).send_micros, 2),
    }


def _measurement(climb: Climb, measured: list[Floor], figures: dict[str, float]) -> Measurement:
    return Measurement(
        figures=figures,
        verdict="void" if climb.void else "ok",
        reason=climb.void,
        floors=measured,
        drifted=drifted(measured),
        timeline=climb.timeline.samples,
        steps=climb.steps,
    )
