"""The templates that most sentences are, without Jinja2: text, arguments through filters, and choices.

Reading Jinja2 and compiling one report's sentences with it takes longer than writing the rest of the report.
`tests/test_templates.py` holds both ways against each other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

Args = Mapping[str, Any]
Filters = Mapping[str | None, Callable[..., str]]
Part = Callable[[Args], str]
Test = Callable[[Args], bool]

_NAME = r"(?!(?:true|false|none|not)\b)[a-z_]\w*"
_FILTER = r"\| *(?:(codes?|items|hex|length)|plural\((?P<q>[\"'])([^\"'\\]*)(?P=q), *(?P=q)([^\"'\\]*)(?P=q)\))"
_TAG = re.compile(r"(\{\{.*?\}\}|\{%.*?%\})", re.DOTALL)
_PUT = re.compile(rf"\{{\{{ *(?:({_NAME})|\(({_NAME}) or ({_NAME})\)) *((?:\|[^|]*)*)\}}\}}")
_FILTERED = re.compile(_FILTER)
_BLOCK = re.compile(r"\{% (if|elif|else|endif)(?: ([^%]+?))? %\}")
_TEST = re.compile(rf"(not )?({_NAME})(?: == ([\"'])([^\"'\\]*)\3| (is defined))?")


class Long(Exception):
    """The template is of another kind."""


def short(source: str, filters: Filters) -> Part | None:
    """What writes the template `source`, None where that takes Jinja2. It raises KeyError where an argument is
    missing."""
    tokens = _TAG.split(source.removesuffix("\n"))[::-1]
    if tokens[-1].isspace():
        return None  # what follows it may be a tag
    try:
        part, end = _sequence(tokens, filters)
    except Long:
        return None
    return part if not end else None


def _sequence(tokens: list[str], filters: Filters) -> tuple[Part, str]:
    """What writes the tokens, from the last, to the end or the tag that ends this part, which is given too."""
    parts: list[Part] = []
    while tokens:
        token = tokens.pop()
        if token.startswith("{{"):
            parts.append(_put(token, filters))
        elif not token.startswith("{%"):
            parts.append(_text(token, tokens))
        elif token.startswith("{% if "):
            parts.append(_choice(token, tokens, filters))
        else:
            return partial(_joined, parts), token
    return partial(_joined, parts), ""


def _joined(parts: list[Part], args: Args) -> str:
    return "".join([part(args) for part in parts])


def _text(token: str, following: list[str]) -> Part:
    """Text; beside the ends of lines, tags take blanks with them."""
    last = token.rpartition("\n")[2]
    beside = following and following[-1].startswith("{%") and last.isspace() and last != token
    if "{" in token or "}" in token or token.startswith("\n") or beside:
        raise Long
    return lambda _: token


def _put(token: str, filters: Filters) -> Part:
    """An argument, or the first of two that says something, through filters."""
    found = _PUT.fullmatch(token)
    if found is None:
        raise Long
    name, first, second, rest = found.groups()
    steps: list[Callable[[Any], Any]] = []
    while rest:
        applied = _FILTERED.match(rest)
        if applied is None:
            raise Long
        plain, _, one, many = applied.groups()
        steps.append(_filter(plain, one, many, filters))
        rest = rest[applied.end() :].lstrip()
    steps.append(filters[None])

    def put(args: Args) -> str:
        value = args[name] if name else args[first] or args[second]
        for step in steps:
            value = step(value)
        return str(value)

    return put


def _filter(plain: str | None, one: str, many: str, filters: Filters) -> Callable[[Any], Any]:
    if plain == "length":
        return len
    return filters[plain] if plain else lambda count: filters["plural"](count, one, many)


def _choice(token: str, tokens: list[str], filters: Filters) -> Part:
    """`{% if %}`, to its `{% endif %}`."""
    arms: list[tuple[Test, Part]] = []
    while True:
        tag = _BLOCK.fullmatch(token)
        if tag is None:
            raise Long
        kind, condition = tag.groups()
        if kind == "endif":
            return partial(_chosen, arms)
        test = _condition(condition) if condition else lambda _: True
        part, token = _sequence(tokens, filters)
        arms.append((test, part))


def _chosen(arms: list[tuple[Test, Part]], args: Args) -> str:
    return next((part(args) for test, part in arms if test(args)), "")


def _condition(text: str) -> Test:
    """Tests under `and`, under `or`."""
    either = [[_test(one) for one in both.split(" and ")] for both in text.split(" or ")]
    return lambda args: any(all(test(args) for test in tests) for tests in either)


def _test(text: str) -> Test:
    found = _TEST.fullmatch(text)
    if found is None:
        raise Long
    negated, name, quote, value, defined = found.groups()
    if defined:
        return lambda args: (name in args) is not bool(negated)
    if quote:
        return lambda args: (args[name] == value) is not bool(negated)
    return lambda args: bool(args[name]) is not bool(negated)
