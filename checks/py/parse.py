"""The Python front end: from a file's bytes to a parsed unit."""

from __future__ import annotations

from checks.ir.unit import Unit
from checks.py.comments import comments
from checks.py.definitions import Definitions
from checks.py.lower import Statements
from checks.py.text import read


def parse_python(path: str, data: bytes) -> Unit:
    """The unit of a Python file; bodies are lowered when they are first asked for.

    Never raises: what does not parse is listed in `Unit.broken`, its statements are `Opaque`, and
    the functions around it are not `clean`.
    """
    from checks.py.recover import REFUSED, Recovered, parse, recover

    source = read(data)
    try:
        found = Recovered(parse("\n".join(source.lines)))
    except REFUSED:
        found = recover(source)
    damaged = tuple((line, line) for line in sorted(source.damaged))
    broken = tuple(sorted({*found.ranges, *damaged}))
    statements = Statements(source, found.broken)
    definitions = Definitions(path, statements, broken)
    definitions.collect(found.module)
    return Unit(
        path=path,
        language="python",
        lines=source.lines,
        functions=tuple(definitions.functions),
        classes=tuple(definitions.classes),
        constants=tuple(definitions.constants),
        imports=tuple(definitions.imports),
        comments=comments(source.lines),
        broken=broken,
        top=statements.block(found.module.body),
    )
