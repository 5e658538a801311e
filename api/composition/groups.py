"""The groups of the supervision tree: the tasks restarted together when one fails, and the reasons.

A child whose state is lost with it must not be restarted alone. Its queue, claim or read model is kept
outside of its task. Otherwise the process ends: the store holds every promise, and the next process
reads it.
"""

from collections.abc import Awaitable, Callable

from engine.actors.supervisor import Child, Group, Restart

ALWAYS = 1_000_000  # restarts of a side task: its fault must not end the process
_PROCESS = {
    "timers": "a deadline that was taken off the heap and not served would be lost",
    "reactor": "a readiness that was taken from the kernel and not passed on would be lost",
    "background": "its jobs end with it, and requests and attempts wait for them",
    "dispatcher": "an actor that was taken off its line and had no turn would never run again",
    "membership": "a process that cannot confirm its lease must not write",
    "door": "an address that cannot be listened on does not become free by trying again",
}
_ALONE = {
    "loop watch": "it measures anew",
    "clock": "it holds nothing: the next look finds the same difference",
    "transforms": "runs under way fail as attempts, and the workers are made anew",
    "commands": "callers that wait for a command get `internal`; read models change only with a row",
    "recorder": "outcomes leave its queue once they are durable; a list has the actors still to be"
    " informed",
    "intake": "submissions leave its queue once they are answered; submitters without an answer"
    " read the store",
    "large intake": "like the intake, whose queue it shares",
    "readers": "the actor that asked gets the failure of its reading, and asks again",
    "changes": "after a pause it reads the whole configuration again",
    "read models": "it holds nothing but the time of its last look",
    "recovery": "it reads the backlog from its beginning; actors that are there are passed over",
    "waker": "it holds nothing: the next look reads the same rows",
    "attempts": "it looks anew at all that is in flight",
    "replays": "a job's progress is in the store",
    "own events": "announcements wait in its queue until they are durable",
    "trouble log": "dead letters that were not announced are kept for its next run",
    "filter failures": "what it counts is kept and written by its next run",
    "last use": "what it noted is kept and written by its next run",
    "files": "it reads the removable rows from the store again",
    "unrouted files": "it reads the files to fetch from the store again",
    "pressure": "it measures anew",
    "housekeeping": "every run begins from what the store holds",
    "summaries": "every run begins from what the store holds",
    "links": "it holds nothing but its listener: links that it accepted are the door's",
    "passages": "it holds nothing but its listener: passages that it accepted are the door's",
    "peers": "it holds nothing but its listener: links that it accepted are the door's",
    "placement": "it counts its looks anew",
    "operations": "it holds nothing but its listener",
    "certificate": "it looks at the files again; the certificate that was read last is the door's",
    "database": "it looks whether the embedded database runs, and starts it",
}


def child(
    name: str,
    run: Callable[..., Awaitable[object]],
    *,
    restart: Restart = Restart.PERMANENT,
    restarts: int = 5,
) -> Child:
    """Return a child with its group. Raises KeyError for a child without a reason in this table."""
    why = _PROCESS.get(name)
    if why is not None:
        return Child(name=name, run=run, group=Group.PROCESS, why=why, restart=restart)
    return Child(name=name, run=run, why=_ALONE[name], restart=restart, restarts=restarts)
