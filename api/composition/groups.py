"""The groups of the supervision tree.

A child can restart alone only if its state (a queue, a claim, a read model) is outside its task.
Otherwise the failure of the child ends the process. No delivery is lost: the store has every accepted
delivery, and the next process reads the store.
"""

from collections.abc import Awaitable, Callable

from engine.actors.supervisor import Child, Group, Restart

ALWAYS = 1_000_000  # for a side task, whose failure must not end the process
_PROCESS = {
    "timers": "a timer that was removed from the heap and not called would be lost",
    "reactor": "an event that was read from the kernel and not handled would be lost",
    "background": "its jobs end with it, while requests and attempts wait for them",
    "dispatcher": "an actor that was taken from the queue and had no turn would never run again",
    "membership": "a process that cannot confirm its lease must not write",
    "door": "another attempt does not free an address that is in use",
}
_CHILD = {
    "loop watch": "it begins a new measurement",
    "clock": "it has no state: the next check finds the same difference",
    "transforms": "runs under way fail as attempts, and new workers start",
    "commands": "callers that wait for a command get `internal`; read models change only with their row",
    "recorder": "outcomes stay in its queue until they are durable; a list has the actors to be"
    " informed",
    "intake": "submissions stay in its queue until they are answered; submitters without an answer"
    " read the store",
    "large intake": "like the intake, whose queue it shares",
    "readers": "the actor gets the failure of its read, and reads again",
    "changes": "after a pause it reads the whole configuration again",
    "read models": "its only state is the time of its last check",
    "recovery": "it reads the backlog from the beginning, and skips actors that exist",
    "troubled destinations": "it reads the snapshots again",
    "waker": "it has no state: the next read finds the same rows",
    "attempts": "it checks all attempts in flight again",
    "replays": "a job's progress is in the store",
    "own events": "announcements wait in its queue until they are durable",
    "trouble log": "its next run announces the remaining dead letters",
    "filter failures": "its counts stay, and its next run writes them",
    "last use": "its notes stay, and its next run writes them",
    "files": "it reads the removable rows from the store again",
    "unrouted files": "it reads the files to fetch from the store again",
    "pressure": "it begins a new measurement",
    "housekeeping": "every run begins from the rows in the store",
    "summaries": "every run begins from the rows in the store",
    "links": "its only state is its listener: the door owns accepted links",
    "passages": "its only state is its listener: the door owns accepted passages",
    "peers": "its only state is its listener: the door owns accepted links",
    "placement": "it begins a new count of its checks",
    "operations": "its state is its listener, and counts that it makes again",
    "agents": "it has no state: the first message of an agent loads the library as well",
    "certificate": "it checks the files again; the door owns the certificate read last",
    "database": "it checks if the embedded database runs, and starts it",
}


def child(
    name: str,
    run: Callable[..., Awaitable[object]],
    *,
    restart: Restart = Restart.PERMANENT,
    restarts: int = 5,
) -> Child:
    """Return a child. If `name` is in `_PROCESS`, the child's failure ends the process. If `name` is in
    `_CHILD`, the child restarts alone. Raises KeyError for any other name."""
    why = _PROCESS.get(name)
    if why is not None:
        return Child(name=name, run=run, group=Group.PROCESS, why=why, restart=restart)
    return Child(name=name, run=run, why=_CHILD[name], restart=restart, restarts=restarts)
