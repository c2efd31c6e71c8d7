"""How a piece of foreign text is written in each kind of output, so that it stays text.

Everything from a repository or a pull request passes through here: names, paths, code, titles,
bodies.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

# Format characters reorder or hide text (CVE-2021-42574); they are shown, except the ones emoji and
# scripts are written with.
_KEPT_FORMAT = frozenset("\u200c\u200d")
# Control characters, unpaired surrogates, and the separators of lines and paragraphs.
_INVISIBLE = frozenset(("Cc", "Cs", "Zl", "Zp"))
_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>()#!|~$&]")
_LEADING = re.compile(r"^(\d*)([-+=.)])")
_LIVE = re.compile(
    r"@(?=\w)|(?<!&)\\?#(?=\d)|\bGH-(?=\d)|\b(?:https?|ftp|www)(?=[:.])", re.IGNORECASE
)
_SPAN = re.compile(r"(?<!`)(`+)(?!`) ?(.+?) ?(?<!`)\1(?!`)")


class Style(Protocol):
    """One output's way of writing foreign text."""

    def prose(self, text: str) -> str:
        """`text` as part of a sentence, on one line."""

    def code(self, text: str) -> str:
        """`text` as code within a sentence."""

    def strong(self, text: str) -> str:
        """`text`, a word of ours, so that the eye finds it."""

    def link(self, text: str, url: str) -> str:
        """`text`, already written, leading to `url` where that is an address of the web."""


def visible(text: str, *, keep: str = "") -> str:
    """`text` with control, bidirectional and unpaired surrogate characters written as `\\x1b` or
    `\\u202e`, except those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep else _show(c) for c in text)


def _show(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8, from os.fsdecode
        return f"\\x{code - 0xDC00:02x}"
    category = unicodedata.category(char)
    is_hidden_format = category == "Cf" and char not in _KEPT_FORMAT
    if category in _INVISIBLE or is_hidden_format:
        return _escape_sequence(code)
    return char


def _escape_sequence(code: int) -> str:
    """A character as Python writes it in a string: `\\x1b`, `\\u202e`."""
    if code < 0x100:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def one_line(text: str) -> str:
    """`text` with line ends and runs of blanks made single spaces, and what is invisible made
    visible."""
    return visible(" ".join(text.split()))


class Plain:
    """For machines and for plain text: JSON, SARIF, rdjson."""

    def prose(self, text: str) -> str:
        return one_line(text)

    def code(self, text: str) -> str:
        return f"`{one_line(text)}`"

    def strong(self, text: str) -> str:
        return text

    def link(self, text: str, url: str) -> str:
        address = web_address(url)
        return f"{text} {address}" if address else text


class Markdown:
    """GitHub's Markdown: nothing foreign can open a tag, a link, a mention, a reference or a table
    cell."""

    def prose(self, text: str) -> str:
        escaped = _MARKDOWN.sub(_escape, one_line(text))
        escaped = _LEADING.sub(r"\1\\\2", escaped)
        # GitHub links these after it has rendered the Markdown, so that a backslash does not stop
        # it.
        return _LIVE.sub("\\g<0>\u200b", escaped)

    def code(self, text: str) -> str:
        """A code span, in which mentions and references are dead; `cell` makes it fit for a
        table."""
        shown = one_line(text) or "\\x20"
        ticks = "`" * (_longest_tick_run(shown) + 1)
        touches_ticks = shown.startswith("`") or shown.endswith("`")
        pad = " " if touches_ticks else ""
        return f"{ticks}{pad}{shown}{pad}{ticks}"

    def strong(self, text: str) -> str:
        return f"**{text}**"

    def link(self, text: str, url: str) -> str:
        address = web_address(url)
        return f"[{text}]({address})" if address else text


class Html:
    """HTML text: nothing foreign can open a tag or an entity, nor a code span of ours (a
    backtick)."""

    def prose(self, text: str) -> str:
        return _html(one_line(text))

    def code(self, text: str) -> str:
        return f"<code>{_html(one_line(text))}</code>"

    def strong(self, text: str) -> str:
        return f"<b>{_html(text)}</b>"

    def link(self, text: str, url: str) -> str:
        address = web_address(url)
        if not address:
            return text
        return f'<a href="{_html(address)}" rel="noopener noreferrer">{text}</a>'


def web_address(url: str) -> str:
    """`url` as it may stand in a link: without a blank or a bracket. Empty for anything but http
    and https."""
    if not url.startswith(("https://", "http://")):
        return ""
    return quote(url, safe="/:?#@!$&*+,;=%~")


def _html(text: str) -> str:
    return html.escape(text).replace("`", "&#96;")


def cell(text: str) -> str:
    """Finished Markdown as a cell of a table.

    Pipes are left only in code spans. A backslash in front of one is not safe there, an entity is.
    """
    return _SPAN.sub(_cell_span, text)


def _cell_span(match: re.Match[str]) -> str:
    code = match.group(2)
    if "|" not in code:
        return match.group()
    return f"<code>{''.join(_entity(char) for char in code)}</code>"


def fence(lines: Sequence[str], language: str = "") -> str:
    """A fenced block longer than any run of backticks in it."""
    shown = [visible(line, keep="\t") for line in lines]
    longest = max((_longest_tick_run(line) for line in shown), default=0)
    ticks = "`" * max(3, longest + 1)
    return "\n".join([ticks + language, *shown, ticks])


def _longest_tick_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    if char in "<>&|`":
        return _entity(char)
    return "\\" + char


def _entity(char: str) -> str:
    if char.isalnum() or char in " .,:;/-_='":
        return char
    return f"&#{ord(char)};"
