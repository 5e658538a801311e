"""The shapes of any JSON object, and of a list's page."""

from typing import Any, Generic, NotRequired, TypedDict, TypeVar

JsonObject = dict[str, Any]
Item = TypeVar("Item")


class Page(TypedDict, Generic[Item]):
    """One page of a list, newest first. `searchedTo`: how far a page that had to stop has searched."""

    items: list[Item]
    nextCursor: str | None
    searchedTo: NotRequired[str]
