"""A fork server: a process that has loaded Angarium's modules, and forks programs that tests start.

    python -m tests.fork_server DESCRIPTOR [MODULE]

Loading the modules and making the document takes four fifths of a server's start. A fork runs a module as
`python -m` does, from its first line, with its own arguments, variables, folder, session and standard
streams. The workers of a server are forks of loaded modules too.

`tests/forked.py` is the client, over the socket `DESCRIPTOR`. The fork server has one thread, and ends
when the socket is closed. `MODULE` prepares it before the other modules are loaded.
"""

import atexit
import gc
import json
import os
import runpy
import signal
import socket
import sys
import threading
from importlib import import_module
from typing import Any

MOST_BYTES = 1 << 17  # of a request: the arguments and variables of a program
LOADED = ("api.composition.serving", "api.cli.serve", "api.cli.keys", "api.cli.workspaces")


def load() -> None:
    gc.disable()
    for name in LOADED:
        import_module(name)
    import_module("api.composition.doorway").make_pages()
    gc.freeze()  # the forks share this memory
    gc.enable()


def next_fork(link: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Answer requests. Return in each fork, with its request and its standard streams."""
    while True:
        received, streams, _, _ = socket.recv_fds(link, MOST_BYTES, 3)
        if not received:
            sys.exit()
        asked = json.loads(received)
        if "wait" in asked:
            _, answer = os.waitpid(asked["wait"], 0)
        else:
            answer = os.fork()
            if not answer:
                return asked, streams
            for stream in streams:
                os.close(stream)
        link.send(json.dumps(answer).encode())


def become(asked: dict[str, Any], streams: list[int]) -> None:
    """Make this fork the process that `python -m` would have made."""
    if asked["session"]:
        os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["variables"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv = ["-m", *asked["arguments"]]


def main() -> str:
    """Return the name of a fork's module."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C ends the test run, which closes the socket
    with socket.socket(fileno=int(sys.argv[1])) as link:
        for name in sys.argv[2:]:
            import_module(name).prepare()
        load()
        asked, streams = next_fork(link)
    become(asked, streams)
    return str(asked["module"])


def run(module: str) -> None:
    """Run the module to its end. A usual end leaves out the destruction of all loaded modules, which
    would take longer than most programs."""
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]  # as a child of `multiprocessing` ends
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    run(main())
