"""`angarium mcp`: the Model Context Protocol over standard input and output."""

import click

from api.cli.remote.session import Session, over_http


@click.command("mcp")
@over_http
def command(session: Session) -> None:
    """Serve an agent on this machine: MCP over standard input and output."""
    # It takes 0.4 s to load.
    from api.mcp.standard_io import serve

    serve(session.url, session.key, session.environment, session.timeout_s)
