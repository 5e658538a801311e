"""The catalog of all templates, which the server reads once at its start."""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from engine.settings import Settings
from engine.templates.definition import Definition
from engine.templates.reading import TemplateFileError, read_template

FOLDER = Path(__file__).with_name("catalog")
MOST_TEMPLATES = 500  # in one folder: lists show all templates


class Catalog:
    """The immutable templates, in the order of their names."""

    def __init__(self, definitions: Iterable[Definition]) -> None:
        found = sorted(definitions, key=lambda each: (each.name.lower(), each.id))
        self._by_id: Mapping[str, Definition] = {each.id: each for each in found}

    def all(self) -> tuple[Definition, ...]:
        """Return all templates."""
        return tuple(self._by_id.values())

    def get(self, identifier: str) -> Definition | None:
        """Return the template with an id, or None."""
        return self._by_id.get(identifier)


def catalog_of(settings: Settings) -> Catalog:
    """Return the catalog of Angarium's templates and the operator's templates. If both have the same id,
    the operator's template replaces Angarium's. Raises TemplateFileError."""
    return read_catalog(settings.templates_dir, settings.template_hosts)


def read_catalog(folder: Path | None = None, hosts: Iterable[tuple[str, str]] = ()) -> Catalog:
    """Return the catalog of Angarium's templates and the templates in `folder`. Each pair (id, host) of
    `hosts` allows the template with this id to send to an additional host. Raises TemplateFileError."""
    added: dict[str, set[str]] = {}
    for template, host in hosts:
        added.setdefault(template, set()).add(host)
    paths = {path.stem: path for path in _files(FOLDER)}
    if folder is not None:
        paths |= {path.stem: path for path in _files(folder)}
    for template in added:
        if template not in paths:
            raise TemplateFileError(f"template_hosts: there is no template {template}")
    definitions = []
    for identifier, path in paths.items():
        read = _ours if path.parent == FOLDER else read_template
        definitions.append(read(path, frozenset(added.get(identifier, ()))))
    return Catalog(definitions)


@cache
def _ours(path: Path, added: frozenset[str]) -> Definition:
    """A process compiles each of Angarium's templates once."""
    return read_template(path, added)


def _files(folder: Path) -> list[Path]:
    try:
        found = sorted(path for path in folder.iterdir() if path.suffix == ".toml")
    except OSError as error:
        raise TemplateFileError(f"{folder}: {error.strerror}") from error
    if len(found) > MOST_TEMPLATES:
        raise TemplateFileError(f"{folder}: more than {MOST_TEMPLATES} templates")
    return found
