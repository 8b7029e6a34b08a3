"""Makes the pages of the Python reference while MkDocs builds the site: the front door first, then a page a package.

The pages exist only in the memory of the build. They are made from the packages that stand in the tree at that moment,
so a new module appears on the page of its package, and a new package gets a page, without a change here. Modules are
parsed and never imported, so the build needs none of the product's own requirements.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files


PACKAGES = ("archsim", "mapper")
HEADING = "Python reference"
BEHIND = "---\nsearch:\n  boost: 0.2\n---\n\n"  # in the search the written pages come first
FRONT = """# The front door

These are the names of `import archsim as ax`, which is all that most scripts and notebooks need. A name is loaded when
it is first used. The pages of the rooms behind the front door follow in the menu.

"""


def root(config: MkDocsConfig) -> Path:
    """The folder of the project, in which mkdocs.yml stands."""
    return Path(config.config_file_path).parent


def packages(tree: Path) -> Iterator[str]:
    """The dotted names of all packages in the tree, each before the packages inside it."""
    for top in PACKAGES:
        for found in sorted((tree / top).rglob("__init__.py")):
            yield ".".join(found.parent.relative_to(tree).parts)


def modules(tree: Path, package: str) -> list[str]:
    """The dotted names of the public modules that lie directly in a package, in the order of the alphabet."""
    folder = tree.joinpath(*package.split("."))
    return [f"{package}.{file.stem}" for file in sorted(folder.glob("*.py")) if not file.stem.startswith("_")]


def summary(tree: Path, module: str) -> str:
    """The first sentence of a module's docstring, for tables; a package's is that of its ``__init__.py``."""
    place = tree.joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|").replace("``", "`")


def front_page(tree: Path) -> str:
    """The page of what ``archsim`` itself exports: its functions first, then its types, then its errors."""
    names = exported(tree / "archsim" / "__init__.py")
    functions = [name for name in names if name[0].islower()]
    errors = [name for name in names if name.endswith("Error")]
    types = [name for name in names if name not in functions and name not in errors]
    parts = [FRONT]
    for title, members in (("Functions", functions), ("Types", types), ("Errors", errors)):
        parts.append(f"## {title}\n\n" + "".join(block(f"archsim.{name}", level=3) for name in members))
    return "\n".join(parts)


def exported(file: Path) -> list[str]:
    """The names in ``__all__`` of a module, in their order."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and any(isinstance(at, ast.Name) and at.id == "__all__" for at in node.targets):
            return [str(name) for name in ast.literal_eval(node.value)]
    raise ValueError(f"{file.name} has no __all__")


def block(name: str, level: int) -> str:
    """The directive that mkdocstrings replaces by the documentation of a name."""
    return f"::: {name}\n    options:\n      heading_level: {level}\n\n"


def package_page(tree: Path, package: str) -> str:
    """The page of a package: its docstring, the packages inside it, and each of its public modules."""
    inside = [name for name in packages(tree) if name.rpartition(".")[0] == package]
    own = "members: false", "show_root_heading: false", "show_root_toc_entry: false"
    lines = [f"# {package}\n", f"::: {package}\n    options:", *(f"      {option}" for option in own), ""]
    if inside:
        lines += ["| package | what it is for |", "| --- | --- |"]
        lines += [f"| [`{name}`]({name}.md) | {summary(tree, name)} |" for name in inside]
    return "\n".join(lines) + "\n\n" + "".join(block(name, level=2) for name in modules(tree, package))


def menu(tree: Path, package: str) -> dict[str, object]:
    """The entry of a package in the menu: its page, and below it the packages inside."""
    inside = [menu(tree, name) for name in packages(tree) if name.rpartition(".")[0] == package]
    page = f"api/{package}.md"
    return {package: [page, *inside] if inside else page}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Puts the pages of the packages behind the other entries of the menu."""
    tree = root(config)
    config.nav = [*(config.nav or []), {HEADING: ["api/index.md", *(menu(tree, top) for top in PACKAGES)]}]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Adds the pages of the reference to the files of the site."""
    from mkdocs.structure.files import File

    tree = root(config)
    pages = {"api/index.md": front_page(tree)}
    pages |= {f"api/{name}.md": package_page(tree, name) for name in packages(tree)}
    for name, text in pages.items():
        files.append(File.generated(config, name, content=BEHIND + text))
    return files
