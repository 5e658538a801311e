"""Planted bugs between nodes that share a database: incomplete takeovers, missing checks of the right to
write, and answers that are lost on a link.

The histories that must reveal these bugs have 2 to 5 nodes.
"""

from api.door import request_relay
from api.door.conversation import Conversation
from api.door.request_relay import RequestRelay
from engine.intake.intake import Intake
from engine.nodes.parts import WorkerPart
from engine.nodes.placement import MoveWatch
from tests.sim import links, machines
from tests.sim.mutants.planting import ALWAYS, DROPPED, NEVER, mutant
from tests.sim.store import settle
from tests.sim.store.rights import Rights

FENCES = (
    mutant(
        "two owners at once",
        "A node that takes a part leaves its former holder the right to accept events.",
        (Rights, "take_over", "call pop", DROPPED),
        nodes=True,
    ),
    mutant(
        "one slot is taken, the others stay",
        "A process that lost one slot goes on with the others of its part.",
        (Rights, "take_over", "call pop", DROPPED),
        (Rights, "take_over", "call _strip", DROPPED),
        needs="regroup",
        nodes=True,
    ),
    mutant(
        "outcomes of slots that were lost",
        "A process that lost one slot goes on recording attempts of its other slots.",
        (Rights, "take_over", "call _strip", DROPPED),
        needs="regroup",
        nodes=True,
    ),
    mutant(
        "a home commits without its lease",
        "The intake's statement does not look at its process's row.",
        (Rights, "owns_intake", "return processes", "return True"),
        needs="freeze",
        nodes=True,
    ),
    mutant(
        "a part settles without its lease",
        "The recorder's statement does not look at the lease of its part.",
        (settle, "settle", "call require_settle", DROPPED),
        needs="freeze",
        nodes=True,
    ),
    mutant(
        "a late tell of an old epoch",
        "A group that was refused for its old epoch is told to callers and actors all the same.",
        (
            Intake,
            "_write",
            "set outlast",
            "try:\n"
            "    HERE\n"
            "except StoreError as error:\n"
            "    if type(error).__name__ != 'OwnershipLostError': raise\n"
            "    acceptance = Acceptance(1 << 60, {})",
        ),
        nodes=True,
    ),
    mutant(
        "every workspace is everybody's",
        "Each node takes all workspaces for its own.",
        (WorkerPart, "has", "compare number", ALWAYS),
        nodes=True,
    ),
)
MOVES = (
    mutant(
        "a drained machine is offered parts",
        "The placement leaves parts on a machine that is drained, and gives it others.",
        (machines, "places_of", "if drained", ALWAYS),
        needs="machines",
        nodes=True,
    ),
    mutant(
        "a part never moves",
        "A holder does not notice that its part belongs on another machine.",
        (MoveWatch, "leaves", "compare STEADY_LOOKS", NEVER),
        needs="machines",
        nodes=True,
    ),
)
RELEASES = (
    mutant(
        "a later release is not understood",
        "A link is refused if its handshake says more than this release knows.",
        (links, "accept", "set host", "_, host, port = orjson.loads(said)\nkind = []"),
        needs="releases",
        nodes=True,
    ),
    mutant(
        "a goodbye is taken for an answer",
        "A client gets what the other release says before it closes an idle link.",
        (Conversation, "_answer", "if _unwanted", NEVER),
        needs="releases",
        nodes=True,
    ),
)
FATES = (
    mutant(
        "an unknown fate is called not begun",
        "If a link ends before the answer, the request is sent again on another link.",
        (Conversation, "hold", "if answer", "if not answer:\n    raise NotBegunError"),
        needs="links",
        nodes=True,
    ),
    mutant(
        "a lost fate is called a refusal",
        "If a link breaks before the answer, its caller is told that no event was accepted.",
        (
            RequestRelay,
            "_relay",
            "if started",
            "HERE\nawait _refuse(exchange, send, 503, 'overloaded', '')\nreturn",
        ),
        needs="links",
        nodes=True,
    ),
    mutant(
        "a lost fate is called a success",
        "If a link breaks before the answer, its caller is told that the event was accepted.",
        (
            Conversation,
            "hold",
            "if answer",
            "answer = answer or b'HTTP/1.1 202 OK\\r\\ncontent-length: 26\\r\\n\\r\\n'"
            ' b\'{"id":"none","results":[]}\'',
        ),
        needs="links",
        nodes=True,
    ),
    mutant(
        "a slow answer is called a refusal",
        "A slow node that has read a request is treated as if it had not read it.",
        (Conversation, "hold", "call see_that_read", "raise AwayError"),
        nodes=True,
    ),
    mutant(
        "a request without a key is served again",
        "Each request whose link breaks is served by the next node, with a key or without.",
        (request_relay, "can_repeat", "return all", "return True"),
        needs="links",
        nodes=True,
    ),
    mutant(
        "a lost fate is tried again",
        "If a link breaks before the answer, the request is relayed once more.",
        (
            RequestRelay,
            "_relay",
            "if started",
            "exchange.rewind()\nreturn await self._relay(part, exchange, client, receive, send)",
        ),
        needs="links",
        nodes=True,
    ),
)
