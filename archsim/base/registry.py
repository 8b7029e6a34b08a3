"""One mechanism for every one-file extension: a file's name in the right folder is the name that users type.

Thirteen kinds of things can be added by one file each. Nine are Python files: those of a kind stand in the package that
the kind names, and further ones in directories that the environment variable ``ARCHSIM_PLUGINS`` lists (separated by
``os.pathsep``), each with one folder for each kind. Four are data (chips, technology tables, workloads, models), which
``archsim.spec.locate`` finds in the folders of ``ARCHSIM_CONFIGS`` and in the tree. ``FOLDERS`` names every folder.

What a Python file of a kind must define is written down by the kind's Protocol. A file that lacks some of it is refused
when it is loaded; a folder or file of either variable that nothing reads is refused before anything else is done.
Nothing is imported until it is loaded by name.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from archsim.base.errors import ConfigError, nearest

PLUGINS_VARIABLE = "ARCHSIM_PLUGINS"
CONFIGS_VARIABLE = "ARCHSIM_CONFIGS"
PYTHON, YAML, JSON = ".py", ".yaml", ".json"
_PACKAGE_FILE = "__init__.py"
_DOCUMENTS = ("README", "LICENSE")  # what a directory may hold beside its folders
_loaded: dict[tuple[str, str], ModuleType] = {}  # of the packages themselves


class KindFolder(NamedTuple):
    """A folder of the directories that ``variable`` lists: the kind of its files and how their names end. ``beside``:
    its files name others by paths relative to them, so that what else lies there may be read."""

    kind: str
    variable: str
    suffix: str
    beside: bool = False


FOLDERS: Mapping[str, KindFolder] = {
    "ops": KindFolder("operator", PLUGINS_VARIABLE, PYTHON),
    "passes": KindFolder("graph pass", PLUGINS_VARIABLE, PYTHON),
    "frontends": KindFolder("front end", PLUGINS_VARIABLE, PYTHON),
    "dataflows": KindFolder("dataflow", PLUGINS_VARIABLE, PYTHON),
    "dram_standards": KindFolder("DRAM standard", PLUGINS_VARIABLE, PYTHON),
    "topologies": KindFolder("topology", PLUGINS_VARIABLE, PYTHON),
    "search": KindFolder("mapping search", PLUGINS_VARIABLE, PYTHON),
    "explore": KindFolder("design search", PLUGINS_VARIABLE, PYTHON),
    "policies": KindFolder("schedule policy", PLUGINS_VARIABLE, PYTHON),
    "technology": KindFolder("technology table", CONFIGS_VARIABLE, YAML),
    "power": KindFolder("power table", CONFIGS_VARIABLE, YAML),
    "area": KindFolder("area table", CONFIGS_VARIABLE, YAML),
    "accelerators": KindFolder("chip", CONFIGS_VARIABLE, YAML),
    "workloads": KindFolder("workload", CONFIGS_VARIABLE, YAML),
    "models": KindFolder("model", CONFIGS_VARIABLE, JSON),
    "dram": KindFolder("DRAM energy table", CONFIGS_VARIABLE, YAML),
    "links": KindFolder("link", CONFIGS_VARIABLE, YAML),
    "scenarios": KindFolder("scenario", CONFIGS_VARIABLE, YAML, beside=True),
}


TABLES = ("technology", "area", "power", "dram", "links")  # folders of tables that chips are priced by


class Kind(NamedTuple):
    """A kind of extension in Python. ``package``: whose files are its own; ``folder``: of a plugin directory;
    ``defines``: the name without which a file of the package is a helper (empty: there are no helpers); ``protocol``:
    what a file must define, None where nothing is asked; ``optional``: what it may define, each of them whole."""

    name: str
    package: str
    folder: str
    defines: str = ""
    protocol: type | None = None
    optional: tuple[type, ...] = ()


def modules(kind: Kind) -> dict[str, str]:
    """Names of all extensions of a kind, sorted, each with the file that holds it.

    Raises ConfigError when a plugin directory does not exist or holds what nothing reads, or two files claim one name.
    """
    check_directories()
    found = dict(_own(kind.package, kind.defines))
    for directory in directories(PLUGINS_VARIABLE):
        for name, path in _plugins(directory / kind.folder):
            _claim(found, name, path)
    return dict(sorted(found.items()))


@cache
def _own(package: str, defines: str) -> Mapping[str, str]:
    """The extensions in a package of the tree; listed once in a process."""
    found: dict[str, str] = {}
    for directory in _package_directories(package):
        for path in sorted(directory.glob(f"*{PYTHON}")):
            if not path.name.startswith("_") and _is_extension(path, defines):
                _claim(found, path.stem, path)
    return found


def plugins(kind: Kind) -> dict[str, str]:
    """Of ``modules`` those that do not belong to the tree."""
    own = _package_directories(kind.package)
    return {name: path for name, path in modules(kind).items() if Path(path).parent not in own}


def load(kind: Kind, name: str) -> ModuleType:
    """The module of the extension ``name``.

    Raises ConfigError with the names present when there is none, and with what is missing where a file does not define
    what its kind asks.
    """
    if not os.environ.get(PLUGINS_VARIABLE) and (kind.package, name) in _loaded:
        return _loaded[kind.package, name]
    known = modules(kind)
    if name not in known:
        raise unknown(kind.name, name, known)
    path = Path(known[name])
    own = path.parent in _package_directories(kind.package)
    module = importlib.import_module(f"{kind.package}.{name}") if own else _load_plugin(kind.folder, name, path)
    _check_defined(kind, module, path)
    if own:
        _loaded[kind.package, name] = module
    return module


def unknown(what: str, name: str, known: Iterable[str]) -> ConfigError:
    """What is said of a name that nothing of a kind has: ``what`` is asked for, and which names there are."""
    names = list(known)
    return ConfigError(f"no {what} '{name}'{nearest(name, names)}; known: {', '.join(names) or 'none'}")


def first_line(kind: Kind, name: str) -> str:
    """What an extension says of itself: the first line of its docstring."""
    return (load(kind, name).__doc__ or "").strip().partition("\n")[0]


def sha256(path: str) -> str:
    """Hash of a plugin: of its file, or of every Python file of its package, and of the helpers beside it."""
    file = Path(path)
    is_package = file.name == _PACKAGE_FILE
    folder = file.parent.parent if is_package else file.parent
    own = sorted(file.parent.rglob(f"*{PYTHON}")) if is_package else [file]
    helpers = [each for each in sorted(folder.rglob(f"*{PYTHON}")) if each.relative_to(folder).parts[0].startswith("_")]
    return _of_files(folder, [*own, *helpers])


def plugins_sha256() -> str:
    """Hash of every Python file in the plugin directories, helpers included; '' where no directory is listed. One that
    is not there adds nothing: whoever asks for an extension refuses it."""
    named = _named(PLUGINS_VARIABLE)
    return _joined([_of_files(directory, sorted(directory.rglob(f"*{PYTHON}"))) for directory in named])


def extensions_sha256() -> str:
    """Hash of all outside the tree that may change numbers of a model on a chip: ``plugins_sha256``, and the tables in
    the directories of ``ARCHSIM_CONFIGS``; '' where neither variable is set. Chips and models have hashes of their own.
    """
    tables = [
        _of_files(directory, sorted(path for folder in TABLES for path in (directory / folder).glob(f"*{YAML}")))
        for directory in _named(CONFIGS_VARIABLE)
    ]
    return _joined([*filter(None, [plugins_sha256()]), *tables])


def _named(variable: str) -> list[Path]:
    return [Path(text) for text in filter(None, os.environ.get(variable, "").split(os.pathsep))]


def _of_files(folder: Path, files: Iterable[Path]) -> str:
    """Of names below a folder and texts."""
    found = hashlib.sha256()
    for path in files:
        found.update(str(path.relative_to(folder)).encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def _joined(hashes: list[str]) -> str:
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest() if hashes else ""


def directories(variable: str) -> tuple[Path, ...]:
    """The directories that an environment variable lists; raises ConfigError for one that does not exist."""
    found = []
    for text in filter(None, os.environ.get(variable, "").split(os.pathsep)):
        if not Path(text).is_dir():
            raise ConfigError(f"{variable}: found '{text}'; allowed directories that exist")
        found.append(Path(text).resolve())
    return tuple(found)


def check_directories() -> None:
    """Raise ConfigError for the first folder or file in the directories of both variables that nothing reads.

    Names that begin with '_' or '.' are helpers and nobody's business, as are a README and a LICENSE beside the
    folders. Directories are listed once in a process; nothing is opened.
    """
    _check_directories(os.environ.get(PLUGINS_VARIABLE, ""), os.environ.get(CONFIGS_VARIABLE, ""))


@lru_cache(maxsize=8)
def _check_directories(*_: str) -> None:
    variables: dict[Path, list[str]] = {}
    for variable in (PLUGINS_VARIABLE, CONFIGS_VARIABLE):
        for directory in directories(variable):
            variables.setdefault(directory, []).append(variable)
    for directory, named in variables.items():
        _check_directory(directory, named)


def _check_directory(directory: Path, variables: list[str]) -> None:
    allowed = [folder for folder, found in FOLDERS.items() if found.variable in variables]
    for path in _listed(directory):
        if path.name in allowed and path.is_dir():
            _check_folder(path, FOLDERS[path.name])
        elif path.is_dir() or not path.name.startswith(_DOCUMENTS):
            raise ConfigError(_unread(path, variables, allowed))


def _unread(path: Path, variables: list[str], allowed: list[str]) -> str:
    what, where = "folder" if path.is_dir() else "file", " and ".join(variables)
    if path.is_dir() and path.name in FOLDERS:
        there = FOLDERS[path.name].variable
        return f"{where}: nothing reads the folder {path} there; list its directory in {there} too"
    said = f"{where}: nothing reads the {what} {path}{nearest(path.stem, allowed)}"
    return f"{said}; allowed are the folders {', '.join(allowed)}, and names that begin with '_'"


def _check_folder(folder: Path, kind: KindFolder) -> None:
    for path in _listed(folder) if not kind.beside else ():
        is_read = path.suffix == kind.suffix and path.is_file()
        if not is_read and not (kind.suffix == PYTHON and (path / _PACKAGE_FILE).is_file()):
            package = f", packages with {_PACKAGE_FILE}" if kind.suffix == PYTHON else ""
            raise ConfigError(
                f"{kind.variable}: nothing reads {path}; allowed in the folder '{folder.name}' are files that end in "
                f"{kind.suffix}{package} and names that begin with '_'"
            )


def _listed(folder: Path) -> list[Path]:
    """What a folder holds that somebody should read, sorted."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith(("_", ".")))
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be listed ({error.strerror})") from None


