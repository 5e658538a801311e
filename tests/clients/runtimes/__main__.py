"""`python -m tests.clients.runtimes`: install Deno and Bun. Without them, their tests are skipped."""

from tests.clients.runtimes import RUNTIMES

if not RUNTIMES.ready():
    print("Deno and Bun are left out: npm could not install them")
