"""axe's findings on a page: violations of WCAG 2.2 AA and of good practice."""

from pathlib import Path
from typing import Any

from tests.browser.window import Window

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
AXE_SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"  # 4.14.1
RULES = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"
# The AA rules whose result depends on the color scheme.
COLOURS = "{type: 'rule', values: ['color-contrast', 'link-in-text-block']}"


def bring(window: Window) -> None:
    """Make each page of the window load axe when it opens. Sending axe's 600 kB for every check would
    take as long as the check itself."""
    window.page.add_init_script(path=AXE)


def violations(window: Window) -> list[Any]:
    if not window.page.evaluate("'axe' in window"):
        window.page.evaluate(AXE.read_text())
    return _found(window, RULES)


def violations_of_colours(window: Window) -> list[Any]:
    """Return only axe's findings about colors. This is enough for a second color scheme of a page that
    `violations` has checked in its first color scheme."""
    return _found(window, COLOURS)


def _found(window: Window, rules: str) -> list[Any]:
    # Without `resultTypes`, axe also describes every element that obeys a rule.
    options = f"{{runOnly: {rules}, resultTypes: ['violations']}}"
    found = window.page.evaluate(
        f"axe.run(document, {options}).then((result) => result.violations)"
    )
    return [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in found]
