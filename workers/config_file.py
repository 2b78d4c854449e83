"""Read a TLC configuration file the way TLC's own reader does.

The configuration belongs to the problem. Reading it before TLC does tells three things early: a
file that TLC cannot read (TLC messages 5002-5006) is the problem's fault and not the candidate's;
a keyword that the TLC in use does not know is either translated or reported; and the names that
the file requires are known, for prompts and for messages.

Keywords that an older TLC lacks have equivalents in two cases: `CHECK_DEADLOCK FALSE` is the
command line's `-deadlock`, and `ALIAS` only changes how a counterexample is displayed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from workers.module_text import end_of_block_comment

_LISTS = {
    "INVARIANT": "INVARIANT",
    "INVARIANTS": "INVARIANT",
    "PROPERTY": "PROPERTY",
    "PROPERTIES": "PROPERTY",
    "CONSTRAINT": "CONSTRAINT",
    "CONSTRAINTS": "CONSTRAINT",
    "ACTION_CONSTRAINT": "ACTION_CONSTRAINT",
    "ACTION_CONSTRAINTS": "ACTION_CONSTRAINT",
    "POSTCONDITION": "POSTCONDITION",
    "POSTCONDITIONS": "POSTCONDITION",
    "_POSSIBLE": "_POSSIBLE",
}
_SINGLES = frozenset(
    {
        "INIT",
        "NEXT",
        "SPECIFICATION",
        "VIEW",
        "SYMMETRY",
        "ALIAS",
        "_PERIODIC",
        "_RL_REWARD",
    }
)
_CONSTANTS = frozenset({"CONSTANT", "CONSTANTS"})
KEYWORDS = frozenset(_LISTS) | _SINGLES | _CONSTANTS | {"CHECK_DEADLOCK"}
"""All keywords of TLC 2.15 and of TLC of April 2026."""

_TOKEN = re.compile(
    r"(?P<skip>\s+|\\\*[^\n]*)"
    r"|(?P<block>\(\*)"
    r'|(?P<string>"(?:[^"\\\n]++|\\.)*+")'
    r"|(?P<word>[0-9A-Za-z_]+)"
    r"|(?P<symbol><-|[!#$%&()*+,\-./:<=>@\[\\\]^{|}~'])",
)
"""A character outside these is none that SANY's lexer knows.

TLC stops reading there without a word and checks with what it has: not what the problem asks.
"""
_LARGEST_INTEGER = 2**31 - 1


class ConfigError(Exception):
    """A configuration that TLC cannot read; carries the line."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(f"line {line}: {message}")
        self.line = line
        self.message = message


class UnsupportedKeywordError(Exception):
    """A configuration keyword that the TLC in use does not know and that has no equivalent."""

    def __init__(self, line: int, keyword: str) -> None:
        super().__init__(f"line {line}: this TLC does not know the keyword {keyword}")
        self.line = line
        self.keyword = keyword


