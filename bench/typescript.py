"""The measurement of the TypeScript client's producer: how many events it sends for each second of CPU.

The exit code of `python -m bench.typescript` is 1 if the result is below `BAR`, and 2 if node or npm is
missing.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.checks import require
from bench.service import Service
from deploy.typescript import compiled

EVENTS = 40_000
ROUNDS = 3
BAR = 5_000  # events a second of one core
PROGRAM = """
import { pathToFileURL } from "node:url";
const [module, url, key, count] = process.argv.slice(2);
const { Angarium } = await import(pathToFileURL(module).href);
const producer = new Angarium({ url, key }).producer({ inFlight: 2 });
const text = "x".repeat(220);
async function produce(events) {
  for (let n = 0; n < events; n += 1) {
    await producer.add({ eventType: "order.created", payload: { n, text } });
  }
  return producer.flush();
}
await produce(count / 10);
const began = [performance.now(), process.cpuUsage()];
const report = await produce(count);
const wall = (performance.now() - began[0]) / 1000;
const { user, system } = process.cpuUsage(began[1]);
console.log(JSON.stringify({ accepted: report.accepted, wall, cpu: (user + system) / 1e6 }));
"""


def main() -> int:
    best = 0.0
    with tempfile.TemporaryDirectory() as folder, Service() as service:
        if not compiled(Path(folder)):
            sys.stderr.write("node or npm is not installed: apt-get install npm\n")
            return 2
        program = Path(folder) / "program.mjs"
        program.write_text(PROGRAM)
        for _ in range(ROUNDS):
            found = _run(program, f"{folder}/index.js", service)
            rate = EVENTS / found["cpu"]
            best = max(best, rate)
            sys.stdout.write(
                f"{rate:8,.0f} events/s of the client's CPU, {1e6 / rate:4.0f} us each, "
                f"{EVENTS / found['wall']:8,.0f}/s of elapsed time\n"
            )
    return int(best < BAR)


def _run(program: Path, module: str, service: Service) -> dict[str, float]:
    command = ["node", str(program), module, service.url, service.key, str(EVENTS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    found: dict[str, float] = json.loads(done.stdout)
    require(found["accepted"] == EVENTS, done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
