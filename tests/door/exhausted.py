"""A door in a process with few descriptors, for `test_descriptors`.

It prints its port, then a line when its listener pauses because no descriptor is free. When its standard
input ends, it prints its record of exhaustion.
"""

import resource
import sys

import trio

from tests.door.house import QUICK, House, running


async def tell_rest(house: House) -> None:
    while not house.door.statistics().rests:  # noqa: ASYNC110 - production code has no event for nobody
        await trio.sleep(0.002)
    print("rests", flush=True)


async def main() -> None:
    house = House(limits=QUICK)
    async with running(house):
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
        print(house.door.address[1], flush=True)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tell_rest, house)
            async with await trio.open_file(sys.stdin.fileno(), closefd=False) as stdin:
                await stdin.read()
            nursery.cancel_scope.cancel()
        statistics = house.door.statistics()
        print(statistics.rests > 0, len(house.errors), flush=True)


trio.run(main)
