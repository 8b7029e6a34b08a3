"""Where configuration files are: extra directories, the installed package, the checkout, in this order.

Chips, technology tables, workloads, DRAM energy tables, links and scenarios are kinds of files: a file's name in the
folder of its kind is the name that users type. The folders are those of ``archsim.base.registry``.
"""

from __future__ import annotations

from pathlib import Path

from archsim.base import registry

_PACKAGE = Path(__file__).resolve().parents[1]


def config_dir(folder: str) -> list[Path]:
    """Directories with configuration files of a ``folder`` (``accelerators``, ``technology``, ``dram``, ...).

    In order: each directory of the environment variable ``ARCHSIM_CONFIGS`` (separated by ``os.pathsep``,
    each with one subfolder per kind), the data inside the installed package, the checkout's ``configs``.
    Only directories that exist are returned. Raises ConfigError when a directory of the variable does not, or holds
    what nothing reads.
    """
    registry.check_directories()
    candidates = [extra / folder for extra in registry.directories(registry.CONFIGS_VARIABLE)]
    candidates += [_PACKAGE / "_configs" / folder, _PACKAGE.parent / "configs" / folder]
    return [directory for directory in candidates if directory.is_dir()]


def config_files(folder: str) -> dict[str, Path]:
    """Every file of a ``folder`` by name, sorted; of two with one name the first directory's wins."""
    found: dict[str, Path] = {}
    for directory in config_dir(folder):
        for path in sorted(directory.glob(f"*{registry.FOLDERS[folder].suffix}")):
            if not path.name.startswith(("_", ".")):
                found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file can have (too long, with NUL) is of none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
