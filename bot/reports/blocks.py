"""The parts a written report is made of. Strings in them are already escaped for the output at hand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """`level` counts from 2; `mark` is the severity's name where the heading is a finding's."""

    level: int
    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs, with blank lines between; `- ` starts a list line."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    items: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Raw lines, escaped by whoever writes them."""

    lines: tuple[str, ...]
    language: str = ""


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks behind a line to click on, where the output can do that."""

    title: str
    blocks: tuple[Block, ...]


Block = Heading | Text | Items | Table | Code | Folded
