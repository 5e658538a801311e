"""The recipe of `web/vendor`: it makes each file from the packages' archives, reproducibly.

    npm pack preact@11.2.0 @preact/signals@2.11.4 @preact/signals-core@1.14.5 htm@3.1.1
    python deploy/web/vendor.py FOLDER_OF_THE_ARCHIVES

`vendor.json` has the SHA-512 of each archive and the SHA-256 of each file. Modules that import each other
become one script, because browsers load one script faster than several.
"""

import hashlib
import json
import re
import sys
import tarfile
from pathlib import Path

VENDOR = Path(__file__).parents[2] / "web" / "vendor"
ARCHIVES = {
    "preact": "preact-11.2.0.tgz",
    "signals-core": "preact-signals-core-1.14.5.tgz",
    "signals": "preact-signals-2.11.4.tgz",
    "htm": "htm-3.1.1.tgz",
}
# In the order of the imports: archive, file in the archive, and the name under which other modules import
# it.
MODULES = (
    ("preact", "dist/preact.mjs", "preact"),
    ("preact", "hooks/dist/hooks.mjs", "preact/hooks"),
    ("signals-core", "dist/signals-core.mjs", "@preact/signals-core"),
    ("signals", "dist/signals.mjs", "@preact/signals"),
    ("htm", "dist/htm.mjs", "htm"),
)
EXPORTS = {
    "preact": ["Component", "Fragment", "createContext", "createRef", "h", "options", "render"],
    "preact/hooks": [
        *("useCallback", "useContext", "useEffect", "useErrorBoundary", "useId", "useLayoutEffect"),
        *("useMemo", "useReducer", "useRef", "useState"),
    ],
    "@preact/signals": [
        *("Signal", "batch", "computed", "effect", "signal", "untracked"),
        *("useComputed", "useSignal", "useSignalEffect"),
    ],
}
_IMPORT = re.compile(r'import\{([^}]*)\}from"([^"]*)";?')
_AGAIN = re.compile(r'export\{([^}]*)\}from"([^"]*)";?')
_EXPORT = re.compile(r"export\{([^}]*)\};?")
_DEFAULT = re.compile(r"export default ")
_MAP = re.compile(r"//# sourceMappingURL=.*\s*")


class RecipeError(Exception):
    """An archive differs from the one that the recipe was written for. The message names it."""


def member(folder: Path, archive: str, name: str) -> bytes:
    """Return a file of an archive. Raises RecipeError."""
    with tarfile.open(folder / ARCHIVES[archive]) as tar:
        found = tar.extractfile(f"package/{name}")
        if found is None:
            raise RecipeError(f"{ARCHIVES[archive]} has no {name}")
        return found.read()


def variable(specifier: str) -> str:
    """Return the name of a module's variable in the joined script."""
    return "$" + re.sub(r"\W+", "_", specifier)


def pairs(names: str) -> list[tuple[str, str]]:
    """Return each name before and after its ` as `."""
    found = [each.strip().split(" as ") for each in names.split(",") if each.strip()]
    return [(each[0].strip(), each[-1].strip()) for each in found]


def module(text: str, specifier: str) -> str:
    """Return a module as a statement in its own scope. Raises RecipeError."""
    returned: list[str] = []

    def imported(match: re.Match[str]) -> str:
        names = ",".join(f"{there}:{here}" for there, here in pairs(match[1]))
        return f"const{{{names}}}={variable(match[2])};"

    def again(match: re.Match[str]) -> str:
        returned.extend(f"{as_}:{variable(match[2])}.{name}" for name, as_ in pairs(match[1]))
        return ""

    def exported(match: re.Match[str]) -> str:
        returned.extend(f"{as_}:{name}" for name, as_ in pairs(match[1]))
        return ""

    def default(_: re.Match[str]) -> str:
        returned.append("default:$default")
        return "const $default="

    text = _MAP.sub("", text)
    for pattern, replace in (
        (_IMPORT, imported), (_AGAIN, again), (_EXPORT, exported), (_DEFAULT, default),
    ):  # fmt: skip
        text = pattern.sub(replace, text)
    if re.search(r"\b(import|export)\b[{ *\"]", text):
        raise RecipeError(f"{specifier} has an import or export that the recipe does not know")
    return f"const {variable(specifier)}=(()=>{{{text.strip()};return{{{','.join(returned)}}}}})();"


def files(folder: Path) -> dict[str, bytes]:
    """Return every file by its name below `web/vendor`."""
    joined = ["// Made by deploy/web/vendor.py from the packages in vendor.json. Do not edit."]
    for archive, name, specifier in MODULES:
        joined.append(module(member(folder, archive, name).decode(), specifier))
    for specifier, names in EXPORTS.items():
        joined.append(f"export const{{{','.join(names)}}}={variable(specifier)};")
    joined.append("export const html=$htm.default.bind($preact.h);")
    return {
        "preact.js": "\n".join(joined).encode() + b"\n",
        **{f"licences/{each}.txt": member(folder, each, "LICENSE") for each in ARCHIVES},
    }


def main(folder: Path) -> None:
    """Write `web/vendor` from the archives in a folder."""
    made = files(folder)
    for name, content in made.items():
        (VENDOR / name).parent.mkdir(parents=True, exist_ok=True)
        (VENDOR / name).write_bytes(content)
    manifest = {
        "archives": {
            name: hashlib.sha512((folder / name).read_bytes()).hexdigest()
            for name in ARCHIVES.values()
        },
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in made.items()},
    }
    (VENDOR / "vendor.json").write_text(json.dumps(manifest, indent=2) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
