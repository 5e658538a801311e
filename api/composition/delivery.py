"""The composition of deliveries."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial

from api.composition.carrying import Carrying, Filing
from api.composition.foundation import Foundation, WorkerNode
from api.shares import shares_of
from engine.actors.attempts import Attempts
from engine.actors.decisions import machine_class
from engine.actors.directory import Directory
from engine.actors.script_limit import ScriptLimit
from engine.actors.waker import Waker
from engine.core.destination import Destination
from engine.intake.intake import Intake
from engine.intake.intakes import Intakes
from engine.nodes.parts import OwnPart
from engine.outbound import OutboundSender
from engine.outbound.authenticating import Authenticator
from engine.outbound.tokens import Tokens
from engine.ports import IntakeStore
from engine.recording.group import SettledReplays
from engine.recording.measures import Measured
from engine.recording.outcome_queue import OutcomeQueue
from engine.recording.recorder import Recorder
from engine.replay.runner import ReplayRunner
from engine.routing.backfill import DestinationRoutes
from engine.runtime.pressure import Pressure
from engine.runtime.wake import Wake
from engine.settings import Settings
from engine.wire.client import WireClient
from storage.backlog.reading import BACKLOG, BACKLOG_READERS, PostgresBacklog
from storage.database.bridge import Bridge
from storage.database.profiles import INTAKE, SETTLE
from storage.dead_letters.requeue import PostgresRequeue
from storage.embedded.server import EmbeddedServer
from storage.encryption.secretbox import SecretBox
from storage.intake.large import PostgresLargeIntake
from storage.intake.store import PostgresIntake
from storage.recording.settle import PostgresSettle
from storage.replays.running import READERS, REPLAYING, PostgresReplays


class Sharing:
    """The limits on the number of API requests that run at once for one workspace (`api.shares`), and the
    log of tasks that wait for a resource (`Pressure`)."""

    def __init__(self, settings: Settings, client: WireClient, directory: Directory) -> None:
        wire = client.wiring
        control = self.control = shares_of(settings)
        self.pressure = Pressure(
            {
                "attempts": lambda: directory.attempts.waiting,
                "descriptors": lambda: wire.descriptors.waiting,
                "openings": lambda: wire.openings.waiting,
                "handshakes": lambda: wire.handshakes.waiting,
                "names": lambda: wire.resolver.waiting,
                "control reads": lambda: control.reads.statistics().waiting,
                "control writes": lambda: control.writes.statistics().waiting,
                "control outward": lambda: control.outward.statistics().waiting,
            }
        )


class DeliveryParts(Foundation):
    """The objects that deliver events, such as the intake, the directory of actors, the outbound sender
    and the recorder of outcomes."""

    def __init__(
        self,
        settings: Settings,
        bridge: Bridge,
        box: SecretBox,
        embedded: EmbeddedServer | None,
        worker: WorkerNode | None,
    ) -> None:
        super().__init__(settings, bridge, box, embedded, worker)
        now = self.clock.now
        self.filing = Filing(self, box)
        self.carrying = Carrying(self, box, self.filing)
        self.script_limit = ScriptLimit()
        spawn = self.background.spawn
        tokens = Tokens(self.wire.wiring, spawn, now)
        self.authenticator = Authenticator(tokens, self.wire.wiring.identities, spawn)
        self.outbound = OutboundSender(
            self.wire,
            self.carrying.carrier,
            self.transforms,
            self.templates,
            self.authenticator,
            self.timers,
            self.clock,
            self.script_limit,
        )
        outcomes = OutcomeQueue(settings.settle_group)
        attempts = Attempts(settings.max_in_flight, outcomes.holds, script_limit=self.script_limit)
        settled_replays = SettledReplays()
        settle = bridge.connection(SETTLE, self.ownership.renew_settle)
        self.measures = None if settings.operations_bind is None else Measured()
        self.recorder = Recorder(
            PostgresSettle(settle, self.ownership),
            outcomes,
            now,
            relieved=attempts.pass_on,
            replays=settled_replays,
            totals=self.throughput,
            feed=self.feed,
            announcer=self.announcer,
            measures=self.measures,
            workers=self.part.of,
        )
        forgettable = Wake()
        backlog = self.backlog = PostgresBacklog(
            bridge.make_pool(BACKLOG, BACKLOG_READERS), self.part
        )
        own = OwnPart(self.models, self.part)
        self.directory = Directory(
            settings=settings,
            find=self.models.destinations.get if self.part.whole else own.destination,
            now=now,
            timers=self.timers,
            sender=self.outbound if self.tracing is None else self.tracing.sender(self.outbound),
            recorder=self.recorder,
            store=backlog,
            attempts=attempts,
            memory=self.memory,
            forgettable=forgettable,
            gone=partial(self.background.spawn, self.disable_gone),
            make_machine=machine_class(),
        )
        self.sharing = Sharing(settings, self.wire, self.directory)
        self.waker = Waker(self.directory, backlog, self.clock, settings.passivate_after)
        accept = bridge.connection(INTAKE, self.ownership.renew_intake)
        beside = bridge.connection(INTAKE, self.ownership.renew_intake)
        owns = None if self.part.whole else own.has
        self.intake = Intakes(
            self._intake(PostgresIntake(accept, self.ownership, box), forgettable, owns),
            self._intake(PostgresLargeIntake(beside, self.ownership, box), None, owns),
        )
        self.requeue = PostgresRequeue(accept, self.ownership)
        self.replays = ReplayRunner(
            PostgresReplays(bridge.make_pool(REPLAYING, READERS), accept, self.ownership),
            self.intake.entries,
            self.models.destinations.get,
            self.identity,
            now,
            self.own_events.announce,
            lambda: self.intake.statistics().events,
            settled_replays,
            self.directory,
            DestinationRoutes(self.router),
        )

    @abstractmethod
    async def disable_gone(self, gone: Destination, quiet: bool, overdue: bool) -> None:
        """Disable a destination whose receiver is gone. `DestinationCommands.disable_gone` explains
        `quiet` and `overdue`."""

    def _intake(
        self, store: IntakeStore, wake: Wake | None, owns: Callable[[int], bool] | None
    ) -> Intake:
        return Intake(
            store if self.tracing is None else self.tracing.store(store),
            self.directory,
            self.identity,
            self.settings,
            self.clock.now,
            accepted=self.throughput.accepted,
            wake=wake,
            owns=owns,
        )
