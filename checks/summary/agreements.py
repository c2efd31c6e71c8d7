"""What was checked and found consistent: the ends of a message that read and write one packed word.

Each field of each sender was proved to come back from each reader, for every value that fits it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Location, Message
from checks.domain.bitfields.packed_words import PackedWord, packed_words
from checks.domain.bitfields.python_words import WordReader
from checks.domain.bitfields.roundtrip import refute
from checks.lang.ir import expr as E
from checks.lang.ir.render import source_of
from checks.lang.ir.source_file import Function, SourceFile
from checks.lang.ir.stmt import Assign, ExprStmt, Stmt, guarded_statements

# Rules whose finding means that the ends of a message do not agree.
_DISAGREEMENTS = frozenset(
    {
        "protocol.pack-unpack-mismatch",
        "protocol.layout-mismatch",
    }
)
_MOST_FIXTURES = 8


def find_agreements(
    change: ChangeSet, config: Config, findings: Iterable[Finding], rules: Iterable[str]
) -> tuple[Message, ...]:
    """A sentence for each packed word that the change touches and all of whose ends agree.

    None where one of `rules`, those that ran, found the contrary, or not all of them ran.
    """
    if not _DISAGREEMENTS.issubset(rules):
        return ()
    if any(finding.rule in _DISAGREEMENTS for finding in findings):
        return ()
    words = [word for word in packed_words(change, config) if _is_touched(word, change)]
    return tuple(_message(word, change, config) for word in words if _ends_agree(word))


def _is_touched(word: PackedWord, change: ChangeSet) -> bool:
    for unit, pack in word.packs:
        if change.touches(unit.path, pack.line, pack.end_line):
            return True
    return any(change.touches(r.unit.path, r.line, r.line) for r in word.readers)


def _ends_agree(word: PackedWord) -> bool:
    """Whether every reader gets back what every sender puts in, and each field is read."""
    reads = [reader.read for reader in word.readers if reader.read is not None]
    if not reads or len(reads) < len(word.readers):
        return False
    for _, pack in word.packs:
        shifts = {field.shift for field in pack.fields}
        if len(shifts) < 2 or not shifts <= {read.shift for read in reads}:
            return False
        if any(refute(pack, read) is not None for read in reads):
            return False
    return True


def _message(word: PackedWord, change: ChangeSet, config: Config) -> Message:
    _, pack = word.packs[0]
    senders = [Location(unit.path, pack.line, pack.end_line) for unit, pack in word.packs]
    args = {
        "word": source_of(pack.target) if pack.target is not None else pack.function.name,
        "fields": [source_of(field.expr) for field in pack.fields],
        "senders": list(dict.fromkeys(senders)),
        "readers": list(_places(word.readers)),
        "fixtures": list(_fixtures(word, change, config))[:_MOST_FIXTURES],
    }
    return Message("agreement", args)


def _places(readers: Iterable[WordReader]) -> Iterator[Location]:
    """One place for each function that reads the word, from its first read to its last."""
    lines: dict[tuple[str, str], list[int]] = {}
    for reader in readers:
        lines.setdefault((reader.unit.path, reader.function.qualname), []).append(reader.line)
    for (path, _), found in lines.items():
        yield Location(path, min(found), max(found))


def _fixtures(word: PackedWord, change: ChangeSet, config: Config) -> Iterator[Location]:
    """The lines of tests that write the word in its packed form into a buffer that is read."""
    shifts = {field.shift for _, pack in word.packs for field in pack.fields} - {0}
    buffers = {buffer for buffer in map(_buffer, word.readers) if buffer is not None}
    for attribute, index in sorted(buffers):
        for path in change.head.paths_containing(attribute, "python"):
            unit = change.unit(path)
            if unit is None or not config.is_test(path):
                continue
            for function in unit.functions_naming(attribute):
                yield from _packed_writes(function, unit, attribute, index, shifts)


def _buffer(reader: WordReader) -> tuple[str, int] | None:
    """(attribute, index) of a Python reader's `self.attribute[index, 0]`."""
    if reader.unit.language != "python" or reader.read is None:
        return None
    match reader.read.word:
        case E.Index(base=E.Attr(name=name), indices=(E.Const(value=int() as index), *_)):
            return name, index
        case _:
            return None


def _packed_writes(
    function: Function, unit: SourceFile, attribute: str, index: int, shifts: set[int]
) -> Iterator[Location]:
    for guarded in guarded_statements(function.body):
        target, value = _target_and_value(guarded.stmt)
        match target:
            case E.Index(base=E.Attr(name=name), indices=(E.Const(value=at), *_)):
                is_word = name == attribute and at == index
            case _:
                is_word = False
        if is_word and value is not None and _shifts_in(value) == shifts:
            yield Location(unit.path, guarded.stmt.line)


def _target_and_value(stmt: Stmt) -> tuple[E.Expr | None, E.Expr | None]:
    """Of `target = value`, and of `target.set_tensor(value)`."""
    match stmt:
        case Assign(target=target, value=value):
            return target, value
        case ExprStmt(value=E.Call(func=E.Attr(base=base), args=(argument,))):
            return base, argument
        case _:
            return None, None


def _shifts_in(value: E.Expr) -> set[int]:
    found: set[int] = set()
    for node in E.walk(value):
        match node:
            case E.Binary(op="<<", right=E.Const(value=int() as shift)):
                found.add(shift)
            case _:
                pass
    return found
