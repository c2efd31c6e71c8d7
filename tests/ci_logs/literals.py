"""Whether every line that a pattern takes holds one of some literals, decided from the pattern
itself.

The pattern is walked with an Aho-Corasick automaton of the literals beside it; what is left at its
end are lines that hold none. Where a pattern leaves a choice, the one that avoids the literals is
taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import _parser
from typing import Any

# A class of more characters than these has one that stands in no literal.
_FEW = 16
_OTHER = "\0"
# Lines have blanks where a pattern takes any white space.
_BLANK = {"CATEGORY_SPACE": " "}
# A line ends so in the raw log, where the literals are looked for.
_ENDS = ("\n", "\r\n")

# How much of a literal a line ends with, and the shortest line found that ends so.
States = dict[str, str]


class Avoiding:
    """Looks for lines that hold none of `literals`."""

    def __init__(self, literals: Iterable[str]) -> None:
        self._literals = tuple(literals)
        self._prefixes = {literal[:n] for literal in self._literals for n in range(len(literal))}

    def line(self, pattern: str) -> str | None:
        """The beginning of a line that `pattern` takes and that holds none, with NUL for any other
        character; None where there is no such line."""
        return min(self._all(_parser.parse(pattern), {"": ""}).values(), key=len, default=None)

    def _then(self, states: States, texts: Iterable[str]) -> States:
        made: States = {}
        for text in texts:
            for state, line in states.items():
                after = self._after(state, text.lower())
                if after is not None and (after not in made or len(line + text) < len(made[after])):
                    made[after] = line + text
        return made

    def _after(self, state: str, text: str) -> str | None:
        """The state after `text`, None where a literal is complete."""
        for char in text:
            state += char
            if state.endswith(self._literals):
                return None
            state = next(state[n:] for n in range(len(state) + 1) if state[n:] in self._prefixes)
        return state

    def _all(self, items: Any, states: States) -> States:
        for kind, value in items:
            states = self._one(str(kind), value, states)
        return states

    def _one(self, kind: str, value: Any, states: States) -> States:
        match kind:
            case "LITERAL":
                return self._then(states, [chr(value)])
            case "ANY" | "NOT_LITERAL":
                return self._then(states, [_OTHER])
            case "IN":
                return self._then(states, _class(value))
            case "BRANCH":
                return {
                    state: line
                    for part in value[1]
                    for state, line in self._all(part, states).items()
                }
            case "SUBPATTERN":
                return self._all(value[3], states)
            case "MAX_REPEAT" | "MIN_REPEAT":
                return self._repeated(*value, states)
            case "AT":
                return self._then(states, _ENDS) if str(value) == "AT_END" else states
            case "ASSERT" | "ASSERT_NOT":
                return states
        raise NotImplementedError(kind)

    def _repeated(self, least: int, most: int, items: Any, states: States) -> States:
        for _ in range(least):
            states = self._all(items, states)
        seen, fresh = states, states
        for _ in range(most - least):
            fresh = {
                state: line for state, line in self._all(items, fresh).items() if state not in seen
            }
            if not fresh:
                break
            seen = seen | fresh
        return seen


def _class(items: Any) -> list[str]:
    """The characters of a class that may matter."""
    made: set[str] = set()
    for kind, value in items:
        match str(kind):
            case "LITERAL":
                made.add(chr(value))
            case "RANGE":
                made.update(map(chr, range(value[0], min(value[1], value[0] + _FEW) + 1)))
            case "CATEGORY":
                made.add(_BLANK.get(str(value), _OTHER))
            case _:
                made.add(_OTHER)
    return sorted(made) if len(made) <= _FEW else [_OTHER]
