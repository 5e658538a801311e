"""Destinations whose requests carry a token or a password. Destinations that are disabled because they
fail for too long."""

from typing import Any

import orjson

from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Received, Receiver


class Issuer:
    """A receiver that is also a token endpoint, and accepts only its newest token."""

    def __init__(self, receiver: Receiver) -> None:
        self.issued = 0
        self.down = False
        self._receiver = receiver
        receiver.answer, receiver.says = self._answer, self._says

    def _answer(self, request: Received) -> int:
        if request.path == "/token":
            self.issued += not self.down
            return 503 if self.down else 200
        return 204 if request.headers.get("authorization") == f"Bearer t{self.issued}" else 401

    def _says(self, request: Received) -> bytes:
        given = {"access_token": f"t{self.issued}", "token_type": "bearer", "expires_in": 3600}
        return orjson.dumps(given) if request.path == "/token" else b""


BASIC = {"kind": "BASIC", "username": "ada", "password": "l0velace"}
AS_ADA = "Basic YWRhOmwwdmVsYWNl"


async def attempts(house: ServiceHouse, api: Caller, event: str) -> Any:
    found = await house.until(
        api, f"/deliveries?eventId={event}", lambda page: page["items"][0]["attemptCount"]
    )
    return (await api("GET", f"/deliveries/{found['items'][0]['id']}")).json


async def test_tokens_are_fetched_shared_renewed_and_never_shown(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    issuer = Issuer(receiver)
    oauth2 = {
        "kind": "OAUTH2_CLIENT_CREDENTIALS",
        "tokenUrl": receiver.url("/token"),
        "clientId": "c",
        "clientSecret": "s3cret",
    }
    of = await destination(api, receiver.url(), authentication=oauth2, method="PUT")
    for _ in range(2):
        detail = await attempts(house, api, await post(api))
        assert detail["status"] == "DELIVERED", detail
    assert issuer.issued == 1
    assert detail["request"]["method"] == "PUT"
    assert detail["request"]["headers"]["authorization"] == "***"
    assert "t1" not in str(detail)
    issuer.issued = 7  # the receiver now requires another token
    detail = await attempts(house, api, await post(api))
    assert (detail["status"], issuer.issued) == ("DELIVERED", 8)
    issuer.issued, issuer.down = 9, True
    detail = await attempts(house, api, await post(api))
    assert (detail["status"], detail["errorCategory"]) == ("RETRYING", "AUTHENTICATION")
    assert detail["attempts"][0]["errorMessage"] == "the token endpoint answered 503"
    tested = (await api("POST", f"/destinations/{of}/test")).json
    assert (tested["success"], tested["errorCategory"]) == (False, "AUTHENTICATION")
    rehearsed = (await api("POST", f"/destinations/{of}/test", {"dryRun": True})).json
    assert rehearsed["request"]["method"] == "PUT"
    assert rehearsed["request"]["headers"]["authorization"] == "***"


async def test_a_password_is_sent_with_every_request(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    basic = {"kind": "BASIC", "username": "Aladdin", "password": "open sesame"}
    await destination(api, receiver.url(), authentication=basic)
    await post(api)
    (request,) = await receiver.reaches(1)
    assert request.headers["authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="  # RFC 7617


async def test_a_destination_that_fails_too_long_is_disabled_announced_and_audited(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    receiver.answer = lambda request: 204 if request.path == "/told" else 500
    await destination(api, receiver.url("/told"), ["angarium.destination.disabled"])
    options = {"retrySchedule": [], "concurrency": 1}
    of = await destination(api, receiver.url(), ["e.*"], delivery=options, disableAfterSeconds=1)
    for _ in range(11):  # the last event waits for the circuit's probes
        await post(api)
    await house.until(api, f"/destinations/{of}", lambda found: found["status"] == "DISABLED")
    (told,) = await receiver.reaches(1, "/told")
    assert told.json["data"]["reason"] == "FAILING"
    assert told.json["data"]["destinationId"] == of
    (entry, _) = (await api("GET", f"/audit-logs?objectId={of}")).json["items"]
    assert (entry["action"], entry["actorType"]) == ("destination.disable", "SYSTEM")
    assert entry["actorId"] == "receiver-fails"


async def test_a_customers_request_is_sent_as_its_session_said(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    made = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
    ada = house.caller_with(made.json["token"])
    more: dict[str, Any] = {"method": "PUT", "authentication": BASIC, "disableAfterSeconds": 3600}
    path = f"/destinations/{await destination(ada, receiver.url(), **more)}"
    shown = (await ada("GET", path)).json
    assert shown["authentication"] == BASIC | {"password": "***"}
    assert (shown["method"], shown["disableAfterSeconds"]) == ("PUT", 3600)
    detail = await attempts(house, api, await post(api, customerExternalId="ada"))
    assert (detail["status"], detail["request"]["method"]) == ("DELIVERED", "PUT")
    assert receiver.received[0].headers["authorization"] == AS_ADA
    assert (await ada("PATCH", path, {"authentication": None})).json["authentication"] is None
    await attempts(house, api, await post(api, customerExternalId="ada"))
    assert "authorization" not in receiver.received[1].headers
