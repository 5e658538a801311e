"""The customers' portal: its pages, and its customers' actions."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.axe import bring, violations, violations_of_colours
from tests.browser.first_view import BYTES, REQUESTS, SCRIPTS, first_views
from tests.browser.town import EXACT, MARKUP
from tests.browser.window import NARROW, WIDE, Window
from tests.browser.yard import ABILITIES, LARGE, Yard
from tests.process.house import until

PAGES = (
    "",
    "/endpoints?new=1",
    "/endpoints?name=nowhere",
    "/endpoints/{Orders}",
    "/endpoints/{Broken}",
    "/endpoints/{Orders}/types",
    "/endpoints/{Orders}/settings",
    "/endpoints/{Orders}/script",
    "/deliveries",
    "/deliveries/{dead}",
    "/deliveries/{delivered}",
    "/replays",
    "/types",
    "/types/order.paid",
    "/signatures",
    "/nowhere",
    "/deliveries/01a20d2f-0000-7000-8000-000000000000",
)


@contextmanager
def portal(
    tabs: Window, yard: Yard, path: str = "", customer: str = "ada", look: str = "", **more: Any
) -> Iterator[Window]:
    with tabs.another(yard.url, **more) if more else tabs.tab() as window:
        visit(window, yard, path, customer, look)
        yield window
        window.search()


def visit(
    window: Window, yard: Yard, path: str = "", customer: str = "ada", look: str = ""
) -> None:
    address = f"{yard.url}/portal/{yard.workspace}{path.format(**yard.ids)}"
    window.page.goto(f"{address}#token={yard.token(customer)}{look}")
    window.settled()


@pytest.mark.parametrize(("size", "locale"), [(WIDE, "en-GB"), (NARROW, "de-DE")])
def test_a_page_of_the_portal_is_reachable_to_everybody(
    tabs: Window, yard: Yard, size: tuple[int, int], locale: str
) -> None:
    with portal(tabs, yard, size=size, locale=locale) as window:
        bring(window)
        for path in PAGES:
            window.page.goto(f"{yard.url}/portal/{yard.workspace}{path.format(**yard.ids)}")
            window.settled()
            assert window.overflow() <= 0, path
            name = re.sub(r"\W+", "-", path).strip("-") or "endpoints"
            window.dress("light")
            assert violations(window) == [], path
            window.shoot(f"portal-{name}-{size[0]}-light")
            window.dress("dark")
            assert violations_of_colours(window) == [], path
            window.shoot(f"portal-{name}-{size[0]}-dark")


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_the_portals_first_view_keeps_the_budgets(tabs: Window, yard: Yard, locale: str) -> None:
    with portal(tabs, yard, locale=locale) as window:
        [view] = first_views(window, 1, f"/portal/{yard.workspace}")
        assert 0 < len(view.scripts) <= SCRIPTS, view.scripts
        assert len(view.requests) <= REQUESTS, view.requests
        assert view.bytes <= BYTES
        window.page.get_by_role("search").wait_for()  # parts that load later still appear


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("colour", ["ffe600", "001030"])
def test_a_colour_of_a_brand_is_shifted_until_it_can_be_read(
    tabs: Window, yard: Yard, scheme: str, colour: str
) -> None:
    look = f"&theme={scheme}&primary=%23{colour}&radius=12&density=compact&locale=de"
    with portal(tabs, yard, "/endpoints/{Orders}/types", look=look) as window:
        assert violations(window) == []
        root = window.page.evaluate("({...document.documentElement.dataset})")
        assert root == {"theme": scheme, "density": "compact"}
        assert window.page.locator("html").get_attribute("lang") == "de"
        window.shoot(f"portal-brand-{colour}-{scheme}")


def test_the_token_leaves_the_address_at_once_and_the_tab_goes_on(tabs: Window, yard: Yard) -> None:
    with portal(tabs, yard) as window:
        assert "#" not in window.page.url
        assert "angarium.portal" in window.page.evaluate("Object.keys(sessionStorage)")
        window.page.reload()
        window.settled()
        window.page.get_by_role("heading", name="Endpoints").wait_for()
        assert window.page.evaluate("document.cookie") == ""


@pytest.mark.parametrize("path", ["/endpoints/{Of Bob}", "/deliveries/{bobs}"])
def test_ids_of_another_customer_show_nothing(tabs: Window, yard: Yard, path: str) -> None:
    with portal(tabs, yard, path) as window:
        window.page.get_by_text("Not found, or no longer kept.").wait_for()
        assert "Of Bob" not in window.page.content()


def test_a_token_of_another_workspace_opens_nothing(tabs: Window, yard: Yard) -> None:
    with tabs.tab() as window:
        other = "01a20d2f-0000-7000-8000-000000000000"
        window.page.goto(f"{yard.url}/portal/{other}#token={yard.token()}")
        window.page.get_by_text("This session belongs to another workspace.").wait_for()
        assert violations(window) == []
        window.search()


def test_a_page_without_a_session_says_where_to_open_it(tabs: Window, yard: Yard) -> None:
    with tabs.tab() as window:
        window.page.goto(f"{yard.url}/portal/{yard.workspace}")
        window.page.get_by_text("it needs a session").wait_for()
        window.search()


def test_what_permissions_deny_is_absent(tabs: Window, yard: Yard) -> None:
    yard.allow(*ABILITIES)
    try:
        with portal(tabs, yard, "/endpoints/{Orders}/settings") as window:
            for path in (
                "",
                "/endpoints/{Orders}",
                "/endpoints/{Orders}/types",
                "/endpoints/{Orders}/settings",
                "/deliveries/{dead}",
                "/types/order.paid",
            ):
                window.page.goto(f"{yard.url}/portal/{yard.workspace}{path.format(**yard.ids)}")
                window.settled()
                said = window.page.locator("main button").all_inner_texts()
                kept = (
                    "Freeze page",
                    "Last error",
                    "Destination",
                    "State",
                    "Waiting",
                    "Attempt",
                    "As it",
                    "",
                )
                assert [each for each in said if not each.startswith(kept)] == [], path
                assert window.page.locator("main form:not([role=search]) :enabled").count() == 0
                assert window.page.get_by_role("link", name="Transform").count() == 0
            window.page.goto(
                f"{yard.url}/portal/{yard.workspace}/deliveries/{yard.ids['delivered']}"
            )
            window.settled()
            assert str(EXACT) not in window.page.content()  # without `viewPayloads` too
    finally:
        yard.allow()


def test_permissions_of_one_customer_are_set_in_the_console_and_hold_in_its_portal(
    tabs: Window, yard: Yard
) -> None:
    with tabs.tab() as window:
        window.sign_in(yard.house.key)
        page = window.open("/customers/bob?tab=limits")
        expect(page.get_by_label("Retry deliveries")).to_have_value("")
        page.get_by_label("Send samples").select_option("Not allowed")
        page.get_by_label("Archive destinations").select_option("Allowed")
        page.get_by_role("button", name="Save the permissions").press("Enter")
        page.get_by_text("Saved.").wait_for()
        assert violations(window) == []
        own = yard.house.api("GET", "/customers/bob")["permissions"]
        given = {name: value for name, value in own.items() if value is not None}
        assert given == {"testDestinations": False, "archiveDestinations": True}
        # As another operator does.
        changed = {**own, "retryDeliveries": False}
        account = yard.house.api("GET", "/customers/bob")
        body = {name: account[name] for name in ("name", "quotas")} | {"permissions": changed}
        yard.house.api("PUT", "/customers/bob", body)
        with page.expect_response(lambda answer: answer.request.method == "PUT") as saved:
            page.get_by_role("button", name="Save", exact=True).click()  # for name and limits
        assert saved.value.ok
        assert yard.house.api("GET", "/customers/bob")["permissions"] == changed
        yard.house.api("PUT", "/customers/bob", body | {"permissions": own})
        assert yard.house.api("GET", "/customers/bob")["permissions"] == own
        window.search()
    for customer, endpoint, may in (("bob", "Of Bob", 0), ("ada", "Orders", 1)):
        with portal(tabs, yard, f"/endpoints/{{{endpoint}}}", customer) as window:
            expect(window.page.get_by_role("button", name="Switch off")).to_have_count(1)
            expect(window.page.get_by_role("button", name="Send a sample")).to_have_count(may)


def test_a_payload_is_text_and_exact(tabs: Window, yard: Yard) -> None:
    with portal(tabs, yard, "/deliveries/{delivered}") as window:
        text = window.page.locator(".payload").last.inner_text()
        assert str(EXACT) in text
        assert MARKUP.replace('"', '\\"') in text
        window.page.goto(f"{yard.url}/portal/{yard.workspace}/deliveries/{yard.ids['huge']}")
        window.settled()
        large = window.page.locator(".payload").last
        assert len(large.inner_text()) > LARGE
        assert window.overflow() <= 0


def press(window: Window, target: Locator, key: str = "Tab") -> None:
    window.tab_to(target, key)
    window.page.keyboard.press("Enter")


def test_a_new_customer_is_led_to_the_first_delivery_by_keyboard(tabs: Window, yard: Yard) -> None:
    with portal(tabs, yard, customer="new") as window:
        page = window.page
        page.get_by_text("An endpoint is the address").wait_for()
        window.shoot("portal-empty")
        press(window, page.locator("main").get_by_role("button", name="New endpoint").last)
        window.tab_to(page.get_by_role("textbox", name="Name"))
        page.keyboard.type("Mine")
        page.keyboard.press("Tab")
        page.keyboard.type(f"{yard.receiver.url}/mine")
        page.keyboard.press("Enter")
        press(window, page.get_by_role("button", name="Open it"))
        page.get_by_role("heading", name="Mine").wait_for()
        press(window, page.get_by_role("button", name="Send a sample"))
        page.get_by_role("dialog").get_by_text("200").wait_for()
        assert len(yard.receiver.arrivals("/mine")) == 1
        page.keyboard.press("Escape")
        press(window, page.get_by_role("link", name="Event types").last)
        press(window, page.get_by_role("button", name="Unsubscribe"))
        page.get_by_text("This endpoint has no subscriptions").wait_for()
        press(window, page.get_by_role("link", name="Event types").first, "Shift+Tab")
        press(window, page.get_by_role("link", name="order.paid"))
        press(window, page.get_by_role("button", name="Subscribe"))
        page.get_by_text("Subscribed. It applies").wait_for()
        press(window, page.get_by_role("button", name="Send the example"))
        press(window, page.get_by_role("link", name="See request and answer"))
        page.get_by_text('"total": 42').first.wait_for()
        assert violations(window) == []


def test_a_customer_chooses_among_the_known_types_for_a_new_endpoint(
    tabs: Window, yard: Yard
) -> None:
    with portal(tabs, yard, "?new=1", customer="chooser") as window:
        page = window.page
        dialog = page.get_by_role("dialog")
        field = dialog.get_by_role("textbox", name="Event types")
        every = dialog.get_by_role("checkbox", name="Every type")
        known = dialog.get_by_role("checkbox", name="order.paid A paid order.")
        expect(every).to_be_checked()
        known.check()
        expect(every).not_to_be_checked()
        expect(field).to_have_value("order.paid")
        field.fill("order.paid invoice.*")
        expect(known).to_be_checked()
        known.uncheck()
        expect(field).to_have_value("invoice.*")
        known.check()
        assert violations(window) == []
        window.shoot("portal-types-chosen")
        dialog.get_by_label("Name").fill("Chosen")
        dialog.get_by_label("Address").fill(f"{yard.receiver.url}/chosen")
        dialog.get_by_role("button", name="Create").click()
        dialog.get_by_role("button", name="Open it").click()
        page.get_by_role("heading", name="Chosen").wait_for()
        page.get_by_role("link", name="Event types").last.click()
        page.get_by_role("checkbox", name="Every type").check()
        page.get_by_role("button", name="Subscribe", exact=True).click()
        expect(page.get_by_role("button", name="Unsubscribe")).to_have_count(2)
        made = page.url.split("/endpoints/")[1].split("/")[0]
        rules = yard.house.api("GET", f"/routing-rules?destinationId={made}")["items"]
        assert [each["eventTypes"] for each in rules] == [["*"], ["invoice.*", "order.paid"]]


def test_a_dead_letter_is_retried_and_its_endpoint_recovered(tabs: Window, yard: Yard) -> None:
    with portal(tabs, yard, "/deliveries/{dead}") as window:
        page = window.page
        before = len(yard.receiver.arrivals("/broken"))
        page.get_by_role("button", name="Retry").click()
        page.get_by_text("The delivery is queued.").wait_for()
        until(lambda: len(yard.receiver.arrivals("/broken")) > before, "it is sent again")
        page.goto(f"{yard.url}/portal/{yard.workspace}/endpoints/{yard.ids['Orders']}")
        page.get_by_role("button", name="Recover since…").click()
        page.get_by_label("With the status").select_option("DELIVERED")
        since = page.get_by_label("From").input_value()
        page.get_by_role("button", name="The last hour").click()
        expect(page.get_by_label("From")).not_to_have_value(since)
        page.get_by_role("button", name="Count first").click()
        page.get_by_text(re.compile("deliver(y|ies) would be sent again")).wait_for()
        assert violations(window) == []
        page.get_by_role("button", name="Start").click()
        page.get_by_role("link", name="Its deliveries").click()
        page.get_by_role("heading", name="Deliveries", level=1).wait_for()
        job = yard.house.api("GET", "/replay-jobs?limit=1")["items"][0]
        assert page.url.endswith(f"/deliveries?replayJobId={job['id']}")


def test_without_a_connection_the_page_keeps_what_it_has(tabs: Window, yard: Yard) -> None:
    with portal(tabs, yard, "/endpoints/{Orders}/settings") as window:
        page = window.page
        page.get_by_label("Description").fill("A draft")
        page.context.set_offline(True)
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_text("The server does not answer.").wait_for()
        assert page.get_by_label("Description").input_value() == "A draft"
        assert violations(window) == []
        page.context.set_offline(False)
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_text("Saved.").wait_for()


def test_another_link_in_the_same_tab_starts_anew(tabs: Window, yard: Yard) -> None:
    with portal(tabs, yard, "/endpoints/{Orders}") as window:
        window.page.get_by_text("ada", exact=True).wait_for()  # the session's customer
        window.page.evaluate("(to) => { location.hash = to; }", f"token={yard.token('bob')}")
        window.page.get_by_role("link", name="Of Bob").wait_for()
        window.page.get_by_role("heading", name="Endpoints").wait_for()
        assert window.page.url == f"{yard.url}/portal/{yard.workspace}"
        window.page.reload()
        window.page.get_by_role("link", name="Of Bob").wait_for()
