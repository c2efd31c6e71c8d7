"""The Python front end: from a file's bytes to a parsed unit."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from checks.lang.ir.source_file import Ranges, Unit
from checks.lang.ir.wanted import NOTHING, Wanted
from checks.lang.python.again import Again
from checks.lang.python.comments import comments
from checks.lang.python.definitions import Definitions
from checks.lang.python.lower import Statements
from checks.lang.python.outline import outline
from checks.lang.python.text import REFUSED, Source, parse, read


def parse_python(path: str, data: bytes, wanted: Wanted = NOTHING) -> Unit:
    """The unit of a Python file; the insides of functions are read when first asked for, those `wanted` at once.

    Never raises: what does not parse is listed in `Unit.broken`, its statements are `Opaque`, and
    the functions around it are not `clean`.
    """
    source = read(data)
    text = "\n".join(source.lines)
    module = (
        _parsed(outline(text, _places(source, wanted.lines)))
        if wanted.lines and not source.damaged
        else None
    )
    if module is None:
        wanted = NOTHING
        module = None if source.damaged else _parsed(outline(text)) or _parsed(text)
    if module is None:
        return _whole(path, source)
    statements = Statements(source, {})
    again = Again(statements, partial(_whole, path, source), wanted)
    return _unit(Definitions(path, statements, again), module, ())


def _places(source: Source, lines: Sequence[int]) -> list[int]:
    """Where each of `lines` begins in the text."""
    starts = [0, *accumulate([len(line) + 1 for line in source.lines])]
    return [starts[line - 1] for line in lines]


def _parsed(text: str) -> ast.Module | None:
    try:
        return parse(text)
    except REFUSED:
        return None


def _whole(path: str, source: Source) -> Unit:
    """The unit with every function read at once."""
    replaced: dict[int, str] = {}
    broken = [(line, line) for line in sorted(source.damaged)]
    try:
        module = parse("\n".join(source.lines))
    except REFUSED:
        # Here, so that tree-sitter is not loaded for files that are well.
        from checks.lang.python.recover import recover

        found = recover(source)
        module, replaced = found.module, found.broken
        broken = sorted({*found.ranges, *broken})
    return _unit(
        Definitions(path, Statements(source, replaced), None, tuple(broken)), module, tuple(broken)
    )


def _unit(definitions: Definitions, module: ast.Module, broken: Ranges) -> Unit:
    definitions.collect(module)
    source = definitions.statements.source
    return Unit(
        path=definitions.path,
        language="python",
        lines=source.lines,
        functions=tuple(definitions.functions),
        classes=tuple(definitions.classes),
        constants=tuple(definitions.constants),
        imports=tuple(definitions.imports),
        skipped=broken,
        top=definitions.statements.block(module.body),
        find_comments=partial(comments, source.lines),
    )
