"""The package of the installed server, with the entry point of the console script."""


def main() -> None:
    """Run the command line."""
    from api.cli import main as command
    from api.core_dumps import forbid_core_dumps

    forbid_core_dumps()  # this process and the programs that it starts hold keys
    command()
