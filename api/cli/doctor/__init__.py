"""`angarium doctor`: the problems of a setup, each with its remedy. It changes nothing."""

import os
import sys
from typing import Any

import click
import trio
from pydantic import ValidationError

from api.cli.doctor import machine, security
from api.cli.doctor.database import check_database
from api.cli.doctor.finding import Finding, Level, failure, ok
from api.cli.errors import FAILED, settings_trouble
from api.cli.keys import output_option
from api.cli.options import settings_flags, settings_from
from api.cli.printing import json_text, say
from engine.settings import Settings

MARKS = {
    Level.OK: click.style("ok     ", fg="green"),
    Level.WARNING: click.style("warning", fg="yellow"),
    Level.FAILURE: click.style("FAILURE", fg="red", bold=True),
}

# The command cannot see the variables of a running server. A server that a service unit started does not
# have the variables of this shell.
VALID = "valid: the flags and environment of this command. A running server can have others"

HELP = """Find the problems of a setup, and what to do about them. The command changes nothing.

It reads the same settings as `angarium serve`, from its own flags and environment: it does not read the
settings of a running server. Run it with the flags and variables of the server.

\b
Exit codes: 0 a server can run (there can be warnings); 1 a problem prevents it.
"""


@click.command("doctor", help=HELP, short_help="Find the problems of a setup.")
@output_option
@settings_flags()
def command(output: str, **flags: Any) -> None:
    findings = examine(flags)
    if output == "json":
        say(
            json_text(
                [
                    {
                        "level": finding.level.value,
                        "subject": finding.subject,
                        "message": finding.message,
                        "remedy": finding.remedy or None,
                    }
                    for finding in findings
                ]
            )
        )
    else:
        for finding in findings:
            say(f"  {finding.subject}: {finding.message}", mark=MARKS[finding.level])
            if finding.remedy:
                say(f"         -> {finding.remedy}")
    if any(finding.level is Level.FAILURE for finding in findings):
        sys.exit(FAILED)


def examine(flags: dict[str, Any]) -> list[Finding]:
    """Run all checks. If the settings are invalid, run only the checks that need no settings."""
    general = [
        machine.check_variables(os.environ),
        machine.check_descriptors(),
        machine.check_clock(),
        machine.check_locale(),
        machine.check_workers(),
    ]
    try:
        settings = settings_from(flags)
    except ValidationError as error:
        remedy = "`angarium serve --help` describes each setting"
        return [failure("settings", settings_trouble(error), remedy), *general]
    return [ok("settings", VALID), *general, *_of_settings(settings)]


def _of_settings(settings: Settings) -> list[Finding]:
    return [
        machine.check_port(settings),
        *machine.check_data_dir(settings),
        machine.check_backup(settings),
        security.check_master_key(settings),
        *security.check_egress(settings.egress_allow),
        *security.check_tls(settings),
        machine.check_plans(settings),
        machine.check_templates(settings),
        machine.check_authorities(settings),
        machine.check_file_store(settings),
        *trio.run(check_database, settings),
    ]
