"""The files of a customer, as its embed session sees them."""

import base64

from tests.api.house import Caller
from tests.service.house import ServiceHouse, browser_of


async def uploaded(api: Caller, text: str, **fields: str) -> str:
    content = base64.b64encode(text.encode()).decode()
    answer = await api("POST", "/files", {"fileName": "f.txt", "content": content, **fields})
    assert answer.status == 202, answer.body
    return str(answer.json["id"])


async def test_a_session_reads_its_customers_files_and_no_others(
    house: ServiceHouse, api: Caller
) -> None:
    mine = await uploaded(api, "mine", customerExternalId="c1")
    theirs = await uploaded(api, "theirs", customerExternalId="c2")
    nobodys = await uploaded(api, "nobody's")
    own = await browser_of(house, api, "c1")
    page = (await own("GET", "/files")).json
    assert [each["id"] for each in page["items"]] == [mine]
    assert (await own("GET", "/files?customerExternalId=c2")).json["items"] == []
    assert (await own("GET", f"/files/{mine}/content")).body == b"mine"
    for each in (theirs, nobodys):
        assert (await own("GET", f"/files/{each}")).status == 404
        assert (await own("GET", f"/files/{each}/content")).status == 404
        assert (await own("GET", f"/lookup?q={each}")).json["items"] == []


async def test_without_permission_a_session_sees_a_file_but_not_its_content(
    house: ServiceHouse, api: Caller
) -> None:
    mine = await uploaded(api, "mine", customerExternalId="c1")
    own = await browser_of(house, api, "c1")
    may = {"customerMay": {"viewPayloads": False}}
    assert (await api("PATCH", "/workspace", may)).status == 200
    shown = (await own("GET", f"/files/{mine}")).json
    assert (shown["fileName"], shown["metadata"]) == ("f.txt", None)
    assert (await own("GET", f"/files/{mine}/content")).status == 403
