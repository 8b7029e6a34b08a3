"""Reads the words of one statement and says what was expected where they do not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from archsim.base.errors import ProgramError, nearest
from archsim.ir.asm.lexer import AsmLine, AsmWord


class WordCursor:
    """A position in the words of ``line``; every reader raises ProgramError with ``path``:line."""

    def __init__(self, line: AsmLine, path: str) -> None:
        """Start at the first word."""
        self.path = path
        self._words = line.words
        self._at = 0

    @property
    def word(self) -> AsmWord:
        """The next word, not yet read."""
        return self._words[self._at]

    @property
    def ended(self) -> bool:
        """Whether all words were read."""
        return self.word.kind == "end"

    def fail(self, expected: str, hint: str = "") -> NoReturn:
        """Raise that ``expected`` should stand at the next word."""
        raise ProgramError(f"{self.path}:{self.word.line}: expected {expected}, found {self.word.shown}{hint}")

    def accept(self, mark: str) -> bool:
        """Read ``mark`` if it is next."""
        if self.word.kind != "mark" or self.word.text != mark:
            return False
        self._at += 1
        return True

    def expect(self, mark: str) -> None:
        """Read ``mark``."""
        if not self.accept(mark):
            self.fail(f"'{mark}'")

    def name(self, what: str, known: Iterable[str] | None = None) -> str:
        """Read a name; when ``known`` is given it must be one of them."""
        if self.word.kind != "name":
            self.fail(what)
        name = self.word.text
        if known is not None and name not in known:
            names = sorted(known)
            shown = f"{what} ({', '.join(names)})" if names else f"{what} (none is declared)"
            self.fail(shown, nearest(name, names))
        self._at += 1
        return name

    def keyword(self, words: Iterable[str], what: str) -> str:
        """Read one of the ``words`` of the grammar (never quoted); ``what``: what they are, or what follows one."""
        allowed = list(words)
        if self.word.kind != "name" or self.word.quoted or self.word.text not in allowed:
            expected = f"'{allowed[0]}' and {what}" if len(allowed) == 1 else f"{what}: {', '.join(allowed)}"
            self.fail(expected, nearest(self.word.text, allowed))
        self._at += 1
        return self._words[self._at - 1].text

    def next_is(self, word: str) -> bool:
        """Whether the next word is the unquoted ``word``."""
        return self.word.kind == "name" and not self.word.quoted and self.word.text == word

    def skip_if(self, word: str) -> bool:
        """Read the unquoted ``word`` if it is next."""
        if self.next_is(word):
            self._at += 1
            return True
        return False

    def integer(self, what: str) -> int:
        """Read an integer, decimal or 0x..., perhaps negative."""
        sign = -1 if self.accept("-") else 1
        if self.word.kind != "integer":
            self.fail(what)
        try:
            value = int(self.word.text, 0)
        except ValueError:
            self.fail(f"{what} such as 64 or 0x40")
        self._at += 1
        return sign * value

    def number(self, what: str) -> float:
        """Read ``3``, ``-0.25``, ``1e-05`` or a power of two such as ``2^-7``."""
        sign = -1 if self.accept("-") else 1
        if self.word.kind == "real":
            self._at += 1
            return sign * float(self._words[self._at - 1].text)
        value, exponent = self.integer(what), 1
        if self.accept("^"):
            exponent = self.integer("an exponent")
        try:
            return sign * float(value) ** exponent
        except OverflowError:
            self.fail(f"{value}^{exponent} is too large; allowed numbers below 2^1024")
        except ZeroDivisionError:
            self.fail(f"{value}^{exponent} is no number; allowed powers of other numbers than 0")

    def names(self, what: str, known: Iterable[str] | None = None) -> tuple[str, ...]:
        """Read one or more names between commas."""
        found = [self.name(what, known)]
        while self.accept(","):
            found.append(self.name(what, known))
        return tuple(found)

    def many(self, open_: str, close: str, read: Callable[[], Any]) -> tuple[Any, ...]:
        """Read items between commas inside brackets; the brackets may be empty."""
        self.expect(open_)
        found: list[Any] = []
        while not self.accept(close):
            if found:
                self.expect(",")
            found.append(read())
        return tuple(found)


@dataclass(frozen=True, slots=True)
class KeywordClause:
    """A keyword of a statement: the field it fills and how its value is read. ``many``: may come again, values join."""

    field: str
    read: Callable[[WordCursor], Any]
    many: bool = False


def read_clauses(cursor: WordCursor, table: Mapping[str, KeywordClause], required: Iterable[str]) -> dict[str, Any]:
    """Read ``keyword value`` clauses in any order to the end of the statement; fields by name."""
    values: dict[str, Any] = {}
    while not cursor.ended:
        again = table.get(cursor.word.text)
        if again is not None and again.field in values and not again.many:
            cursor.fail(f"'{cursor.word.text}' only once")
        clause = table[cursor.keyword(table, "one of")]
        value = clause.read(cursor)
        values[clause.field] = (*values.get(clause.field, ()), *value) if clause.many else value
    missing = [word for word in required if table[word].field not in values]
    if missing:
        cursor.fail(f"'{missing[0]}'")
    return values
