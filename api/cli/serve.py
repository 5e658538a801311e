"""`angarium serve`: settings from the environment and flags, then the composition root."""

import gc
import sys
from typing import Any

import click

from api import logs
from api.cli.options import settings_flags, settings_from

HELP = """Run the service until SIGTERM or Ctrl-C.

Every setting is a flag here and a variable of the environment there; the flag wins. Without a
database URL an embedded PostgreSQL runs in the data folder. Receivers on private and loopback
addresses are refused unless --egress-allow names their network.

\b
Exit codes: 0 stopped in order; 1 failed; 2 wrong settings; 3 the database cannot be reached.
`angarium doctor` says in words what is wrong with a setup.
"""


@click.command("serve", help=HELP, short_help="Run the service.")
@settings_flags()
def command(**flags: Any) -> None:
    """Serve until told to stop."""
    settings = settings_from(flags)
    logs.configure(settings.log_format, settings.log_level)
    gc.disable()  # what imports make stays: looking at it took a quarter of their time
    from api.composition.serving import serve  # loads the whole server, which --help can do without

    gc.enable()
    sys.exit(serve(settings))
