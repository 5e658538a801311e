"""Limits of the first view: scripts, bytes and requests. test_portal.py applies them to the portal."""

from copy import copy

import pytest
from playwright.sync_api import Route

from tests.browser.first_view import (
    BYTES,
    CONSOLE,
    REQUESTS,
    SCRIPTS,
    WATCH,
    first_view,
    first_views,
)
from tests.browser.town import Town
from tests.browser.window import Window


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_the_first_view_keeps_its_budgets(browser: Window, town: Town, locale: str) -> None:
    with browser.another(town.house.url, locale=locale) as window:
        window.sign_in(town.house.key)
        [view] = first_views(window, 1)
        assert len(view.scripts) <= SCRIPTS, view.scripts
        assert len(view.requests) <= REQUESTS, view.requests
        assert view.bytes <= BYTES
        window.search()


def test_a_pointer_on_a_link_loads_nothing_ahead_of_the_first_view(
    browser: Window, town: Town
) -> None:
    held: list[Route] = []
    rows, ahead = "**/destinations/summaries?**", "**/pages/events.js"
    with browser.another(town.house.url) as window:
        window.sign_in(town.house.key)
        page = window.page
        page.add_init_script(WATCH)
        page.get_by_role("link", name="Events").hover()  # the pointer rests there
        page.route(rows, lambda route: held.append(route))
        page.goto(window.url + CONSOLE)
        for name in ("Destinations", "Events"):
            page.get_by_role("link", name=name, exact=True).first.hover()
        window.until(lambda: held, "the rows are asked for")
        held[0].continue_()
        view = first_view(page.main_frame)
        assert len(view.scripts) <= SCRIPTS, view.scripts
        window.settled()
        page.get_by_role("link", name="Destinations", exact=True).first.hover()
        with page.expect_request(ahead):
            page.get_by_role("link", name="Events").hover()
        window.search()


def test_the_overview_goes_on_with_one_stream(browser: Window, town: Town) -> None:
    # The page loads its data again when its stream reports a failed delivery. So this test uses an
    # environment without failed deliveries.
    quiet = copy(town.house)
    quiet.key = town.house.make_key("--environment", "STAGING")
    quiet.made(town.receiver.url)
    with browser.another(town.house.url) as window:
        window.sign_in(quiet.key)
        window.page.locator(".halves tbody a").first.wait_for()  # the last part that appears
        window.page.locator(".live", has_text="Live").wait_for()
        asked = [each.partition("?")[0] for each in window.requests if "/console" not in each]
        paths = sorted(each.removeprefix(window.url) for each in asked)
        counts, throughput = "/observability/counts", "/observability/throughput"
        names = ["/api-keys", "/destinations"]  # for the last changes, loaded once for all pages
        assert paths == sorted(
            ["/destinations/summaries", counts, throughput, "/audit-logs", *names, "/stream"]
        )
