"""`python -m api.cli`, for where the console command is not installed."""

from api.cli import main
from api.core_dumps import forbid_core_dumps

forbid_core_dumps()  # a command holds keys, some the master key, and starts the database's programs
main(prog_name="angarium")
