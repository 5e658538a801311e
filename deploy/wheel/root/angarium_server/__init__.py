"""The package of the installed server: the console script begins here.

A wheel carries the folders `api`, `engine` and `storage` and the client library in this package, so that
the server adds one top-level name to the environment that it is installed into.
"""


def main() -> None:
    """Run the command line, as `angarium` does."""
    from api.cli import main as command
    from api.core_dumps import forbid_core_dumps

    forbid_core_dumps()  # a command holds keys, and starts the database's programs
    command()
