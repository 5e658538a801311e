"""Every page of the console: accessible, also on a telephone, in the dark scheme, and in German."""

import json
import re
from collections.abc import Iterator

import pytest

from tests.browser.assets import Front
from tests.browser.axe import bring, violations, violations_of_colours
from tests.browser.test_files import texts
from tests.browser.town import Town
from tests.browser.window import NARROW, WIDE, Window

PAGES = (
    "",
    "/pulse",
    "/analytics",
    "/destinations",
    "/destinations?new=1",
    "/destinations?name=nowhere",
    "/destinations/{destination}",
    "/destinations/{destination}/lanes",
    "/destinations/{destination}/analytics",
    "/destinations/{destination}/rules",
    "/destinations/{destination}/settings",
    "/events",
    "/events?send=1",
    "/events/{event}",
    "/deliveries",
    "/deliveries/{dead}",
    "/deliveries/{waiting}",
    "/dlq",
    "/dlq?view=list",
    "/rules",
    "/rules?open={rule}",
    "/rules?try=order.paid",
    "/replays",
    "/replays?new=1",
    "/replays/{replay}",
    "/schemas",
    "/schemas?new=1",
    "/schemas/order.paid",
    "/customers",
    "/customers/acme-1",
    "/customers/acme-1?tab=limits",
    "/audit",
    "/settings",
    "/settings?tab=portal",
    "/settings?tab=browser",
    "/settings?tab=system",
    "/signatures",
    "/bench/{billing}",
    "/components",
    "/nowhere",
    "/events/01a20d2f-0000-7000-8000-000000000000",
    "/customers/nobody",
    "/audit?action=never.happened",
)
WORDY = (  # pages with the most words of their own
    "",
    "/pulse",
    "/analytics",
    "/destinations/{destination}",
    "/destinations/{destination}/settings",
    "/dlq",
    "/replays?new=1",
    "/settings?tab=portal",
)
# Names in the data, and words that are the same in every language.
DATA = {"Partner API", "HTTP 5xx"}


@pytest.fixture(scope="module", params=[(WIDE, "en-GB"), (NARROW, "de-DE")], ids=["wide", "narrow"])
def reader(
    request: pytest.FixtureRequest, browser: Window, front: Front, town: Town
) -> Iterator[Window]:
    """A window that signs in once and visits each page. Signing in takes as long as visiting a page."""
    size, locale = request.param
    with browser.another(front.url, size, locale=locale) as window:
        window.sign_in(town.house.key)
        bring(window)
        yield window


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_reachable_to_everybody(reader: Window, town: Town, path: str) -> None:
    reader.forget()
    reader.dress("light")
    reader.open(town.filled(path))
    assert reader.overflow() <= 0
    name = re.sub(r"\W+", "-", path).strip("-") or "overview"
    width = reader.page.evaluate("innerWidth")
    assert violations(reader) == []
    reader.shoot(f"{name}-{width}-light")
    reader.dress("dark")
    assert violations_of_colours(reader) == []
    reader.shoot(f"{name}-{width}-dark")
    reader.search()


def test_longer_texts_of_a_language_hold_and_none_is_left_untranslated(
    browser: Window, front: Front, town: Town
) -> None:
    with browser.another(front.url, NARROW, locale="de-DE") as window:
        pseudo = {each: f"⟦{each}{'~' * min(len(each) // 3, 12)}⟧" for each in texts()}
        body = f"export default {json.dumps(pseudo)};"
        window.page.route(
            "**/shared/i18n/de.js",
            lambda route: route.fulfill(body=body, content_type="text/javascript"),
        )
        window.sign_in(town.house.key)
        untranslated: dict[str, set[str]] = {}
        for path in WORDY:
            page = window.open(town.filled(path))
            assert window.overflow() <= 0, path
            told = page.locator("main :is(h1, h2, th, label, button)").all_inner_texts()
            left = {each.strip() for each in told if not each.strip().startswith("⟦")} - DATA
            untranslated[path] = {each for each in left if re.search("[a-z]{2}", each)}
        assert not any(untranslated.values()), untranslated
