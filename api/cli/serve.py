"""`angarium serve`: it reads the settings from the environment and flags, and runs the server."""

import gc
import os
import sys
from collections.abc import Mapping
from typing import Any

import click
import structlog

from api import logs
from api.cli.options import settings_flags, settings_from
from api.cli.suggestions import did_you_mean
from engine.settings import PREFIX, Settings

HELP = """Run the service until SIGTERM or Ctrl-C.

Set any option with a flag or an environment variable; the flag wins. Without a database URL an embedded
PostgreSQL runs in the data folder. Receivers on private and loopback addresses are refused unless
--egress-allow names their network.

\b
Exit codes: 0 stopped in order; 1 failed; 2 wrong settings; 3 the database cannot be reached.
`angarium doctor` finds the problems of a setup.
"""

# Names of variables, without their prefix ANGARIUM_. The commands over HTTP, shell completion, `make` and
# tests use these variables. They are not settings of the server.
OTHERS = ("URL", "KEY", "KEY_FILE", "ENVIRONMENT", "COMPLETE", "SCREENSHOTS", "ADVISORIES_URL")
BENCH = "BENCH_"
LIKENESS = 0.85  # of two names that both begin with the prefix

log = structlog.get_logger("angarium.settings")


@click.command("serve", help=HELP, short_help="Run the service.")
@settings_flags()
def command(**flags: Any) -> None:
    settings = settings_from(flags)
    logs.configure(settings.log_format, settings.log_level)
    warn_of_unknown(os.environ)
    gc.disable()  # collecting garbage would take a quarter of the import time
    from api.composition.serving import serve

    gc.enable()
    sys.exit(serve(settings))


def warn_of_unknown(environment: Mapping[str, str]) -> None:
    """Log a warning for each variable that has the prefix of settings but is unknown."""
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    for name in sorted(environment):
        own = name.removeprefix(PREFIX)
        if own != name and name not in known and own not in OTHERS and not own.startswith(BENCH):
            remedy = (
                did_you_mean(name, known, LIKENESS).strip()
                or "`angarium serve --help` lists the settings"
            )
            log.warning("settings.unknown_variable", name=name, remedy=remedy)
