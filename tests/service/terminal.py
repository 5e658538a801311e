"""A runner of `angarium` commands within the test's process, against its server."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import structlog
import trio
from click.testing import CliRunner

from api.cli import main
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse


@dataclass(frozen=True, slots=True)
class Ended:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def one(self) -> Any:
        (found,) = self.lines
        return found


@contextmanager
def server_logs_apart() -> Iterator[None]:
    """Keep the server's log out of a command's standard output."""
    usual = structlog.get_config()["logger_factory"]
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    try:
        yield
    finally:
        structlog.configure(logger_factory=usual)


class Terminal:
    """A shell with an address and a key in its environment."""

    def __init__(self, house: ServiceHouse, secret: str) -> None:
        self.url = f"http://127.0.0.1:{house.door.address[1]}"
        self.secret = secret
        self.env: dict[str, str | None] = {
            "ANGARIUM_URL": self.url,
            "ANGARIUM_KEY": secret,
            "ANGARIUM_KEY_FILE": None,
            "ANGARIUM_ENVIRONMENT": None,
        }

    async def __call__(
        self, *words: str, typed: str | bytes | None = None, **env: str | None
    ) -> Ended:
        """Run a short command to its end. Fails if the command prints the secret key."""

        def run() -> Ended:
            done = CliRunner().invoke(main, words, env={**self.env, **env}, input=typed)
            if done.exception is not None and not isinstance(done.exception, SystemExit):
                raise done.exception
            return Ended(done.exit_code, done.stdout, done.stderr)

        with trio.fail_after(HANGS_S), server_logs_apart():
            done = await trio.to_thread.run_sync(run)
        assert self.secret not in done.out + done.err
        return done

    async def ok(self, *words: str, **more: Any) -> Ended:
        done = await self(*words, **more)
        assert done.code == 0, (words, done)
        return done


async def open_terminal(
    house: ServiceHouse,
    tenant: Tenant,
    scope: Scope = Scope.MANAGE,
    environment: Environment | None = Environment.DEVELOPMENT,
) -> Terminal:
    made = await house.keys.create(tenant, scope, environment, "a terminal's")
    return Terminal(house, made.secret)
