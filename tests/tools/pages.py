"""Runs the pages of the documentation: what a reader would type is typed, and what a page shows is compared.

A page is a session in one folder, its fenced blocks are done from top to bottom:

- a block with a ``title="FILE"`` is written to that file;
- ``console``: each line that begins with ``$`` is a command, the lines below it are what it prints;
- ``pycon``: a Python session as doctest reads it; ``python`` is run without a comparison. They share their names.

``archsim`` is called within this process where nothing but a pipe follows it, since a process for each command would
take most of the time. After ``export``, and for all other commands, a shell is asked.

    python -m tests.tools.pages --write PAGE...      # puts what commands print today into the pages
"""

from __future__ import annotations

import argparse
import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path

from tests.tools.commands import ROOT, environment

FENCE = re.compile(r"^```(?P<language>\S+)(?P<options>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
# Of the machine and not of the product: a sweep's time, the last bits of floats, whether code was compiled before.
MACHINE = re.compile(r"\b\d+ rows in \d.*|\(worst [^)]*\)")
COMPILING = "(kept in the cache for later runs)"
ALONE = re.compile(r"^archsim [^|;&<>$`]*(\|[^;&<>$`]*)?$")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page: its language, the file it is (or none), its text and where it stands."""

    language: str
    title: str | None
    body: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the lines that the page shows below it."""

    line: str
    shown: str


def blocks(text: str) -> list[Block]:
    """All fenced blocks of a page, from top to bottom."""
    return [
        Block(
            match["language"],
            found[1] if (found := TITLE.search(match["options"])) else None,
            match["body"],
            text.count("\n", 0, match.start()) + 1,
        )
        for match in FENCE.finditer(text)
    ]


def commands(body: str) -> Iterator[Command]:
    """The commands of a console block, each with what is shown below it."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        yield Command(line, shown)


def tidy(text: str) -> str:
    """What is compared: lines without the spaces at their ends and without times, and no empty lines at the end."""
    return "\n".join(MACHINE.sub("", line.rstrip()) for line in text.splitlines()).rstrip("\n")


@dataclass
class Session:
    """A reader who works through a page in a folder; ``cache`` is the folder of what archsim keeps."""

    folder: Path
    cache: Path
    exports: list[str] = field(default_factory=list)
    names: dict[str, object] = field(default_factory=dict)

    def console(self, command: str) -> str:
        """What a command prints, errors and warnings included."""
        if command.startswith("export "):
            self.exports.append(command)
            return ""
        if ALONE.match(command) and not self.exports:
            return self._within(command)
        return self._shell(command)

    def _within(self, command: str) -> str:
        from archsim.cli.app import main

        call, _, pipe = command.partition(" | ")
        out, told = StringIO(), StringIO()
        with redirect_stdout(out), redirect_stderr(told if pipe else out):
            try:
                main(shlex.split(call)[1:])
                code: object = 0
            except SystemExit as ending:
                code = ending.code
        assert code in (0, None), f"{command}: exit code {code}\n{out.getvalue()}{told.getvalue()}"
        return told.getvalue() + self._shell(pipe, out.getvalue()) if pipe else out.getvalue()

    def _shell(self, command: str, given: str = "") -> str:
        python = shlex.quote(sys.executable)
        names = [f'python() {{ {python} "$@"; }}', f'archsim() {{ {python} -m archsim "$@"; }}']
        script = "\n".join([*names, *self.exports, command])
        surroundings = {**environment(self.cache), "COLUMNS": "100"}
        done = subprocess.run(
            ["bash", "-c", script],
            input=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=surroundings,
            cwd=self.folder,
            check=False,
        )
        assert done.returncode == 0, f"{command}: exit code {done.returncode}\n{done.stdout}"
        return done.stdout

    def python(self, block: Block, page: str) -> None:
        """Run a block of Python; of ``pycon`` what each statement shows is compared."""
        if block.language == "python":
            exec(compile(block.body, page, "exec"), self.names)
            return
        test = doctest.DocTestParser().get_doctest(block.body, self.names, page, page, block.line)
        report = StringIO()
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=report.write, clear_globs=False)
        self.names.update(test.globs)
        assert not report.getvalue(), report.getvalue()


def work_through(page: Path, session: Session) -> dict[str, str]:
    """Do all that a page says; returns the bodies of console blocks that print something else today, and what."""
    different: dict[str, str] = {}
    with chdir(session.folder):
        for block in blocks(page.read_text(encoding="utf-8")):
            if block.title is not None:
                place = session.folder / block.title
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(block.body, encoding="utf-8")
            elif block.language in ("python", "pycon"):
                session.python(block, page.name)
            elif block.language == "console":
                different |= _compared(block, session)
            else:
                raise AssertionError(f"{page.name}:{block.line}: nothing runs a block of '{block.language}'")
    return different


def _compared(block: Block, session: Session) -> dict[str, str]:
    now = []
    for command in commands(block.body):
        printed = "".join(f"{line.rstrip()}\n" for line in _lasting(session.console(command.line)))
        now.append(f"$ {command.line}\n" + printed)
    return {} if tidy("".join(now)) == tidy(block.body) else {block.body: "".join(now)}


def _lasting(printed: str) -> list[str]:
    """The lines that a command prints on every machine."""
    return [line for line in printed.splitlines() if COMPILING not in line]


def _write(page: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COLUMNS"] = "100"
        different = work_through(page, Session(Path(folder), Path(os.environ.get("ARCHSIM_CACHE", folder)).resolve()))
    text = page.read_text(encoding="utf-8")
    for before, after in different.items():
        text = text.replace(f"```console\n{before}```", f"```console\n{after}```")
    page.write_text(text, encoding="utf-8", newline="\n")
    print(f"{page.name}: {len(different)} blocks written")


def main() -> None:
    """Work through pages and write what their commands print today."""
    parser = argparse.ArgumentParser(description="Work through pages of the documentation.")
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--write", action="store_true", required=True)
    for page in parser.parse_args().pages:
        _write((ROOT / page).resolve())


if __name__ == "__main__":
    main()