def _plugins(folder: Path) -> list[tuple[str, Path]]:
    """Name and file of every extension in a folder of a plugin directory: files, and packages by their first file."""
    if not folder.is_dir():
        return []
    return [
        (path.name, path / _PACKAGE_FILE) if path.is_dir() else (path.stem, path)
        for path in _listed(folder)
        if path.suffix == PYTHON or path.is_dir()
    ]


@cache
def _package_directories(package_name: str) -> tuple[Path, ...]:
    try:
        spec = importlib.util.find_spec(package_name)
    except ModuleNotFoundError:
        spec = None
    if spec is None or spec.submodule_search_locations is None:
        return ()
    return tuple(Path(location) for location in spec.submodule_search_locations)


def _is_extension(path: Path, defines: str) -> bool:
    if not defines:
        return True
    text = path.read_text(encoding="utf-8", errors="replace")
    return re.search(rf"^(def {defines}\(|{defines}( =|:))", text, re.MULTILINE) is not None


def _claim(found: dict[str, str], name: str, path: Path) -> None:
    if name in found:
        raise ConfigError(f"two files claim the name '{name}': {found[name]} and {path}; rename one")
    found[name] = str(path)


def _load_plugin(folder: str, name: str, path: Path) -> ModuleType:
    """The module of a plugin's file. Plugins of one folder are one package, so that they can import their helpers:
    ``from ._shared import x``."""
    is_package = path.name == _PACKAGE_FILE
    place = path.parent.parent if is_package else path.parent
    package = f"archsim_plugins_{hashlib.sha256(str(place).encode()).hexdigest()[:12]}_{folder}"
    if package not in sys.modules:
        around = ModuleType(package)
        around.__path__ = [str(place)]
        sys.modules[package] = around
    module_name = f"{package}.{name}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(
        module_name, path, submodule_search_locations=[str(path.parent)] if is_package else None
    )
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


