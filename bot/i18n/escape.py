"""How a piece of foreign text is written in each kind of output, so that it stays text.

Everything from a repository or a pull request passes through here: names, paths, code, titles, bodies.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

# Format characters reorder or hide text (CVE-2021-42574); they are shown, except the ones emoji and
# scripts are written with.
_KEPT_FORMAT = frozenset("\u200c\u200d")
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

    def link(self, text: str, url: str) -> str:
        """`text`, already written, leading to `url` where that is an address of the web."""


def visible(text: str, *, keep: str = "") -> str:
    """`text` with control, bidirectional and unpaired surrogate characters written as `\\x1b` or `\\u202e`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep else _show(c) for c in text)


def _show(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was not UTF-8, from os.fsdecode
        return f"\\x{code - 0xDC00:02x}"
    kind = unicodedata.category(char)
    if kind in ("Cc", "Cs", "Zl", "Zp") or (kind == "Cf" and char not in _KEPT_FORMAT):
        return (
            f"\\x{code:02x}"
            if code < 0x100
            else f"\\u{code:04x}"
            if code < 0x10000
            else f"\\U{code:08x}"
        )
    return char


def one_line(text: str) -> str:
    """`text` with line ends and runs of blanks made single spaces, and what is invisible made visible."""
    return visible(" ".join(text.split()))


class Plain:
    """For machines and for plain text: JSON, SARIF, rdjson."""

    def prose(self, text: str) -> str:
        return one_line(text)

    def code(self, text: str) -> str:
        return f"`{one_line(text)}`"

    def link(self, text: str, url: str) -> str:
        address = _address(url)
        return f"{text} {address}" if address else text


class Markdown:
    """GitHub's Markdown: nothing foreign can open a tag, a link, a mention, a reference or a table cell."""

    def prose(self, text: str) -> str:
        escaped = _MARKDOWN.sub(_escape, one_line(text))
        escaped = _LEADING.sub(r"\1\\\2", escaped)
        # GitHub links these after it has rendered the Markdown, so that a backslash does not stop it.
        return _LIVE.sub("\\g<0>\u200b", escaped)

    def code(self, text: str) -> str:
        """A code span, in which mentions and references are dead; `cell` makes it fit for a table."""
        shown = one_line(text) or "\\x20"
        ticks = "`" * (max((len(run) for run in re.findall(r"`+", shown)), default=0) + 1)
        pad = " " if shown.startswith("`") or shown.endswith("`") else ""
        return f"{ticks}{pad}{shown}{pad}{ticks}"

    def link(self, text: str, url: str) -> str:
        address = _address(url)
        return f"[{text}]({address})" if address else text


class Html:
    """HTML text: nothing foreign can open a tag or an entity, nor a code span of ours (a backtick)."""

    def prose(self, text: str) -> str:
        return _html(one_line(text))

    def code(self, text: str) -> str:
        return f"<code>{_html(one_line(text))}</code>"

    def link(self, text: str, url: str) -> str:
        address = _address(url)
        return (
            f'<a href="{_html(address)}" rel="noopener noreferrer">{text}</a>' if address else text
        )


def _address(url: str) -> str:
    """`url` as it may stand in a link, empty for anything but http and https: no script, no blank, no bracket."""
    return quote(url, safe="/:?#@!$&*+,;=%~") if url.startswith(("https://", "http://")) else ""


def _html(text: str) -> str:
    # Not at the top: reading its table of entities takes 2 ms of every start, and most reports are not HTML.
    import html

    return html.escape(text).replace("`", "&#96;")


def cell(text: str) -> str:
    """Finished Markdown as a table's cell. Pipes are left only in code spans, where no backslash in front of one is
    safe; an entity is."""
    if "|" not in text:
        return text
    return _SPAN.sub(
        lambda m: (
            f"<code>{''.join(_entity(c) for c in m.group(2))}</code>"
            if "|" in m.group(2)
            else m.group()
        ),
        text,
    )


def fence(lines: Sequence[str], language: str = "") -> str:
    """A fenced block longer than any run of backticks in it."""
    shown = [visible(line, keep="\t") for line in lines]
    longest = max((len(run) for line in shown for run in re.findall(r"`+", line)), default=0)
    ticks = "`" * max(3, longest + 1)
    return "\n".join([ticks + language, *shown, ticks])


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _entity(char) if char in "<>&|`" else "\\" + char


def _entity(char: str) -> str:
    return char if char.isalnum() or char in " .,:;/-_='" else f"&#{ord(char)};"
