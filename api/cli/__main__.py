"""The entry of `python -m api.cli`, for machines without the console command."""

from api.cli import main
from api.core_dumps import forbid_core_dumps

forbid_core_dumps()  # commands hold keys, some the master key, and can start PostgreSQL
main(prog_name="angarium")
