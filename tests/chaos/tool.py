"""A program of the chaos tests in its own process. It reads commands and writes answers, each as one line
of JSON.
"""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
ENDING_S = 60.0  # a poster waits for its last answer, after any number of tries


class Tool:
    """A program whose first line says that it is ready."""

    def __init__(self, module: str, **plan: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.chaos.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            start_new_session=True,  # Ctrl-C reaches only the main process, which ends this one
        )
        self._turn = threading.Lock()
        self.ready = self.tell(**plan)

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, **command: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._turn:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("a program of the chaos tests has ended by itself")
        return json.loads(answer)

    def kill(self) -> None:
        self._process.kill()
        self._closed()

    def end(self) -> None:
        """Let the program end by itself."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        finally:
            self._closed()

    def _closed(self) -> None:
        self._process.wait(ENDING_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def answer(value: object = True) -> None:
    print(json.dumps(value), flush=True)
