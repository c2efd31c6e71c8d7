"""Packed words and their readers, where the change touched one of the two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Evidence,
    Finding,
    Location,
    Message,
    Severity,
)
from checks.domain.bitfields.packed_words import packed_words
from checks.domain.bitfields.packing import PackExpr
from checks.domain.bitfields.python_words import WordReader
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import SourceFile


@dataclass(frozen=True, slots=True)
class WordUse:
    """One sender's expression for a word, in `unit`, and one reader of that word."""

    unit: SourceFile
    pack: PackExpr
    reader: WordReader

    @property
    def sender(self) -> Definition:
        """The sender's expression, as evidence."""
        pack = self.pack
        return Definition(
            word_name(pack),
            Location(self.unit.path, pack.line, pack.end_line),
            source_of(pack.expr),
            self.unit.excerpt(pack.line),
        )


def touched_word_uses(change: ChangeSet, config: Config) -> Iterator[WordUse]:
    """Every pair of a sender and a reader of one word of which the change touched a line."""
    for word in packed_words(change, config):
        for unit, pack in word.packs:
            sender_touched = change.touches(unit.path, pack.line, pack.end_line)
            for reader in word.readers:
                path, line = reader.unit.path, reader.line
                if sender_touched or change.touches(path, line, line):
                    yield WordUse(unit, pack, reader)


def word_name(pack: PackExpr) -> str:
    """What a word is called: the place it is stored to, or the function that returns it."""
    if pack.target is None:
        return pack.function.name
    return source_of(pack.target)


def word_use_finding(
    rule: str,
    key: str,
    elsewhere_key: str,
    args: dict[str, object],
    use: WordUse,
    change: ChangeSet,
    evidence: tuple[Evidence, ...],
) -> Finding:
    """A finding on the reader's line, with the message `key`.

    Where the change did not come near the reader's file, it stands on the sender's line, and the
    message `elsewhere_key` names the reader.
    """
    reader = use.reader
    place = Location(reader.unit.path, reader.line)
    symbol = reader.function.qualname
    if change.changed(place.path) is None:
        args = {**args, "reader": place}
        place = use.sender.location
        symbol = ""
        key = elsewhere_key
    read = args.get("read") or args.get("name")
    return Finding(
        rule=rule,
        severity=Severity.BUG,
        confidence=Confidence.HIGH,
        location=place,
        message=Message(key, args),
        symbol=symbol,
        subject=f"{reader.unit.path} {reader.function.qualname} {read}",
        evidence=evidence,
    )
