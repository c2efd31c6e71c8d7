"""C++ and CUDA source to a `Unit`: mask, parse, walk the top level; bodies are lowered when they are asked for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from checks.lang.cpp import scan
from checks.lang.cpp.conditionals import resolve
from checks.lang.cpp.context import Context
from checks.lang.cpp.definitions import collect
from checks.lang.cpp.functions import broken_ranges
from checks.lang.cpp.mask import mask
from checks.lang.cpp.preprocessor import inner_defines
from checks.lang.cpp.registration import bindings, ops
from checks.lang.cpp.snippets import tree
from checks.lang.ir.source_file import SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node

Lines = tuple[tuple[int, int], ...]


def parse_cpp(path: str, data: bytes) -> SourceFile:
    """The unit of one file. Never raises: what did not parse is in `Unit.broken` and `Function.broken`.

    Both arms of every `#if` are taken. Lines are git's: only `\\n` ends one, a `\\r` before it stays in the text.
    """
    masked = mask(data)
    quiet = masked.scan.quiet
    root, code, dropped = _read(masked.code, quiet)
    ctx = Context(data, code, blocks=masked.blocks, dropped=dropped)
    found = collect(ctx, root, path)
    seen = {c.line for c in found.constants if c.kind == "define"}
    constants = [*found.constants, *inner_defines(ctx, root, quiet, path, seen)]
    return SourceFile(
        path=path,
        language="cpp",
        lines=_lines(data),
        functions=tuple(found.functions),
        classes=tuple(found.classes),
        structs=tuple(found.structs),
        constants=tuple(sorted(constants, key=lambda c: c.line)),
        ops=ops(ctx, root, quiet, path),
        bindings=bindings(ctx, root, quiet, path),
        declarations=tuple(found.declarations),
        imports=tuple(found.imports),
        unparsed=broken_ranges(ctx, root),
        find_comments=partial(scan.comments, data, masked.scan.comments),
    )


def _read(code: bytes, quiet: bytes) -> tuple[Node, bytes, Lines]:
    """The tree; of a file with errors the better one of two: as it is, and with `#if`s resolved."""
    root = tree(code).root_node
    if not root.has_error or b"#" not in quiet:
        return root, code, ()
    plain, gone = resolve(code, quiet)
    if plain == code:
        return root, code, ()
    other = tree(plain).root_node
    lines = tuple(
        (code.count(b"\n", 0, start) + 2, code.count(b"\n", 0, end)) for start, end in gone
    )
    before = broken_ranges(Context(code, code), root)
    after = broken_ranges(Context(plain, plain, dropped=lines), other)
    if _size(after) < _size(before):
        return other, plain, lines
    return root, code, ()


def _size(ranges: Lines) -> int:
    return sum(end - start + 1 for start, end in ranges)


def _lines(data: bytes) -> tuple[str, ...]:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    return tuple(lines)