def _check_defined(kind: Kind, module: ModuleType, path: Path) -> None:
    """Raise ConfigError with all that a plugin's file lacks of its kind's Protocol."""
    whole = [protocol for protocol in kind.optional if any(hasattr(module, name) for name in _functions(protocol))]
    for protocol in (*([kind.protocol] if kind.protocol is not None else []), *whole):
        faults = list(_faults(protocol, module))
        if faults:
            said = f"{protocol.__module__}.{protocol.__name__} says what each is"
            raise ConfigError(f"{path}: is no {kind.name}: {'; '.join(faults)}; {said}")


def _faults(protocol: type, module: ModuleType) -> Iterable[str]:
    """What a module lacks: values and functions of the Protocol without a default there, their types and arguments."""
    values, functions = get_type_hints(protocol), _functions(protocol)
    asked = [name for name in values if not hasattr(protocol, name)] + list(functions)
    missing = [name for name in asked if not hasattr(module, name)]
    if missing:
        yield f"it does not define {', '.join(missing)}"
    for name, hint in values.items():
        if hasattr(module, name) and not _fits(getattr(module, name), hint):
            yield f"{name} is {getattr(module, name)!r}, which is no {_said(hint)}"
    for name, stated in functions.items():
        if hasattr(module, name) and not _accepts(getattr(module, name), stated):
            yield f"{name} cannot be called as {name}({', '.join(parameter.name for parameter in stated)})"