@dataclass(frozen=True, slots=True)
class ConstantAssignment:
    """`name = value`, `name <- definition`, each also for one module: `name <- [M] definition`."""

    name: str
    replaced: bool
    """True for `<-`: the name is replaced by a definition of the specification."""
    value: str
    """Text of the value, or the definition's name."""
    module: str | None
    line: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A keyword with the names that follow it; offsets are in characters."""

    keyword: str
    names: tuple[str, ...]
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TranslatedConfig:
    """A configuration that the TLC in use understands, and what moves to the command line."""

    text: str
    deadlock_off: bool


@dataclass(slots=True)
class ConfigFile:
    """A configuration as read; `names("INVARIANT")` also covers `INVARIANTS`."""

    text: str
    statements: list[Statement] = field(default_factory=list)
    constants: list[ConstantAssignment] = field(default_factory=list)

    def names(self, keyword: str) -> tuple[str, ...]:
        """All names given under a keyword, in order."""
        return tuple(
            name
            for statement in self.statements
            if _LISTS.get(statement.keyword, statement.keyword) == keyword
            for name in statement.names
        )

    def translated_for(self, known_keywords: frozenset[str]) -> TranslatedConfig:
        """The configuration for a TLC that knows only some of the keywords.

        Raises:
            UnsupportedKeywordError: a keyword is unknown there and has no equivalent.
        """
        text, deadlock_off = self.text, False
        for statement in self.statements:
            if statement.keyword in known_keywords:
                continue
            if statement.keyword not in {"CHECK_DEADLOCK", "ALIAS"}:
                raise UnsupportedKeywordError(statement.line, statement.keyword)
            deadlock_off |= statement.names == ("FALSE",)
            # Blanked in place, so that TLC's line numbers stay those of the problem's file.
            blank = re.sub(r"[^\n]", " ", text[statement.start : statement.end])
            text = text[: statement.start] + blank + text[statement.end :]
        return TranslatedConfig(text, deadlock_off)


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    line: int
    start: int
    end: int


def read_config(text: str) -> ConfigFile:
    """Read a TLC configuration.

    Raises:
        ConfigError: TLC could not read it either.
    """
    return _Reader(text).read()


class _Reader:
    """One pass over the tokens; mirrors the decisions of TLC's `ModelConfig.parse`."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._next = 0
        self._config = ConfigFile(text)

    def read(self) -> ConfigFile:
        while (keyword := self._take()) is not None:
            if keyword.text in _CONSTANTS:
                self._read_constants()
                names: tuple[str, ...] = ()
            elif keyword.text in _LISTS:
                names = tuple(self._read_names())
            elif keyword.text in _SINGLES:
                names = (self._read_name_after(keyword),)
            elif keyword.text == "CHECK_DEADLOCK":
                names = (self._read_name_after(keyword),)
                if names[0] not in {"TRUE", "FALSE"}:
                    raise ConfigError(keyword.line, "CHECK_DEADLOCK needs TRUE or FALSE")
            else:
                raise ConfigError(keyword.line, f"expected a keyword, found {keyword.text!r}")
            end = self._tokens[self._next - 1].end
            self._config.statements.append(
                Statement(keyword.text, names, keyword.line, keyword.start, end)
            )
        self._refuse_repeated_singles()
        return self._config

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self) -> _Token | None:
        token = self._peek()
        if token is not None:
            self._next += 1
        return token

    def _expect(self, symbol: str) -> None:
        token = self._take()
        if token is None or token.text != symbol:
            raise ConfigError(self._line_of(token), f"expected {symbol!r}")

    def _line_of(self, token: _Token | None) -> int:
        if token is not None:
            return token.line
        return self._tokens[-1].line if self._tokens else 1

    def _read_name_after(self, keyword: _Token) -> str:
        token = self._take()
        if token is None:
            raise ConfigError(keyword.line, f"{keyword.text} is not followed by a name")
        return token.text

    def _read_names(self) -> Iterator[str]:
        while (token := self._peek()) is not None and token.text not in KEYWORDS:
            self._next += 1
            yield token.text

    def _read_constants(self) -> None:
        while (name := self._peek()) is not None and name.text not in KEYWORDS:
            self._next += 1
            self._config.constants.append(self._read_assignment(name))

    def _read_assignment(self, first_name: _Token) -> ConstantAssignment:
        name, line = first_name.text, first_name.line
        operator = self._take()
        while operator is not None and operator.text == "!":
            name += "!" + self._read_name_after(operator)
            operator = self._take()
        allowed = {"=", "<-"}
        if operator is not None and operator.text == "(":
            self._read_values_until(")")
            operator = self._take()
            allowed = {"="}
        if operator is None or operator.text not in allowed:
            raise ConfigError(
                self._line_of(operator), f"expected {' or '.join(sorted(allowed))} after {name}"
            )
        module = self._read_module_choice()
        first = self._next
        if operator.text == "<-":
            if self._take() is None:
                raise ConfigError(operator.line, "<- is not followed by a name")
        else:
            self._read_value(operator)
        value = " ".join(token.text for token in self._tokens[first : self._next])
        return ConstantAssignment(name, operator.text == "<-", value, module, line)

    def _read_module_choice(self) -> str | None:
        token = self._peek()
        if token is None or token.text != "[":
            return None
        self._next += 1
        module = self._take()
        if module is None:
            raise ConfigError(token.line, "[ is not followed by a module's name")
        self._expect("]")
        return module.text

    def _read_value(self, before: _Token) -> None:
        token = self._take()
        if token is None:
            raise ConfigError(before.line, f"{before.text} is not followed by a value")
        if re.fullmatch("[0-9]+", token.text) and _beyond_tlc(token.text):
            raise ConfigError(token.line, f"{token.text[:40]} is beyond TLC's largest integer")
        if token.text != "{":
            return
        following = self._peek()
        if following is not None and following.text == "}":
            self._next += 1
            return
        self._read_values_until("}", token)

    def _read_values_until(self, closing: str, before: _Token | None = None) -> None:
        opening = before or self._tokens[self._next - 1]
        while True:
            self._read_value(opening)
            token = self._take()
            if token is None or token.text not in {",", closing}:
                raise ConfigError(self._line_of(token), f"expected , or {closing}")
            if token.text == closing:
                return

    def _refuse_repeated_singles(self) -> None:
        seen: set[str] = set()
        for statement in self._config.statements:
            if statement.keyword in _SINGLES | {"CHECK_DEADLOCK"}:
                if statement.keyword in seen:
                    raise ConfigError(statement.line, f"{statement.keyword} appears twice")
                seen.add(statement.keyword)


def _tokens(text: str) -> Iterator[_Token]:
    position, line = 0, 1
    while match := _TOKEN.match(text, position):
        end = match.end()
        if match.lastgroup == "block":
            closed = end_of_block_comment(text, end)
            if closed is None:
                raise ConfigError(line, "this comment is never closed")
            end = closed
        elif match.lastgroup != "skip":
            yield _Token(match.group(), line, match.start(), end)
        line += text.count("\n", match.start(), end)
        position = end
    if position < len(text):
        raise ConfigError(line, f"TLC stops reading at the character {text[position]!r}")


def _beyond_tlc(digits: str) -> bool:
    significant = digits.lstrip("0")
    return len(significant) > 10 or int(significant or "0") > _LARGEST_INTEGER
