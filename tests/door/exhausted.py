"""A door in a process with few descriptors, for `test_descriptors`: prints its port, then what it saw
of exhaustion once its standard input ends."""

import resource
import sys

import trio

from tests.door.house import QUICK, House, running


async def main() -> None:
    house = House(limits=QUICK)
    async with running(house):
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        print(house.door.address[1], flush=True)
        async with await trio.open_file(sys.stdin.fileno(), closefd=False) as stdin:
            await stdin.read()
        statistics = house.door.statistics()
        print(statistics.rests > 0, len(house.errors), flush=True)


trio.run(main)
