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


def number(text: str, line: int) -> Expr:
    """`0x1FULL`, `1'000`, `017`, `1e-3f`; a form that is not known (a user-defined suffix) stays text."""
    digits = text.replace("'", "")
    if digits.startswith("-"):  # the grammar takes the sign along, in places
        return negative(number(digits[1:].lstrip(), line), line)
    if match := _INTEGER.fullmatch(digits):
        body = match[1]
        base = {"x": 16, "b": 2}.get(
            body[1:2].lower(), 8 if len(body) > 1 and body[0] == "0" else 10
        )
        try:
            return Const(int(body, base), match[2].lower(), line=line)
        except ValueError:  # `08`, or more digits than Python converts
            return Unknown(text, line=line)
    if match := _FLOAT.fullmatch(digits):
        return Const(float(match[1]), (match[2] or "").lower(), line=line)
    if digits[:2].lower() == "0x" and "p" in digits.lower():
        try:
            return Const(float.fromhex(digits.rstrip("fFlL")), "", line=line)
        except (ValueError, OverflowError):
            return Unknown(text, line=line)
    return Unknown(text, line=line)


def negative(value: Expr, line: int) -> Expr:
    """`-value`: the sign is an operator, as in Python's trees, wherever the grammar puts it."""
    return Unary("-", value, line=line)


def string(text: str) -> str:
    """The characters of a string literal with its quotes."""
    if raw := _RAW.fullmatch(text):
        return raw[2]
    start = text.find('"')
    body = (
        text[start + 1 : -1] if text.endswith('"') and len(text) > start + 1 else text[start + 1 :]
    )
    return unescape(body)


def character(text: str, line: int) -> Expr:
    """`'a'` is the number 97, as in C++."""
    body = unescape(text[text.find("'") + 1 : -1])
    if len(body) != 1:
        return Unknown(text, line=line)
    return Const(ord(body), "char", line=line)


def unescape(body: str) -> str:
    """Escape sequences replaced by what they stand for."""
    return _ESCAPE.sub(_escape, body) if "\\" in body else body


def _escape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        value = int(code[1:], 16)
        return chr(value) if value < 0x110000 else "\ufffd"
    if code[0] in "01234567":
        return chr(int(code, 8))
    if code[-1] == "\n":
        return ""
    return _SIMPLE.get(code, code)
