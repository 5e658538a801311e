"""Planted bugs: in the handling of tokens, and in the time until a failing destination is disabled."""

from engine.actors.context import Context
from engine.core.failing import Failing
from engine.core.throttle import Throttle
from engine.outbound import tokens
from engine.outbound.sender import Preparation
from engine.outbound.tokens import Tokens
from tests.sim.mutants.planting import DROPPED, NEVER, mutant

TOKENS = (
    mutant(
        "a fetch for each attempt",
        "An attempt fetches a token that another attempt already waits for.",
        (Tokens, "get", "set waiting get", "waiting = None"),
        needs="tokens",
    ),
    mutant(
        "a token beyond its life",
        "A token is used for a minute after its end.",
        (tokens, "token_of", "sum min", "life + 60"),
        needs="tokens",
    ),
    mutant(
        "no pause after a failed fetch",
        "A token endpoint that fails is asked again at once.",
        (
            Tokens,
            "_fetch",
            "call KeptToken",
            "KeptToken(result, trio.current_time() + keep_s * (not isinstance(result, Failure)))",
        ),
        needs="tokens",
    ),
    mutant(
        "a refused token is kept",
        "After a 401 the request is sent again with the same token.",
        (Tokens, "refused", "if kept", NEVER),
        needs="revocations",
    ),
    mutant(
        "a 401 is final",
        "A request whose token was refused is not sent again with a new one.",
        (Preparation, "_sent", "if status", NEVER),
        needs="revocations",
    ),
    mutant(
        "a fetch without an end",
        "Attempts wait without a bound for a token endpoint that never answers.",
        (Tokens, "_fetch", "call fail_after", "trio.fail_after(1e8)"),
        needs="tokens",
    ),
    mutant(
        "failures of tokens are kept back",
        "Attempts that wait for a token do not hear that its fetch failed.",
        (
            Tokens,
            "_fetch",
            "for waiting",
            "if not isinstance(result, Failure):\n    HERE",
        ),
        needs="tokens",
    ),
)
PATIENCE = (
    mutant(
        "endless patience",
        "A destination is not disabled however long it has failed.",
        (Throttle, "_lose_patience", "if fails_longer", NEVER),
        needs="patience",
    ),
    mutant(
        "a success does not restore patience",
        "A destination that recovers still counts as failing since the beginning.",
        (Failing, "succeeded", "set restarted_at", "self.silent_since = None"),
        needs="patience",
    ),
    mutant(
        "enabled without patience",
        "A destination that was enabled again has failed for as long as before.",
        (Failing, "restart", "set restarted_at", DROPPED),
        needs="patience switch",
    ),
    mutant(
        "enabled asleep without patience",
        "A destination that was enabled while it had no actor has failed for as long as before.",
        (Throttle, "_restore", "if enabled", NEVER),
        needs="patience switch",
    ),
    mutant(
        "the clock takes patience",
        "If the clock steps ahead, the step counts as failing time of a dormant destination.",
        (Context, "machine_of", "choice known", "0.0"),
        needs="patience drift passive down",
    ),
    mutant(
        "the clock takes patience in memory",
        "If the clock steps ahead, the step counts as failing time of a destination.",
        (Failing, "clock_stepped", "set since", DROPPED),
        needs="patience drift",
    ),
)
