"""One mechanism for every one-file extension: a file's name in the right folder is the name users type.

The extensions of a kind are the files of the package that the kind names: each ``NAME.py`` that does not begin with an
underscore is one; where the package keeps helpers beside them, those that define the kind's public function. Further
directories come from the environment variable ``ARCHSIM_PLUGINS`` (separated by ``os.pathsep``), each with one folder
for each kind. Nothing is imported until it is loaded by name.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from archsim.base.errors import ConfigError, nearest

PLUGINS_VARIABLE = "ARCHSIM_PLUGINS"
_loaded: dict[tuple[str, str], ModuleType] = {}  # of the packages themselves


class Kind(NamedTuple):
    """A kind of extension. ``package``: whose files are its own; ``folder``: of a plugin directory; ``defines``: the
    function without which a file of the package is a helper (empty: there are no helpers)."""

    name: str
    package: str
    folder: str
    defines: str = ""


def modules(kind: Kind) -> dict[str, str]:
    """Names of all extensions of a kind, sorted, each with the file that holds it.

    Raises ConfigError when a plugin directory does not exist or two files claim one name.
    """
    found: dict[str, str] = {}
    own = _package_directories(kind.package)
    for directory in (*own, *_plugin_directories(kind)):
        for path in sorted(directory.glob("*.py")):
            if not path.name.startswith("_") and (directory not in own or _is_extension(path, kind.defines)):
                _claim(found, path)
    return dict(sorted(found.items()))


def load(kind: Kind, name: str) -> ModuleType:
    """The module of the extension ``name``; raises ConfigError with the names present when there is none."""
    if not os.environ.get(PLUGINS_VARIABLE) and (kind.package, name) in _loaded:
        return _loaded[kind.package, name]
    known = modules(kind)
    if name not in known:
        raise ConfigError(
            f"no '{name}' among {kind.folder}; it has: {', '.join(known) or 'none'}{nearest(name, known)}"
        )
    path = Path(known[name])
    if path.parent in _package_directories(kind.package):
        _loaded[kind.package, name] = importlib.import_module(f"{kind.package}.{name}")
        return _loaded[kind.package, name]
    return _load_plugin(f"archsim_plugins.{kind.folder}.{name}", path)


def _package_directories(package_name: str) -> tuple[Path, ...]:
    try:
        spec = importlib.util.find_spec(package_name)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.submodule_search_locations is None:
        return ()
    return tuple(Path(location) for location in spec.submodule_search_locations)


def _plugin_directories(kind: Kind) -> tuple[Path, ...]:
    folders = []
    for text in os.environ.get(PLUGINS_VARIABLE, "").split(os.pathsep):
        if not text:
            continue
        if not Path(text).is_dir():
            raise ConfigError(f"{PLUGINS_VARIABLE}: found '{text}'; allowed directories that exist")
        folders.append(Path(text).resolve() / kind.folder)
    return tuple(folders)


def _is_extension(path: Path, defines: str) -> bool:
    if not defines:
        return True
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.search(rf"^def {defines}\(", text, re.MULTILINE) is not None


def _claim(found: dict[str, str], path: Path) -> None:
    if path.stem in found:
        raise ConfigError(f"two files claim the name '{path.stem}': {found[path.stem]} and {path}; rename one")
    found[path.stem] = str(path)


def _load_plugin(module_name: str, path: Path) -> ModuleType:
    known = sys.modules.get(module_name)
    if known is not None and known.__file__ == str(path):
        return known
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise ConfigError(f"{path}: cannot be read as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[module_name]
        raise ConfigError(f"{path}: the extension cannot be imported: {type(error).__name__}: {error}") from error
    return module
