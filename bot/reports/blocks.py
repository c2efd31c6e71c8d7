"""The parts a written report is made of.

Strings in them are already escaped for the output at hand.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Heading:
    """`level` counts from 2; `mark` is the finding's level where the heading is a finding's."""

    level: int
    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """Paragraphs, with blank lines between; `- ` starts a list line."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header. Columns with nothing in any row are left out.

    With `cards` the rows hold sentences, and on a phone each is a card.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    cards: bool = False

    def __post_init__(self) -> None:
        used = []
        for column in range(len(self.header)):
            if any(row[column] for row in self.rows):
                used.append(column)
        rows = [tuple(row[column] for column in used) for row in self.rows]
        # A frozen dataclass can only be changed in this way.
        object.__setattr__(self, "header", tuple(self.header[column] for column in used))
        object.__setattr__(self, "rows", tuple(rows))


@dataclass(frozen=True, slots=True)
class Code:
    """Raw lines, escaped by whoever writes them.

    `path` is the file that they are of, whose language colours them. `notes` are sentences about
    some of the lines, by the line's index.
    """

    lines: tuple[str, ...]
    language: str = ""
    path: str = ""
    notes: tuple[tuple[int, str], ...] = ()

    def notes_on(self, index: int) -> list[str]:
        """What is said of one line."""
        return [note for at, note in self.notes if at == index]


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks behind a line to click on, where the output can do that."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing, for outputs that show it; its numbers stand in a table beside it.

    `alt` says what it shows.
    """

    svg: str
    alt: str


Block = Heading | Text | Items | Table | Code | Folded | Picture
