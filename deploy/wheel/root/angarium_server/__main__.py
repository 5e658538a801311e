"""The command line as a module: `python -m angarium_server`."""

from api.cli import main

main()
