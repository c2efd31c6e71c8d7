"""C++ literals as values."""

from __future__ import annotations

import re

from checks.lang.ir.expr import Const, Expr, Unary, Unknown

_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)((?:[uUlLzZ])*)")
_FLOAT = re.compile(r"((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)([fFlL]|[bB]?[fF]\d+)?")
_ESCAPE = re.compile(
    r"\\(x[0-9a-fA-F]+|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{1,3}|\r?\n|.)", re.DOTALL
)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_RAW = re.compile(r'(?:u8|[uUL])?R"([^()\\\s"]{0,16})\((.*)\)\1"', re.DOTALL)
_LAST_CHARACTER = 0x10FFFF


def number(text: str, line: int) -> Expr:
    """`0x1FULL`, `1'000`, `017`, `1e-3f`; a form that is not known stays text.

    A user-defined suffix (`10_km`) is one of those.
    """
    digits = text.replace("'", "")
    # The grammar takes the sign along, in places; it is an operator, as in Python's trees.
    if digits.startswith("-"):
        return Unary("-", number(digits[1:].lstrip(), line), line=line)
    try:
        if match := _INTEGER.fullmatch(digits):
            return Const(int(match[1], _base(match[1])), match[2].lower(), line=line)
        if match := _FLOAT.fullmatch(digits):
            return Const(float(match[1]), (match[2] or "").lower(), line=line)
        if digits[:2].lower() == "0x" and "p" in digits.lower():
            return Const(float.fromhex(digits.rstrip("fFlL")), "", line=line)
    except (ValueError, OverflowError):  # `08`, or more digits than Python converts
        pass
    return Unknown(text, line=line)


def _base(digits: str) -> int:
    match digits[:2].lower():
        case "0x":
            return 16
        case "0b":
            return 2
    return 8 if digits.startswith("0") and len(digits) > 1 else 10


def string(text: str) -> str:
    """The characters of a string literal with its quotes and prefix."""
    if raw := _RAW.fullmatch(text):
        return raw[2]
    body = text[text.find('"') + 1 :]
    # A literal that the parser mended may lack its last quote.
    return _unescape(body.removesuffix('"'))


def character(text: str, line: int) -> Expr:
    """`'a'` is the number 97, as in C++."""
    body = _unescape(text[text.find("'") + 1 : -1])
    if len(body) != 1:
        return Unknown(text, line=line)
    return Const(ord(body), "char", line=line)


def _unescape(body: str) -> str:
    """Escape sequences replaced by what they stand for."""
    return _ESCAPE.sub(_escaped_character, body)


def _escaped_character(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        value = int(code[1:], 16)
        return chr(value) if value <= _LAST_CHARACTER else "\N{REPLACEMENT CHARACTER}"
    if code[0] in "01234567":
        return chr(int(code, 8))
    # A backslash at the end of a line continues the string on the next one.
    if code[-1] == "\n":
        return ""
    return _SIMPLE.get(code, code)
