"""The intakes' side of the composition: one for everybody, one for large batches, made of the server's
parts."""

from typing import TYPE_CHECKING

from engine.intake.intake import Intake
from engine.intake.intakes import Intakes
from storage.database.connection import Connection
from storage.database.profiles import INTAKE
from storage.encryption.secretbox import SecretBox
from storage.intake.large import PostgresLargeIntake
from storage.intake.store import PostgresIntake

if TYPE_CHECKING:
    from api.composition import Server


def intakes_of(server: "Server", accept: Connection, box: SecretBox) -> Intakes:
    """Return what makes events durable, by `accept` and a connection of their own."""
    ownership = server.ownership
    beside = server.bridge.connection(INTAKE, ownership.renew_intake)
    small, large = (
        Intake(
            store,
            server.directory,
            server.identity,
            server.settings,
            server.clock.now,
            accepted=server.throughput.accepted,
            wake=wake,
        )
        for store, wake in (
            (PostgresIntake(accept, ownership, box), server.forgettable),
            (PostgresLargeIntake(beside, ownership, box), None),
        )
    )
    return Intakes(small, large)
