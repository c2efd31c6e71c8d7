"""The Python front end: from a file's bytes to a parsed unit."""

from __future__ import annotations

from functools import partial

from checks.ir.unit import Unit
from checks.py.comments import comments
from checks.py.definitions import Definitions
from checks.py.lower import Statements
from checks.py.text import REFUSED, parse, read


def parse_python(path: str, data: bytes) -> Unit:
    """The unit of a Python file; bodies are lowered when they are first asked for.

    Never raises: what does not parse is listed in `Unit.broken`, its statements are `Opaque`, and
    the functions around it are not `clean`.
    """
    source = read(data)
    replaced: dict[int, str] = {}
    broken = [(line, line) for line in sorted(source.damaged)]
    try:
        module = parse("\n".join(source.lines))
    except REFUSED:
        # Here, so that tree-sitter is not loaded for files that are well.
        from checks.py.recover import recover

        found = recover(source)
        module, replaced = found.module, found.broken
        broken = sorted({*found.ranges, *broken})
    statements = Statements(source, replaced)
    definitions = Definitions(path, statements, tuple(broken))
    definitions.collect(module)
    return Unit(
        path=path,
        language="python",
        lines=source.lines,
        functions=tuple(definitions.functions),
        classes=tuple(definitions.classes),
        constants=tuple(definitions.constants),
        imports=tuple(definitions.imports),
        broken=tuple(broken),
        top=statements.block(module.body),
        find_comments=partial(comments, source.lines),
    )
