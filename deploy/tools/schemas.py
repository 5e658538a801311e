"""JSON schemas of Kubernetes' resources for kubeconform, made from the OpenAPI document in Kubernetes' Go
module.

It needs `go` on the PATH.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

MODULE, VERSION = "k8s.io/kubernetes", "v1.34.2"
SUM = "h1:WQdDvYJazkmkwSncgNwGvVtaCt4TYXIU3wSMRgvp3MI="
DEFINITIONS = "definitions.json"


def main(folder: Path) -> None:
    """Write a schema for each kind into `folder`."""
    definitions = json.loads(described().read_text("utf-8"))["definitions"]
    folder.mkdir(parents=True, exist_ok=True)
    closed = {name: strict(definition) for name, definition in definitions.items()}
    (folder / DEFINITIONS).write_text(json.dumps({"definitions": closed}), "utf-8")
    for name, definition in definitions.items():
        for kind in definition.get("x-kubernetes-group-version-kind", ()):
            group = kind["group"].partition(".")[0]
            file = "-".join(filter(None, (kind["kind"].lower(), group, kind["version"])))
            named = {"apiVersion": {"type": "string"}, "kind": {"enum": [kind["kind"]]}}
            reference = {"$ref": f"{DEFINITIONS}#/definitions/{name}"}
            schema = {"allOf": [reference], "properties": named, "required": list(named)}
            (folder / f"{file}.json").write_text(json.dumps(schema), "utf-8")


def described() -> Path:
    """Return the description of all resources. Raises SystemExit if the module is not the pinned one."""
    command = ["go", "mod", "download", "-json", f"{MODULE}@{VERSION}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603 - a constant
    found = json.loads(done.stdout)
    if found["Sum"] != SUM:
        sys.exit(f"{MODULE} {VERSION} has the sum {found['Sum']}, not {SUM}")
    return Path(found["Dir"]) / "api" / "openapi-spec" / "swagger.json"


def strict(node: Any) -> Any:
    """Return a definition as JSON Schema that allows only the fields that it names."""
    if isinstance(node, list):
        return [strict(each) for each in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") == "int-or-string":
        return {"type": ["integer", "string"]}
    made = {key: strict(value) for key, value in node.items()}
    if isinstance(made.get("$ref"), str):
        made["$ref"] = made["$ref"].replace("#/", f"{DEFINITIONS}#/", 1)
    if isinstance(made.get("properties"), dict) and made.get("type") == "object":
        made.setdefault("additionalProperties", False)
    return made


if __name__ == "__main__":
    main(Path(sys.argv[1]))
