"""Image, compose file, chart and unit, checked with standard tools, because no container engine is
available."""

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.packages.tools import ROOT, tool

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "angarium"
KUBERNETES = "1.34.2"
VALUES = [
    ["existingSecret=mine"],
    ["databaseUrl=postgresql://u@h/d", "masterKey=k", "tlsSecret=tls", "persistence.enabled=false"],
    ["existingSecret=mine", "settings.ANGARIUM_OPENINGS=16", "persistence.storageClass=fast"],
]


def run(
    command: Sequence[str | Path], given: str | None = None
) -> subprocess.CompletedProcess[str]:
    env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    return subprocess.run(
        command, input=given, capture_output=True, text=True, check=False, env=env, cwd=ROOT
    )


def test_the_dockerfile_has_no_findings() -> None:
    hadolint = tool("hadolint", "make setup")
    done = run([hadolint, "--failure-threshold", "style", DEPLOY / "Dockerfile"])
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_whatever_the_image_is_built_of_reaches_the_build() -> None:
    copied = [
        line.split()[1:-1]
        for line in (DEPLOY / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
    ]
    allowed = (ROOT / ".dockerignore").read_text().split()
    for source in (name for names in copied for name in names):
        assert f"!{source}" in allowed
        assert (ROOT / source).exists()


def test_the_compose_file_is_valid_and_wants_its_secrets(tmp_path: Path) -> None:
    compose = tool("compose", "make tools")
    file = DEPLOY / "compose.yaml"
    missing = run([compose, file])  # without our variables
    assert missing.returncode != 0
    assert missing.stderr.count("is missing a value: see the head of compose.yaml") == 4
    given = tmp_path / "compose.yaml"
    given.write_text(re.sub(r"\$\{(\w+):\?[^}]*\}", r"a-\1", file.read_text()))
    valid = run([compose, given])
    assert valid.returncode == 0, valid.stderr
    assert "postgresql://angarium:a-POSTGRES_PASSWORD@postgres/angarium" in valid.stdout


@pytest.mark.parametrize("values", VALUES)
def test_the_chart_makes_what_kubernetes_takes(values: list[str]) -> None:
    helm, kubeconform = tool("helm", "make tools"), tool("kubeconform", "make tools")
    given = [part for value in values for part in ("--set", value)]
    linted = run([helm, "lint", "--strict", "--kube-version", KUBERNETES, CHART, *given])
    assert linted.returncode == 0, linted.stdout
    made = run([helm, "template", "test", CHART, "--kube-version", KUBERNETES, *given])
    assert made.returncode == 0, made.stderr
    schemas = f"{ROOT}/.tools/schemas/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
    judge = [kubeconform, "-strict", "-summary", "-schema-location", schemas, "-"]
    judged = run(judge, made.stdout)
    assert judged.returncode == 0, judged.stdout
    assert "Invalid: 0, Errors: 0, Skipped: 0" in judged.stdout
    wrong = run(judge, made.stdout.replace("terminationGracePeriodSeconds", "terminationGrace"))
    assert wrong.returncode != 0, "the judge looks"


def test_the_chart_wants_its_secrets() -> None:
    done = run([tool("helm", "make tools"), "template", "t", CHART, "--kube-version", KUBERNETES])
    assert done.returncode != 0
    assert "give existingSecret, or databaseUrl and masterKey" in done.stderr


def test_the_unit_is_valid_and_sealed(tmp_path: Path) -> None:
    analyze = tool("systemd-analyze", "apt-get install systemd")
    unit = tmp_path / "angarium.service"
    program = tmp_path / "angarium"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    text = (DEPLOY / "systemd/angarium.service").read_text()
    unit.write_text(text.replace("/opt/angarium/bin/angarium", str(program)))
    done = run([analyze, "verify", "--recursive-errors=no", unit])
    assert (done.returncode, done.stderr.strip()) == (0, ""), done.stderr
    sealed = run([analyze, "security", "--offline=true", "--threshold=20", unit])
    assert sealed.returncode == 0, sealed.stdout  # an exposure of at most 2.0 of 10
