"""A member of a batch has fewer dimensions since the change and is still indexed by all of them.

## What it does

Reads the sizes with which changed files make the members of a batch (`zeros([n, 1])`). Where a
member has fewer dimensions since this change, looks for code that still indexes it by more
(`meta.lens[rows, 0]`).

## Why it matters

With PaddlePaddle/FastDeploy@d957ccd46 `seq_lens_decoder` has one dimension; the attention backends
of Iluvatar and Metax went on indexing two, until 3345641f4 and 3cf7c6c28.

## Example

```python
self.lens = zeros([n])       # the change: it was zeros([n, 1])

meta.lens[rows, 0]           # too many indices
```

## Known limits

Only members that are made with a list of sizes are known, and only where all places of a file make
them with as many. Hardware that makes the member itself, in a file of its own, is compared with
that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Definition,
    Finding,
    Location,
    Message,
    Related,
    Severity,
)
from checks.domain.keys import changed_python_files, key_uses, product_files
from checks.domain.ops import statement_expressions
from checks.domain.source_search import code_line, functions_matching, whole_word
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import Function, SourceFile

ID = "sync.lost-dimension"

_ALLOCATORS = frozenset({"full", "zeros", "ones", "empty"})
_ALLOCATION = re.compile("|".join(sorted(_ALLOCATORS)))


@dataclass(frozen=True, slots=True)
class MemberShape:
    """A member that is made with `dimensions` sizes on `line`."""

    key: str
    dimensions: int
    line: int


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each file that indexes a member by more dimensions than it has now."""
    for old_unit, unit in changed_python_files(change, config):
        if old_unit is None:
            continue
        for shape in _flattened_members(old_unit, unit):
            for path in _files_of_member(shape, unit, change, config):
                user = change.unit(path)
                finding = _finding(shape, unit, user) if user is not None else None
                if finding is not None:
                    yield finding


def _flattened_members(old_unit: SourceFile, unit: SourceFile) -> list[MemberShape]:
    """The members that have fewer dimensions in the head than in the base, by name."""
    keys = _members_made_anew(old_unit, unit)
    before, after = _shapes(old_unit, keys), _shapes(unit, keys)
    flattened: list[MemberShape] = []
    for key in sorted(after):
        if key in before and after[key].dimensions < before[key].dimensions:
            flattened.append(after[key])
    return flattened


def _members_made_anew(old_unit: SourceFile, unit: SourceFile) -> set[str]:
    """The members that a function makes which reads otherwise in the base and the head.

    The shapes of all others are as they were.
    """
    before = {old_unit.text_of(f): f for f in functions_matching(_ALLOCATION, old_unit)}
    after = {unit.text_of(f): f for f in functions_matching(_ALLOCATION, unit)}
    keys: set[str] = set()
    for text in before.keys() ^ after.keys():
        function = before.get(text) or after[text]
        keys.update(shape.key for shape in _shapes_in(function))
    return keys


def _shapes(unit: SourceFile, keys: set[str]) -> dict[str, MemberShape]:
    """The shapes of the members `keys`, where all places of the file agree on the dimensions."""
    if not keys:
        return {}
    shapes: dict[str, list[MemberShape]] = {}
    naming = functions_matching(whole_word(*sorted(keys)), unit)
    for function in naming:
        if not _ALLOCATION.search(unit.text_of(function)):
            continue
        for shape in _shapes_in(function):
            if shape.key in keys:
                shapes.setdefault(shape.key, []).append(shape)
    agreed: dict[str, MemberShape] = {}
    for key, places in shapes.items():
        # A file that makes the member in two shapes has cases that cannot be told apart here.
        if len({place.dimensions for place in places}) == 1:
            agreed[key] = min(places, key=lambda place: place.line)
    return agreed


def _shapes_in(function: Function) -> Iterator[MemberShape]:
    """Each member that `function` makes with a list of sizes."""
    for use in key_uses(function):
        if not use.sets or not isinstance(use.value, E.Call):
            continue
        if E.callee(use.value) not in _ALLOCATORS:
            continue
        dimensions = _count_sizes(use.value)
        if dimensions:
            yield MemberShape(use.key, dimensions, use.line)


def _count_sizes(call: E.Call) -> int:
    """2 for `zeros([n, 1])` and `full(shape=[n, 1], ...)`; 0 where the sizes are no list."""
    shape = call.args[0] if call.args else None
    for keyword, value in call.keywords:
        if keyword in ("shape", "size"):
            shape = value
            break
    return len(shape.items) if isinstance(shape, E.Sequence) else 0


def _files_of_member(
    shape: MemberShape, unit: SourceFile, change: ChangeSet, config: Config
) -> Iterator[str]:
    """The files that use the member as `unit` makes it, not as their own hardware does."""
    paths = product_files(shape.key, change, config)
    made_elsewhere: dict[str, int] = {}
    for path in paths:
        maker = change.unit(path)
        made = _shapes(maker, {shape.key}).get(shape.key) if maker is not None else None
        if made is not None:
            made_elsewhere[path] = made.dimensions
    is_flat_everywhere = all(count <= shape.dimensions for count in made_elsewhere.values())
    for path in paths:
        hardware = config.hardware_of(path)
        makes_its_own = any(
            config.hardware_of(maker) == hardware and maker != unit.path for maker in made_elsewhere
        )
        if is_flat_everywhere or (hardware and not makes_its_own):
            yield path


def _finding(shape: MemberShape, unit: SourceFile, user: SourceFile) -> Finding | None:
    """The finding at the first place of `user` that indexes too many dimensions."""
    places: list[tuple[int, Function]] = []
    for function in functions_matching(whole_word(shape.key), user):
        for line in _overindexing_lines(function, shape):
            places.append((line, function))
    if not places:
        return None
    first_line, first_function = places[0]
    definition = Location(unit.path, shape.line)
    args = {"key": shape.key, "dims": shape.dimensions, "at": definition}
    others = [Related(Location(user.path, line), Message("read-here")) for line, _ in places[1:]]
    code = code_line(unit, shape.line)
    return Finding(
        rule=ID,
        severity=Severity.BUG,
        confidence=Confidence.MEDIUM,
        location=Location(user.path, first_line),
        message=Message("flattened", args),
        symbol=first_function.qualname,
        subject=shape.key,
        evidence=(Definition(shape.key, definition, str(shape.dimensions), code),),
        related=tuple(others),
    )


def _overindexing_lines(function: Function, shape: MemberShape) -> Iterator[int]:
    for guarded, expressions in statement_expressions(function.body):
        for e in expressions:
            if isinstance(e, E.Index) and _has_too_many_indices(e, shape):
                yield e.line or guarded.stmt.line


def _has_too_many_indices(index: E.Index, shape: MemberShape) -> bool:
    """Whether `index` takes the member by more dimensions than it has."""
    if len(index.indices) <= shape.dimensions:
        return False
    if any(i == E.Const(None) for i in index.indices):
        return False  # `x[:, None]` adds a dimension
    match index.base:
        case E.Attr(name=name):
            return name == shape.key
        case E.Index(indices=(E.Const(value=name),)):
            return bool(name == shape.key)
        case _:
            return False
