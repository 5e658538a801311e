"""The command `python -m api.generation`."""

from api.generation.client import client_files, made_types, write_readme
from api.generation.commands import command_files
from api.generation.pages import page_files
from api.generation.text import write
from api.generation.typescript import typescript_files


def main() -> None:
    """Write the generated files, and remove older ones that the generator no longer makes."""
    write(client_files() | command_files(made_types()) | typescript_files() | page_files())
    write_readme()

    from api.cli.reference import write_page  # the commands are made of the written files

    write_page()


if __name__ == "__main__":
    main()
