"""C++ and CUDA source to a `Unit`: mask, parse, walk the top level; bodies are lowered when they are asked for."""

from __future__ import annotations

from checks.cpp import scan
from checks.cpp.context import Context
from checks.cpp.definitions import collect
from checks.cpp.functions import broken_ranges
from checks.cpp.mask import mask
from checks.cpp.preprocessor import inner_defines
from checks.cpp.registration import bindings, ops
from checks.cpp.snippets import tree
from checks.ir.unit import Unit


def parse_cpp(path: str, data: bytes) -> Unit:
    """The unit of one file. Never raises: what did not parse is in `Unit.broken` and `Function.broken`.

    Both arms of every `#if` are taken. Lines are git's: only `\\n` ends one, a `\\r` before it stays in the text.
    """
    masked = mask(data)
    root = tree(masked.code).root_node
    ctx = Context(data, masked.code, blocks=masked.blocks)
    quiet = masked.scan.quiet
    found = collect(ctx, root, path)
    seen = {c.line for c in found.constants if c.kind == "define"}
    constants = [*found.constants, *inner_defines(ctx, root, quiet, path, seen)]
    return Unit(
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
        comments=scan.comments(data, masked.scan.comments),
        broken=broken_ranges(ctx, root),
    )


def _lines(data: bytes) -> tuple[str, ...]:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    return tuple(lines)
