"""`python -m api.cli`, for where the console command is not installed."""

from api.cli import main

main(prog_name="angarium")
