"""The page about generated clients names the commands and versions that the tests run."""

import json
import re

from tests.generated import makers
from tests.generated.tools.install import HERE

PAGE = (HERE.parents[2] / "docs/api/clients.md").read_text()


def test_the_page_has_the_options_that_are_run() -> None:
    generator = " ".join(makers.GENERATOR)
    commands = [
        " ".join(makers.OAPI),
        *(
            f"-g {language} -o {target} {generator} {' '.join(options)}"
            for language, target, options in (
                ("go", "angarium", makers.GENERATOR_GO),
                ("java", "client", makers.GENERATOR_JAVA),
                ("typescript-fetch", "client", makers.GENERATOR_TYPESCRIPT),
            )
        ),
        " ".join(makers.OPENAPI_TYPESCRIPT),
    ]
    for command in commands:
        assert command in PAGE


def test_the_page_has_the_versions_that_are_run() -> None:
    packages = json.loads((HERE / "package.json").read_text())["devDependencies"]
    oapi = re.search(r"oapi-codegen/v2 v([\d.]+)", (HERE / "go.mod").read_text())
    jar = re.search(r"openapi-generator-cli-([\d.]+)\.jar", (HERE / "jars.sha256").read_text())
    assert oapi is not None
    assert jar is not None
    for name, version in (
        ("openapi-typescript", packages["openapi-typescript"]),
        ("openapi-fetch", packages["openapi-fetch"]),
        ("hey-api", packages["@hey-api/openapi-ts"]),
        ("oapi-codegen", oapi[1]),
        ("openapi-generator", jar[1]),
    ):
        assert f"**{name}** {version}" in PAGE
