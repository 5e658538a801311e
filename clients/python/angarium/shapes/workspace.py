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
    # Origins whose pages can call the API: https, or http for localhost and 127.0.0.1.
    allowedOrigins: list[str]
    customerMay: CustomerMay
    # The page that the portal links to as the way back; https only.
    returnUrl: str | None
    # The time of the last change. Null: all settings are defaults.
    updatedAt: str | None
