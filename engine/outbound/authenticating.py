"""The stage that authenticates requests: it fetches tokens and prepares client certificates."""

from collections.abc import Callable

from engine.core.destination import ClientCredentials, Destination, MutualTls
from engine.outbound.ports import Failure, Headers
from engine.outbound.tokens import Key, Tokens
from engine.wire.identities import Identities, Spawn


class Authenticator:
    """Implements `engine.outbound.ports.AuthenticationStage`."""

    def __init__(self, tokens: Tokens, identities: Identities, spawn: Spawn) -> None:
        self.tokens = tokens
        self._identities = identities
        self._spawn = spawn

    def prepare(self, destination: Destination, done: Callable[[Headers | Failure], None]) -> None:
        match destination.authentication:
            case ClientCredentials() as client:

                def take(result: bytes | Failure) -> None:
                    if isinstance(result, Failure):
                        done(result)
                    else:
                        done(((b"authorization", result),))

                self.tokens.get(_key(destination, client), take, destination.customer_account)
            case MutualTls() as identity:
                workspace = destination.workspace
                self._identities.prepare(workspace, identity, self._spawn, lambda: done(()))
            case None:
                done(())

    def refused(self, destination: Destination, headers: Headers) -> bool:
        client = destination.authentication
        if not isinstance(client, ClientCredentials):
            return False
        for _, value in headers:
            self.tokens.refused(_key(destination, client), value)
        return True


def _key(destination: Destination, client: ClientCredentials) -> Key:
    return destination.environment, destination.workspace, client
