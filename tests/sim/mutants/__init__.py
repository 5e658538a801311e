"""The mutation check: planted bugs that a few simulated histories must reveal.

If a mutant survives, the oracle or the world is blind to something.
"""

from tests.sim.mutants.commits import DATABASE, ENTRANCE, INTAKE, RECORDER, SIGNING
from tests.sim.mutants.core import BACKLOG, GATES, LANES, ORDERS, SCHEDULE
from tests.sim.mutants.large import HANDS, PARTS
from tests.sim.mutants.nodes import FATES, FENCES, MOVES, RELEASES
from tests.sim.mutants.patience import PATIENCE, TOKENS
from tests.sim.mutants.planting import Mutant
from tests.sim.mutants.shell import ACTORS, DIRECTORY

MUTANTS: dict[str, Mutant] = {
    each.name: each
    for each in (
        *(*SCHEDULE, *GATES, *BACKLOG, *ORDERS, *LANES, *ACTORS, *DIRECTORY),
        *(*INTAKE, *RECORDER, *ENTRANCE, *SIGNING, *DATABASE),
        *(*PARTS, *HANDS),
        *(*FENCES, *FATES, *MOVES, *RELEASES),
        *(*TOKENS, *PATIENCE),
    )
}
