"""The pictures of the console in the README: `python -m tests.browser.picture` takes new ones."""

import random
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.browser.assets import Front
from tests.browser.town import Town
from tests.browser.window import CHROMIUM, Window, open_browser
from tests.process.house import House
from tests.process.receiver import Answer, Receiver, always, failing

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZE = (1280, 760)
KINDS = ("order.created", "order.paid", "order.shipped", "invoice.finalised", "customer.updated")
CUSTOMERS = ("acme", "globex", "initech", "umbrella", "hooli")
EVENTS, BEFORE_S, PAUSE_S = 24, 55, 0.5  # the traffic that gives the plots a shape
LARGEST = 200_000  # the maximum size of a picture in bytes


def furnished(house: House, receiver: Receiver) -> Town:
    town = Town(house, receiver)
    receiver.behave("/search", always(Answer(delay_s=0.15)))
    receiver.behave("/crm", always(Answer(503)))
    receiver.behave("/mirror", failing(1, 503))
    retries: dict[str, object] = {"retrySchedule": [1, 5, 30, 120]}
    town.destination("Warehouse", "/warehouse", ["order.*"])
    town.destination("Billing", "/billing", ["invoice.*", "order.paid"])
    town.destination("Search index", "/search", ["order.*", "customer.*"])
    town.destination("Customer portal", "/portal", ["customer.*", "order.shipped"])
    town.destination("Partner CRM", "/crm", ["customer.updated"], delivery={"retrySchedule": []})
    town.destination("Mirror in Frankfurt", "/mirror", ["order.paid"], delivery=retries)
    return town


def busy(town: Town, stop: threading.Event) -> None:
    drawn = random.Random(7)
    while not stop.wait(PAUSE_S):
        for _ in range(drawn.randrange(EVENTS // 2, EVENTS)):
            order = drawn.randrange(1000, 9999)
            body = {
                "eventType": drawn.choice(KINDS),
                "payload": {"order": order, "total": f"{drawn.randrange(5, 400)}.90"},
                "customerExternalId": drawn.choice(CUSTOMERS),
                "correlationId": f"checkout-{order}",
            }
            told = town.house.ask("POST", "/events", body)
            assert told.status == 202, told


def take(browser: Window, url: str, key: str, scheme: str, path: Path) -> None:
    with browser.another(url, SIZE, scheme=scheme) as window:
        window.sign_in(key)
        window.open("")
        window.page.wait_for_selector(".skeleton", state="detached")
        window.page.screenshot(path=str(path))
        window.search()
    size = path.stat().st_size
    print(f"{path.relative_to(IMAGES.parents[1])}: {size:,} bytes")
    assert size <= LARGEST, path


def main() -> None:
    if CHROMIUM is None:
        sys.exit("The pictures need Chromium. On Debian and Ubuntu: apt install chromium")
    with tempfile.TemporaryDirectory(prefix="angarium-picture-") as folder:
        Path(folder).chmod(0o755)
        receiver = Receiver()
        try:
            with House(Path(folder) / "data") as house:
                town, stop = furnished(house, receiver), threading.Event()
                traffic = threading.Thread(target=busy, args=(town, stop))
                traffic.start()
                time.sleep(BEFORE_S)  # the overview's plot shows a minute
                front = Front(("127.0.0.1", house.port))
                with open_browser(CHROMIUM) as browser:
                    for scheme in ("light", "dark"):
                        path = IMAGES / f"console-{scheme}.png"
                        take(browser, front.url, house.key, scheme, path)
                stop.set()
                traffic.join()
                front.close()
        finally:
            receiver.close()


if __name__ == "__main__":
    main()
