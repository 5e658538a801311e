"""The package of the installed server: the console script begins here.

A wheel carries the folders `api`, `engine` and `storage` and the client library in this package, so that
the server adds one top-level name to the environment that it is installed into.
"""


def main() -> None:
    """Run the command line, as `angarium` does."""
    from api.cli import main as command

    command()
