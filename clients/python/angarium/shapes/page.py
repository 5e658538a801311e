"""What every answer is made of: objects of any kind, and pages of lists."""

from typing import Any, Generic, NotRequired, TypedDict, TypeVar

JsonObject = dict[str, Any]
Item = TypeVar("Item")


class Page(TypedDict, Generic[Item]):
    """One page of a list, newest first."""

    items: list[Item]
    nextCursor: str | None
    searchedTo: NotRequired[str]
