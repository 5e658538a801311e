"""The customers' portal at the door: its page, which only pages of the workspace can embed, and embed.js.

The token is in the fragment, which browsers send to no server. So the path names the workspace, whose
origins the page's headers allow. Nothing here awaits.
"""

from api.answers import no_such_path, not_allowed
from api.call import Answer
from api.web import Fields, WebFiles, policy
from engine.model.read_models import Models

PORTAL = b"/portal/"
ASSETS = b"/portal/assets/"  # as the console's: a proxy can pass on the portal alone
EMBED = b"/portal/embed.js"
EMBED_CACHED = "public, max-age=300"  # hosts name it without a version
# Logos are images of the customer's own hosts.
IMAGES = "'self' data: https:"


class Portal:
    """The answers to requests for the portal."""

    def __init__(self, files: WebFiles, models: Models) -> None:
        self._files, self._models = files, models
        self._page = files.page("portal/index.html", ASSETS)

    def answer(self, method: str, path: bytes, fields: Fields, request_id: str) -> Answer | None:
        """Return the answer to a request for the portal; None where it asks for something else.

        An unknown workspace gets the same page: whoever asks learns nothing of what exists.
        """
        if self._page is None or not path.startswith(PORTAL):
            return None
        if method not in ("GET", "HEAD"):
            return not_allowed(method, ("GET", "HEAD"), request_id)
        if path == EMBED:
            return self._files.sent("portal/embed.js", fields, EMBED_CACHED)
        if path.startswith(ASSETS):
            return self._files.asset(path.removeprefix(ASSETS), fields) or no_such_path(request_id)
        workspace = path.removeprefix(PORTAL).partition(b"/")[0].decode("latin-1")
        if not workspace:
            return no_such_path(request_id)
        origins = self._models.settings_of(workspace).origins
        # `no-store`: a copy would keep the origins of yesterday.
        headers = (
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", policy(IMAGES, " ".join(["'self'", *origins]))),
            ("Referrer-Policy", "no-referrer"),
        )
        return Answer(
            200, body=self._page, content_type="text/html; charset=utf-8", headers=headers
        )
