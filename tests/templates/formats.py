"""JSON Schemas of the formats that services accept.

The schemas follow the services' published documents. The comment above a schema has the document's URL. A
schema limits the number of characters. If a service limits another number, such as bytes, the limit is in
`LIMITS`.
"""

from collections.abc import Callable
from typing import Any

Schema = dict[str, Any]


def text(most: int, least: int = 0) -> Schema:
    return {"type": "string", "minLength": least, "maxLength": most}


def closed(required: list[str], **properties: Any) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def items(of: Schema, most: int, least: int = 0) -> Schema:
    return {"type": "array", "items": of, "minItems": least, "maxItems": most}


ANYTHING: Schema = {}
INSTANT = {"type": "string", "format": "date-time"}
EMAIL = {"type": "string", "format": "email"}
SENDER = {"type": "string", "pattern": r"^([^<>]+ <)?[^<>\s@]+@[^<>\s@]+>?$"}

# https://docs.slack.dev/reference/block-kit/blocks: header-block, section-block, context-block;
# https://docs.slack.dev/reference/block-kit/composition-objects/text-object
_PLAIN = {"type": {"const": "plain_text"}, "emoji": {"type": "boolean"}}
_MRKDWN = {"type": {"const": "mrkdwn"}, "verbatim": {"type": "boolean"}}
SLACK_BLOCKS = items(
    {
        "oneOf": [
            closed(
                ["type", "text"],
                type={"const": "header"},
                text=closed(["type", "text"], **_PLAIN, text=text(150, 1)),
            ),
            closed(
                ["type", "text"],
                type={"const": "section"},
                text=closed(["type", "text"], **_MRKDWN, text=text(3_000, 1)),
            ),
            closed(
                ["type", "elements"],
                type={"const": "context"},
                elements=items(closed(["type", "text"], **_PLAIN, text=text(2_000, 1)), 10, 1),
            ),
        ]
    },
    50,
    1,
)
# https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks
SLACK = closed(
    ["text", "blocks"],
    text=text(40_000, 1),
    blocks=SLACK_BLOCKS,
    unfurl_links={"type": "boolean"},
)
# https://docs.slack.dev/reference/methods/chat.postMessage (recommends at most 4,000 characters of text)
SLACK_BOT = closed(
    ["channel", "text", "blocks"],
    channel=text(80, 1),
    text=text(4_000, 1),
    blocks=SLACK_BLOCKS,
    unfurl_links={"type": "boolean"},
)
# https://discord.com/developers/docs/resources/webhook#execute-webhook
# https://discord.com/developers/docs/resources/message#embed-object-embed-limits
DISCORD = closed(
    ["embeds", "allowed_mentions"],
    username=text(80, 1),
    allowed_mentions=closed(["parse"], parse=items(ANYTHING, 0)),
    embeds=items(
        closed(
            ["title"],
            title=text(256, 1),
            description=text(4_096, 1),
            timestamp=INSTANT,
            footer=closed(["text"], text=text(2_048)),
        ),
        10,
        1,
    ),
)
# https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook
# https://learn.microsoft.com/en-us/adaptive-cards/schema-explorer/text-run
_RUN = closed(
    ["type", "text"],
    type={"const": "TextRun"},
    text={"type": "string"},
    weight={"enum": ["Default", "Lighter", "Bolder"]},
    size={"enum": ["Default", "Small", "Medium", "Large", "ExtraLarge"]},
    fontType={"enum": ["Default", "Monospace"]},
    isSubtle={"type": "boolean"},
)
_CARD = {
    "type": "object",
    "properties": {
        "$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"},
        "type": {"const": "AdaptiveCard"},
        "version": {"enum": ["1.2", "1.3", "1.4", "1.5"]},
        "msteams": closed(["width"], width={"const": "Full"}),
        "body": items(
            closed(
                ["type", "inlines"],
                type={"const": "RichTextBlock"},
                inlines=items(_RUN, 10, 1),
            ),
            20,
            1,
        ),
    },
    "required": ["type", "version", "body"],
    "additionalProperties": False,
}
TEAMS = closed(
    ["type", "attachments"],
    type={"const": "message"},
    attachments=items(
        closed(
            ["contentType", "content"],
            contentType={"const": "application/vnd.microsoft.card.adaptive"},
            contentUrl={"type": "null"},
            content=_CARD,
        ),
        1,
        1,
    ),
)
# https://developer.pagerduty.com/docs/send-alert-event
PAGERDUTY = {
    **closed(
        ["routing_key", "event_action", "dedup_key"],
        routing_key={"type": "string", "pattern": "^[A-Za-z0-9]{32}$"},
        event_action={"enum": ["trigger", "acknowledge", "resolve"]},
        dedup_key=text(255, 1),
        client={"type": "string"},
        payload=closed(
            ["summary", "source", "severity"],
            summary=text(1_024, 1),
            source=text(255, 1),
            severity={"enum": ["critical", "error", "warning", "info"]},
            timestamp=INSTANT,
            custom_details={"type": "object"},
            **{"class": {"type": "string"}},
        ),
    ),
    "if": {"properties": {"event_action": {"const": "trigger"}}},
    "then": {"required": ["payload"]},
}
# https://docs.opsgenie.com/docs/alert-api#create-alert
OPSGENIE = closed(
    ["message"],
    message=text(130, 1),
    alias=text(512),
    description=text(15_000),
    tags=items(text(50, 1), 20),
    details={"type": "object", "additionalProperties": {"type": "string"}},
    entity=text(512),
    source=text(100),
    priority={"enum": ["P1", "P2", "P3", "P4", "P5"]},
)
# https://docs.datadoghq.com/api/latest/events/#post-an-event
DATADOG = closed(
    ["title", "text"],
    title=text(100, 1),
    text=text(4_000),
    aggregation_key=text(100),
    alert_type={"enum": ["error", "warning", "info", "success", "user_update", "snapshot"]},
    priority={"enum": ["normal", "low"]},
    tags=items(text(300, 1), 100),
)  # fmt: skip
# https://docs.github.com/en/rest/repos/repos#create-a-repository-dispatch-event
GITHUB = closed(
    ["event_type"],
    event_type=text(100, 1),
    client_payload={"type": "object", "maxProperties": 10},
)
# https://developers.mattermost.com/integrate/webhooks/incoming/
MATTERMOST = closed(["text"], text=text(16_383, 1), channel=text(80, 1), username=text(64, 1))
# https://developers.google.com/workspace/chat/api/reference/rest/v1/cards
_WIDGET = closed(["textParagraph"], textParagraph=closed(["text"], text={"type": "string"}))
GOOGLE_CHAT = closed(
    ["cardsV2"],
    cardsV2=items(
        closed(
            ["cardId", "card"],
            cardId=text(64, 1),
            card=closed(
                ["header", "sections"],
                header=closed(["title"], title=text(900, 1), subtitle={"type": "string"}),
                sections=items(
                    closed(
                        ["widgets"],
                        header={"type": "string"},
                        collapsible={"type": "boolean"},
                        uncollapsibleWidgetsCount={"type": "integer"},
                        widgets=items(_WIDGET, 100, 1),
                    ),
                    100,
                    1,
                ),
            ),
        ),
        1,
        1,
    ),
)
# https://core.telegram.org/bots/api#sendmessage
TELEGRAM = closed(
    ["chat_id", "text"],
    chat_id={"type": "string", "pattern": r"^(-?\d+|@\w+)$"},
    message_thread_id={"type": "integer"},
    text=text(4_096, 1),
    parse_mode={"enum": ["HTML", "MarkdownV2"]},
    link_preview_options=closed([], is_disabled={"type": "boolean"}),
    disable_notification={"type": "boolean"},
)
# https://resend.com/docs/api-reference/emails/send-email
RESEND = closed(
    ["from", "to", "subject"],
    to=items(EMAIL, 50, 1),
    subject=text(998, 1),
    reply_to=EMAIL,
    text={"type": "string"},
    html={"type": "string"},
    **{"from": SENDER},
)
# https://postmarkapp.com/developer/api/email-api
POSTMARK = closed(
    ["From", "To", "Subject"],
    From=SENDER,
    To={"type": "string", "pattern": r"^[^,\s]+@[^,\s]+(, [^,\s]+@[^,\s]+){0,49}$"},
    ReplyTo=EMAIL,
    Subject=text(2_000, 1),
    TextBody={"type": "string"},
    HtmlBody={"type": "string"},
    MessageStream=text(30, 1),
)
# https://www.twilio.com/docs/sendgrid/api-reference/mail-send/mail-send
_ADDRESS = closed(["email"], email=EMAIL, name={"type": "string"})
SENDGRID = closed(
    ["personalizations", "from", "subject", "content"],
    personalizations=items(closed(["to"], to=items(_ADDRESS, 1_000, 1)), 1_000, 1),
    reply_to=_ADDRESS,
    subject=text(998, 1),
    content=items(
        closed(["type", "value"], type={"enum": ["text/plain", "text/html"]}, value=text(10**7, 1)), 2, 1
    ),
    **{"from": _ADDRESS},
)  # fmt: skip

