"""The C++ and CUDA front end: from a file's bytes to a `SourceFile`.

What the grammar cannot read is masked, the rest is parsed, the top level is walked, and bodies are
lowered when they are asked for.
"""

from __future__ import annotations

from functools import partial

from tree_sitter import Node

from checks.lang.cpp import scan
from checks.lang.cpp.conditionals import resolve
from checks.lang.cpp.context import Context
from checks.lang.cpp.definitions import collect
from checks.lang.cpp.functions import broken_ranges
from checks.lang.cpp.grammar import syntax_tree
from checks.lang.cpp.mask import mask
from checks.lang.cpp.preprocessor import inner_defines
from checks.lang.cpp.registration import bindings, ops
from checks.lang.ir.source_file import Ranges, SourceFile


def parse_cpp(path: str, data: bytes) -> SourceFile:
    """The parsed file.

    Never raises: what did not parse is in `SourceFile.broken`.

    Both arms of every `#if` are taken. Lines are git's: only `\\n` ends one, a `\\r` before it
    stays in the text.
    """
    masked = mask(data)
    quiet = masked.scan.quiet
    root, code, dropped = _parse(masked.code, quiet)
    ctx = Context(data, code, blocks=masked.blocks, dropped=dropped)
    found = collect(ctx, root, path)
    seen = {constant.line for constant in found.constants if constant.kind == "define"}
    constants = [*found.constants, *inner_defines(ctx, root, quiet, path, seen)]
    return SourceFile(
        path=path,
        language="cpp",
        lines=_lines(data),
        functions=tuple(found.functions),
        classes=tuple(found.classes),
        structs=tuple(found.structs),
        constants=tuple(sorted(constants, key=lambda constant: constant.line)),
        ops=ops(ctx, root, quiet, path),
        bindings=bindings(ctx, root, quiet, path),
        declarations=tuple(found.declarations),
        imports=tuple(found.imports),
        unparsed=broken_ranges(ctx, root),
        find_comments=partial(scan.comments, data, masked.scan.comments),
    )


def _parse(code: bytes, quiet: bytes) -> tuple[Node, bytes, Ranges]:
    """The tree, the text that it was made from, and the lines that were dropped for it.

    Of a file with errors it is the better one of two trees: as it is, and with `#if`s resolved.
    """
    root = syntax_tree(code)
    if not root.has_error:
        return root, code, ()
    resolved_code, dropped_spans = resolve(code, quiet)
    if resolved_code == code:
        return root, code, ()
    resolved = syntax_tree(resolved_code)
    dropped = tuple(_lines_inside(code, start, end) for start, end in dropped_spans)
    before = broken_ranges(Context(code, code), root)
    after = broken_ranges(Context(resolved_code, resolved_code, dropped=dropped), resolved)
    if _line_count(after) < _line_count(before):
        return resolved, resolved_code, dropped
    return root, code, ()


def _lines_inside(code: bytes, start: int, end: int) -> tuple[int, int]:
    """The lines of an arm, which starts at the end of one directive and ends before the next."""
    return code.count(b"\n", 0, start) + 2, code.count(b"\n", 0, end)


def _line_count(ranges: Ranges) -> int:
    return sum(end - start + 1 for start, end in ranges)


def _lines(data: bytes) -> tuple[str, ...]:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    return tuple(lines)
