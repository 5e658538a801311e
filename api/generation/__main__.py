"""`python -m api.generation`: write everything that is made of the route table."""

from api.generation.client import client_files, write_readme
from api.generation.files import write


def main() -> None:
    """Write what is made; remove made files that nothing makes any more."""
    write(client_files())
    write_readme()


if __name__ == "__main__":
    main()