FORMATS: dict[str, Schema] = {
    "webhook": ANYTHING,
    "zapier": ANYTHING,
    "n8n": ANYTHING,
    "make": ANYTHING,
    "slack": SLACK,
    "slack-bot": SLACK_BOT,
    "discord": DISCORD,
    "teams": TEAMS,
    "pagerduty": PAGERDUTY,
    "opsgenie": OPSGENIE,
    "datadog": DATADOG,
    "github": GITHUB,
    "mattermost": MATTERMOST,
    "google-chat": GOOGLE_CHAT,
    "telegram": TELEGRAM,
    "resend": RESEND,
    "postmark": POSTMARK,
    "sendgrid": SENDGRID,
}


def utf16(value: str) -> int:
    """Return the number of UTF-16 code units, as JavaScript counts."""
    return len(value.encode("utf-16-le", "surrogatepass")) // 2


def _discord(body: bytes, message: Any) -> bool:
    embed = message["embeds"][0]
    parts = (embed["title"], embed.get("description", ""), embed["footer"]["text"])
    lengths = [utf16(part) for part in parts]
    limits = zip(lengths, (256, 4_096, 2_048), strict=True)
    return sum(lengths) <= 6_000 and all(length <= limit for length, limit in limits)


def _opsgenie(body: bytes, message: Any) -> bool:
    return sum(len(name) + len(each) for name, each in message["details"].items()) <= 8_000


# The limits on a whole message that a schema cannot express.
LIMITS: dict[str, Callable[[bytes, Any], bool]] = {
    "discord": _discord,
    "opsgenie": _opsgenie,
    # https://learn.microsoft.com/en-us/microsoftteams/limits-specifications-teams: about 28 KB
    "teams": lambda body, message: len(body) <= 28 * 1024,
    # https://developer.pagerduty.com/docs/events-api-v2-overview: 512 KB
    "pagerduty": lambda body, message: len(body) <= 512 * 1024,
    # https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows
    "github": lambda body, message: len(body) <= 65_535,
    "google-chat": lambda body, message: len(body) <= 32_000,
    "telegram": lambda body, message: utf16(message["text"]) <= 4_096,
}