def _functions(protocol: type) -> dict[str, list[inspect.Parameter]]:
    """The functions that a Protocol asks for, with their parameters."""
    return {
        name: list(inspect.signature(asked).parameters.values())[1:]
        for name, asked in vars(protocol).items()
        if not name.startswith("_") and inspect.isfunction(asked)
    }


def _accepts(function: Any, stated: list[inspect.Parameter]) -> bool:
    """Whether a function can be called as the Protocol's is: what has a default or stands behind '*' there, by name."""
    named = {each.name: None for each in stated if each.kind is each.KEYWORD_ONLY or each.default is not each.empty}
    try:
        inspect.signature(function).bind(*[None for each in stated if each.name not in named], **named)
    except TypeError:
        return False
    except ValueError:  # a builtin without a signature
        return True
    return True


def _fits(value: object, hint: Any) -> bool:
    """Whether a value is what a plain annotation says: a class, a tuple of them, one of several; or all fit."""
    origin, inner = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if not isinstance(origin, type) or not isinstance(value, origin):
        return not isinstance(origin, type)
    if not isinstance(value, tuple) or not inner:
        return True
    types = inner[:1] * len(value) if inner[-1] is ... else inner
    return len(value) == len(types) and all(_fits(*pair) for pair in zip(value, types, strict=True))


def _said(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
