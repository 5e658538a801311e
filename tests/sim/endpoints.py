"""Token endpoints, and the sender that fetches tokens from them.

Only the fetch of a token is simulated. The code of `engine.outbound` keeps and renews the tokens. When
the faults of a history are over, all fetches succeed.
"""

import json
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

import trio
from msgspec.structs import replace

from engine.core.destination import Authentication, ClientCredentials
from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.model.configuration import DestinationRecord
from engine.outbound import tokens
from engine.outbound.authenticating import Authenticator
from engine.outbound.ports import Failure
from engine.outbound.sender import OutboundSender
from engine.outbound.tokens import FAILED_S, Tokens
from engine.ports import Transmission
from tests.sim.trace import TokenAsked, TokenTold

if TYPE_CHECKING:
    from tests.sim.plan import NewDestination
    from tests.sim.process import Process
    from tests.sim.world import World

SHARE = 0.12  # share of histories in which destinations use tokens
REVOKING = 0.5  # share of the destinations with tokens whose receivers revoke tokens
KINDS = ("prompt", "fails", "hangs", "late", "short")
NEVER_S = 1e9
LIVES_S = (3, 8, 20)  # lifetimes of tokens from an endpoint of kind "short"
_URL = "https://tokens.example/"


def with_tokens(
    chance: Random, destinations: tuple["NewDestination", ...]
) -> tuple["NewDestination", ...]:
    if chance.random() >= SHARE:
        return destinations
    return tuple(
        replace(each, endpoint=chance.choice(KINDS)) if chance.random() < 0.7 else each
        for each in destinations
    )


def with_revocations(
    chance: Random, destinations: tuple["NewDestination", ...]
) -> tuple["NewDestination", ...]:
    return tuple(
        replace(each, revokes=each.endpoint is not None and chance.random() < REVOKING)
        for each in destinations
    )


def document(number: int) -> dict[str, Any]:
    return {
        "kind": "OAUTH2_CLIENT_CREDENTIALS",
        "tokenUrl": f"{_URL}{number}",
        "clientId": f"client {number}",
        "clientSecret": "secret",
    }


def endpoint_of(record: DestinationRecord) -> int | None:
    return _number(record.authentication)


def _number(authentication: Authentication | None) -> int | None:
    if not isinstance(authentication, ClientCredentials):
        return None
    return int(authentication.token_url.removeprefix(_URL))


class Endpoints:
    """Owner of the numbers of fetches and tokens."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._chance = world.chance("token endpoints")
        self._fetches = 0

    async def ask(self, process: "Process", number: int) -> tuple[bytes | Failure, float]:
        """Answer the fetch of a token, in the form that `engine.outbound.tokens.Tokens` expects."""
        world = self._world
        self._fetches += 1
        fetch, token, life_s = self._fetches, "", 0.0
        world.tell(TokenAsked, fetch, process.number, number)
        after_s, status, life = self._answer(number)
        try:
            await trio.sleep(after_s)
            await process.awake()
            if status == 200:
                token, life_s = f"Bearer token-{fetch}", life
        finally:
            if not process.dead:
                world.tell(TokenTold, fetch, token, life_s)
        if token:
            answer = {"access_token": f"token-{fetch}", "expires_in": life}
            return tokens.token_of(json.dumps(answer).encode())
        words = f"the token endpoint answered {status}"
        return Failure(ErrorCategory.AUTHENTICATION, words), FAILED_S

    def _answer(self, number: int) -> tuple[float, int, float]:
        """Return a delay in seconds, a status, and the token's lifetime in seconds."""
        chance = self._chance
        kind = self._world.plan.destinations[number].endpoint
        if self._world.calm or kind == "prompt":
            return 0.02, 200, 3_600
        if kind == "fails":
            return 0.05, chance.choice((200, 401, 500)), 3_600
        if kind == "hangs":
            return (NEVER_S if chance.random() < 0.4 else 0.02), 200, 60
        if kind == "late":
            return chance.uniform(0.5, 20), 200, chance.choice((30, 3_600))
        return 0.1, 200, chance.choice(LIVES_S)


class SimulatedTokens(Tokens):
    def __init__(self, process: "Process") -> None:
        spawn = process.background.spawn
        super().__init__(None, spawn, process.clock.now)  # type: ignore[arg-type]  # nothing is sent
        self._process = process

    async def _asked(
        self, workspace: str, client: ClientCredentials
    ) -> tuple[bytes | Failure, float]:
        number = _number(client)
        assert number is not None
        return await self._process.world.endpoints.ask(self._process, number)


class Outbound:
    """The sender of a process. A request passes through the real stages of the sender, and then goes to
    the simulated network."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._begun: dict[tuple[str, int], list[float]] = {}  # several if a call broke
        spawn = process.background.spawn
        self._stages = OutboundSender(
            self,
            None,  # type: ignore[arg-type]  # no event has files
            None,  # type: ignore[arg-type]  # no destination has a script
            None,  # type: ignore[arg-type]  # nor a template
            Authenticator(SimulatedTokens(process), None, spawn),  # type: ignore[arg-type]  # no certificate
            process.timers,
            process.clock,
        )
        self.stop = self._stages.stop

    def begin(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        attempt = transmission.delivery.id, transmission.number
        began = self._process.world.now()
        self._begun.setdefault(attempt, []).append(began)

        def ended(outcome: Outcome) -> None:
            self._begun[attempt].remove(began)
            done(outcome)

        self._stages.send(transmission, ended)

    def send(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        """Send a complete request to the simulated network. The sender's stages call this method
        where the real sender calls an HTTP client. After a 401, the stages call it again in the same
        attempt."""
        world = self._process.world
        began = self._begun[transmission.delivery.id, transmission.number][-1]
        world.network.send(self._process, transmission, done, world.now() - began)

    def forget(self, destination: str) -> None:
        """Do nothing: nothing is kept for an actor here."""
