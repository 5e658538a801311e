"""The portal in a frame on another site's page, and the TypeScript client on such a page."""

from pathlib import Path

from playwright.sync_api import Route, expect

from tests.browser.first_view import BYTES, REQUESTS, SCRIPTS, WATCH, first_view
from tests.browser.window import Window
from tests.browser.yard import Yard, host_page
from tests.clients.drivers import built

# The script uses a customer's token. It reads destinations and changes one of them. It also asks for the
# list of API keys, which the API refuses.
BY_CLIENT = """
async ([module, url, token, delivery]) => {
    const { Angarium } = await import(module);
    const angarium = new Angarium({ url, key: () => token });
    const { items } = await angarium.destinations.list();
    const orders = items.find(each => each.name === "Orders");
    const kept = orders.description;
    const changed = await angarium.destinations.update(orders.id, { description: "By the client" });
    await angarium.destinations.update(orders.id, { description: kept });
    const own = (await angarium.deliveries.get(delivery)).destinationId === orders.id;
    const refused = await angarium.apiKeys.list().catch(error => error.status);
    return [items.map(each => each.name).sort(), changed.description, own, refused];
}
"""


def test_the_first_view_in_a_frame_keeps_the_budgets(browser: Window, yard: Yard) -> None:
    with host_page(yard) as origin, browser.another(yard.url, locale="de-DE") as window:
        yard.allow(allowedOrigins=[origin])
        window.page.add_init_script(WATCH)
        window.page.goto(origin)
        window.page.frame_locator("iframe").get_by_role("heading", name="Ziele").wait_for()
        view = first_view(window.page.frames[1])
        assert 0 < len(view.scripts) <= SCRIPTS, view.scripts
        assert len(view.requests) <= REQUESTS, view.requests
        assert view.bytes <= BYTES


def test_another_site_embeds_the_portal_and_renews_its_token(browser: Window, yard: Yard) -> None:
    with host_page(yard) as origin, browser.another(yard.url) as window:
        yard.allow(allowedOrigins=[origin], returnUrl="https://acme.example/account")
        page = window.page
        page.clock.install()
        page.goto(origin)
        inside = page.frame_locator("iframe")
        inside.get_by_role("heading", name="Endpoints").wait_for()
        assert inside.locator("html").evaluate("() => sessionStorage.length") == 0
        page.wait_for_function("document.querySelector('iframe').style.height")
        page.evaluate("document.querySelector('angarium-portal').setAttribute('theme', 'dark')")
        inside.locator("html[data-theme=dark]").wait_for()
        with page.expect_request("**/webhooks/token"):
            page.clock.fast_forward("03:46")  # of a lifetime of five minutes
        inside.get_by_role("link", name="Orders").click()
        inside.get_by_role("link", name="Settings").click()
        inside.get_by_label("Description").fill("Another draft")
        page.route("**/webhooks/token", lambda route: route.abort())
        page.clock.fast_forward("04:05")
        inside.get_by_text("The session ends within a minute.").wait_for()
        page.clock.fast_forward("00:56")
        inside.get_by_text("The session has ended.").wait_for()
        assert inside.get_by_label("Description").input_value() == "Another draft"
        assert inside.get_by_label("Description").is_disabled()
        window.shoot("portal-ended")
        inside.get_by_role("button", name="Continue").click()
        back = inside.get_by_role("link", name="Back to your account")
        assert back.get_attribute("href") == "https://acme.example/account"
        page.unroute("**/webhooks/token")
        inside.get_by_role("button", name="Continue").click()
        inside.get_by_role("button", name="Save", exact=True).click()
        inside.get_by_text("Saved.").wait_for()
        complaints = [each for each in window.complaints if "getToken failed" not in each]
        assert complaints == []


def test_a_token_of_another_customer_starts_anew(browser: Window, yard: Yard) -> None:
    account = "https://acme.example/account"
    with host_page(yard) as origin, browser.another(yard.url) as window:
        yard.allow(allowedOrigins=[origin], returnUrl=account)
        page = window.page
        page.clock.install()
        page.route(
            account, lambda route: route.fulfill(body="Your account", content_type="text/html")
        )
        page.goto(origin)
        inside = page.frame_locator("iframe")
        inside.get_by_role("link", name="Orders").click()
        inside.get_by_role("link", name="Settings").click()
        inside.get_by_label("Description").fill("A draft of Ada")
        tokens = "**/webhooks/token"
        page.route(tokens, lambda route: route.fulfill(json={"token": yard.token("bob")}))
        # A token lasts for five minutes. After three quarters of that time, the page requests a new token
        # for the frame. The route above answers with a token of another customer.
        page.clock.fast_forward("03:46")
        inside.get_by_role("heading", name="Endpoints").wait_for()
        inside.get_by_role("link", name="Of Bob").wait_for()
        assert inside.get_by_role("link", name="Orders").count() == 0
        # The frame grows for a dialog.
        inside.get_by_role("button", name="New endpoint").click()
        expect(inside.get_by_role("checkbox", name="order.paid")).to_be_in_viewport(ratio=1)
        inside.get_by_role("button", name="Cancel").click()
        inside.get_by_role("link", name="Deliveries").click()
        inside.locator("tbody tr", has_text="Of Bob").wait_for()  # the names are Bob's
        page.unroute(tokens)
        page.route(tokens, lambda route: route.abort())
        page.clock.fast_forward("14:30")
        page.clock.fast_forward("00:45")
        inside.get_by_role("button", name="Continue").click()
        inside.get_by_role("link", name="Back to your account").click()
        page.wait_for_url(account)  # the whole window's address, not the frame's


def test_a_site_that_is_not_listed_can_not_frame_the_portal(browser: Window, yard: Yard) -> None:
    with host_page(yard) as origin, browser.another(yard.url) as window:
        yard.allow(allowedOrigins=[origin])
        page, refused = window.page, "chrome-error://chromewebdata/"
        with (
            page.expect_console_message(lambda said: "frame-ancestors" in said.text),
            page.expect_event("framenavigated", lambda frame: frame.url == refused),
        ):
            page.goto(origin.replace("127.0.0.1", "localhost"))
        assert [each.url for each in page.frames[1:]] == [refused]


def test_the_typescript_client_acts_for_a_customer_in_another_sites_page(
    browser: Window, yard: Yard, tmp_path: Path
) -> None:
    folder = built(tmp_path / "angarium").parent
    with host_page(yard) as origin, browser.another(yard.url) as window:
        yard.allow(allowedOrigins=[origin])
        page = window.page

        def serve(route: Route) -> None:
            script = folder / route.request.url.rpartition("/")[2]
            route.fulfill(path=script, content_type="text/javascript")

        page.route(f"{origin}/client/*", serve)
        page.goto(origin)
        asked = [f"{origin}/client/index.js", yard.url, yard.token(), yard.ids["delivered"]]
        names, description, own, refused = page.evaluate(BY_CLIENT, asked)
        assert {"Orders", "Broken"} <= set(names)
        assert "Of Bob" not in names
        assert (description, own, refused) == ("By the client", True, 403)
