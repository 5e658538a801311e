"""The reader's ways into the console, and the ends of a visit."""

import subprocess
import sys

from playwright.sync_api import expect

from bench.programs import ROOT
from tests.browser.assets import Front
from tests.browser.town import Town
from tests.browser.window import Window


def test_a_key_opens_the_overview_and_is_kept_nowhere(
    browser: Window, front: Front, town: Town
) -> None:
    with browser.another(front.url) as window:
        window.sign_in(town.house.key)
        page = window.page
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        assert page.evaluate("Object.keys(localStorage).length") == 0
        assert page.evaluate("document.cookie") == ""
        window.search()


def test_the_service_itself_serves_the_console(browser: Window, town: Town) -> None:
    with browser.another(town.house.url) as window:
        window.sign_in(town.house.key)
        page = window.page
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        assert page.evaluate("sessionStorage.getItem('angarium.session')").count("angcs_") == 1
        page.reload()
        page.get_by_role("heading", name="Overview").wait_for()
        page.get_by_text("Failed attempts").first.wait_for()
        page.get_by_role("button", name="Sign out").click()
        page.get_by_label("API key").wait_for()
        expect(page.get_by_label("API key")).to_have_attribute("placeholder", "ang_…")


def test_a_login_link_signs_in_once_and_leaves_no_code(browser: Window, town: Town) -> None:
    made = subprocess.run(
        [sys.executable, "-m", "api.cli", "console", "--data-dir", str(town.house.folder)],
        check=True, capture_output=True, text=True, cwd=ROOT,
    )  # fmt: skip
    code = made.stdout.strip().partition("#")[2]
    with browser.another(town.house.url) as window:
        page = window.page
        page.goto(f"{town.house.url}/console#{code}")
        page.get_by_role("heading", name="Overview").wait_for()
        assert "code" not in page.url
    with browser.another(town.house.url) as window:
        window.page.goto(f"{town.house.url}/console#{code}")
        window.page.get_by_text("This login link was used before").wait_for()
        window.page.get_by_text("angarium console").wait_for()


def test_an_unknown_key_is_refused_with_the_reason(browser: Window, front: Front) -> None:
    with browser.another(front.url) as window:
        page = window.page
        page.goto(f"{front.url}/console")
        page.get_by_label("API key").fill("ang_dev_unknown")
        page.keyboard.press("Enter")
        page.get_by_text("This key is not known").wait_for()


def test_a_key_that_only_sends_events_is_refused_with_the_reason(
    browser: Window, front: Front, town: Town
) -> None:
    body = {"name": "sender", "scope": "ingest", "environment": "DEVELOPMENT"}
    key = town.house.api("POST", "/api-keys", body)["secret"]
    town.house.secrets.append(key)
    with browser.another(town.house.url) as window:
        page = window.page
        page.goto(f"{town.house.url}/console")
        page.get_by_label("API key").fill(key)
        page.keyboard.press("Enter")
        page.get_by_text("it needs the scope read or manage").wait_for()


def test_a_second_tab_is_signed_in_by_the_first(window: Window) -> None:
    with window.page.context.expect_page() as opened:
        window.page.get_by_role("link", name="Overview").first.click(button="middle")
    opened.value.get_by_role("heading", name="Overview").wait_for()


def test_signing_out_ends_the_visit_in_every_tab(window: Window) -> None:
    second = window.page.context.new_page()
    second.goto(f"{window.url}/console/dev")
    second.get_by_role("heading", name="Overview").wait_for()
    window.page.get_by_role("button", name="Sign out").click()
    second.get_by_label("API key").wait_for()
