"""The API reference, generated from the OpenAPI document.

It has the tables and examples of the page that a server shows at `/docs`.
"""

import functools
import json
import re
from typing import Any

from api.docs_page.markup import anchor, block, code, inline, pretty, prose, table
from api.docs_page.operations import OperationsView
from api.docs_page.shapes import shape, shapes_of, with_words
from api.table import openapi_json

FOLDER = "docs/reference"
_START = """\
URL=http://127.0.0.1:8080
KEY=$(angarium keys create --environment DEVELOPMENT --scope manage --output text)
SESSION=... # the token of an embed session, where only sessions may call"""


@functools.cache
def pages() -> dict[str, str]:
    """Return the Markdown of each page, in the order of the navigation."""
    document = with_words(json.loads(openapi_json()))
    view = OperationsView(document)
    found = {"index": _index(document)}
    for tag in document["tags"]:
        found[anchor(tag["name"])] = _linked(_group(document, tag, view))
    return found | {"errors": _errors(document), "shapes": _linked(_shapes(document))}


def _index(document: dict[str, Any]) -> str:
    schemes = document["components"]["securitySchemes"]
    rows = [(code(name), inline(scheme["description"])) for name, scheme in schemes.items()]
    groups = "\n".join(
        f"- [{tag['name']}]({anchor(tag['name'])}.md): {tag['description']}"
        for tag in document["tags"]
    )
    return f"""# API reference

The reference is made from the OpenAPI 3.1 document of version {document["info"]["version"]}. A running
server serves the document at `/openapi.json`, and the same reference on one page at `/docs`. A test
runs the example of each operation against a server, with ids of objects that exist there.

The examples take the server's address and a key from the shell:

```sh
{_START}
```

{groups}
- [Errors](errors.md): every status and code
- [Shapes](shapes.md): every object of requests and answers

## Rules

{prose(document["info"]["description"])}

## Credentials

Every credential goes into the same header: `Authorization: Bearer ...`

{table(rows)}
"""


def _group(document: dict[str, Any], tag: dict[str, Any], view: OperationsView) -> str:
    parts = [f"# {tag['name']}\n\n{prose(tag['description'])}\n"]
    for group in ("paths", "webhooks"):
        for path, methods in document.get(group, {}).items():
            for method, operation in methods.items():
                if tag["name"] not in operation["tags"]:
                    continue
                shown = view.call if group == "paths" else view.request
                parts.append(
                    f"\n## {operation['summary']} {{#{operation['operationId']}}}\n\n"
                    f'<div class="operation">{shown(method, path, operation)}</div>\n'
                )
    return "".join(parts)


def _errors(document: dict[str, Any]) -> str:
    parts = ["# Errors\n"]
    for name, response in document["components"]["responses"].items():
        media = response["content"]["application/json"]
        shown = "".join(block(pretty(given["value"])) for given in media["examples"].values())
        status = name.removeprefix("Error")
        said = f"{prose(response['description'])}{shown}"
        parts.append(f"\n## {status} {{#error-{status}}}\n\n<div class='shape'>{said}</div>\n")
    return "".join(parts)


def _shapes(document: dict[str, Any]) -> str:
    return "# Shapes\n" + "".join(
        f"\n## {name} {{#shape-{name}}}\n\n<div class='shape'>{shape(schema, needed=needed)}</div>\n"
        for name, schema, needed in shapes_of(document)
    )


def _linked(text: str) -> str:
    """Replace anchors by links to the pages of the site."""
    text = re.sub(r'href="#(shape-[^"]+)"', r'href="../shapes/#\1"', text)
    return re.sub(r'href="#errors"><code>(\d+)', r'href="../errors/#error-\1"><code>\1', text)
