"""The elements of HTML and SVG as text. All text that is not `Markup` is escaped."""

from html import escape


class Markup(str):
    """Text that is markup."""

    __slots__ = ()


def tag(name: str, *children: str | None, **attributes: object) -> Markup:
    """Return an element. Attributes that are None are left out. In attribute names a last `_` is removed,
    and other `_` become `-`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: str | None) -> Markup:
    """Return the pieces one after another."""
    return Markup(
        "".join(
            each if isinstance(each, Markup) else escape(each, quote=False)
            for each in children
            if each is not None
        )
    )
