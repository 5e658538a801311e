"""The entry of `python -m api.cli`, for machines without the console command."""

from api.cli import main
from api.core_dumps import forbid_core_dumps

forbid_core_dumps()  # a command has keys, some have the master key, and it can start PostgreSQL
main(prog_name="angarium")
