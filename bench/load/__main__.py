"""The command: read a plan, post its events, print the report. Exit code 2: the plan is invalid."""

import json
import sys

from bench.load.generator import Generator
from bench.load.plan import Plan

if __name__ == "__main__":
    try:
        plan = Plan(**json.load(sys.stdin))
    except (TypeError, ValueError) as error:
        sys.stderr.write(f"plan: {error}\n")
        sys.exit(2)
    print(json.dumps(Generator(plan).run()), flush=True)
