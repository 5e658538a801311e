"""The server as its metrics see it."""

from typing import Protocol

from api.door.front import FrontDoor
from engine.actors.directory import Directory
from engine.actors.supervisor import Supervisor
from engine.ingest.own_events import OwnEvents
from engine.intake.intakes import Intakes
from engine.model.read_models import Models
from engine.nodes.liveness import Liveness
from engine.recording.measures import Measured
from engine.recording.recorder import Recorder
from engine.recording.throughput import Throughput
from engine.replay.runner import ReplayRunner
from engine.runtime.loop_watch import LoopWatch
from engine.tracing.opening import Tracing
from engine.transforms.pool import TransformPool
from engine.wire.client import WireClient


class MeasuredServer(Protocol):
    """The parts of a server that a scrape reads. `api.composition.Server` has them."""

    directory: Directory
    door: FrontDoor
    intake: Intakes
    measures: Measured | None
    models: Models
    own_events: OwnEvents
    recorder: Recorder
    replays: ReplayRunner
    supervisor: Supervisor
    throughput: Throughput
    tracing: Tracing | None
    transforms: TransformPool
    watch: LoopWatch
    wire: WireClient

    @property
    def bridge(self) -> "MeasuredBridge": ...
    @property
    def membership(self) -> "MeasuredMembership": ...
    def unready(self) -> list[str]: ...


class MeasuredMembership(Protocol):
    liveness: Liveness


class MeasuredBridge(Protocol):
    @property
    def pool(self) -> "MeasuredPool": ...


class MeasuredPool(Protocol):
    def statistics(self) -> "PoolUse": ...


class PoolUse(Protocol):
    @property
    def lent(self) -> int: ...
    @property
    def waiting(self) -> int: ...
