"""A page that embeds the portal, with its backend. Run it, then open the address that it prints.

ANGARIUM_URL=http://127.0.0.1:8080 ANGARIUM_KEY=ang_... WORKSPACE=... python docs/examples/portal_host.py

The address must be among the workspace's allowed origins: angarium workspace set --origin http://127.0.0.1:9000
"""

import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request, urlopen

ANGARIUM = os.environ["ANGARIUM_URL"]
PORT = int(os.environ.get("PORT", "9000"))
PAGE = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Acme</title></head>
<body>
<h1>Acme: your webhooks</h1>
<script src="{ANGARIUM}/portal/embed.js"></script>
<angarium-portal workspace="{os.environ["WORKSPACE"]}" theme="light" primary="#0b5fff"></angarium-portal>
<script>
  const portal = document.querySelector("angarium-portal");
  portal.getToken = async () => {{
    const answer = await fetch("/webhooks/token", {{ method: "POST" }});
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  }};
</script>
</body>
</html>"""


def session_of(customer: str) -> bytes:
    """Open a session for a customer. The key stays on this server."""
    request = Request(  # noqa: S310 - the operator names the address
        f"{ANGARIUM}/embed/sessions",
        json.dumps({"customerExternalId": customer, "ttlSeconds": 300}).encode(),
        {
            "Authorization": f"Bearer {os.environ['ANGARIUM_KEY']}",
            "Content-Type": "application/json",
        },
    )
    with urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
        body: bytes = answer.read()
        return body


class Handler(BaseHTTPRequestHandler):
    """The page, and the route from which the page gets tokens."""

    def do_GET(self) -> None:
        """Show the page."""
        self.answer("text/html; charset=utf-8", PAGE.encode())

    def do_POST(self) -> None:
        """Send a token for one customer. A real host takes the customer from its own session."""
        self.answer("application/json", session_of(os.environ.get("CUSTOMER", "acme")))

    def answer(self, kind: str, body: bytes) -> None:
        """Send an answer."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is theirs
        """Log nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)  # noqa: T201 - it runs on a terminal
    server.serve_forever()
