# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.workspace`."""

from typing import TypedDict

from angarium.shapes.shared import Branding, CustomerMay


class Workspace(TypedDict):
    """A workspace with its settings, which apply in all of its environments."""

    id: str
    name: str
    plan: str
    branding: Branding
    # Origins that browsers may call from: https, or http for localhost and 127.0.0.1.
    allowedOrigins: list[str]
    customerMay: CustomerMay
    # Where the portal leads back to after a session; https only.
    returnUrl: str | None
    # When the settings were last changed; null: the defaults apply.
    updatedAt: str | None
