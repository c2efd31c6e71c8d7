"""The Python front end: from a file's bytes to a `SourceFile`."""

from __future__ import annotations

import ast
from functools import partial

from checks.lang.ir.source_file import SourceFile
from checks.lang.python.comments import comments
from checks.lang.python.definitions import PythonDefinitions
from checks.lang.python.recover import recover
from checks.lang.python.statements import PythonStatements
from checks.lang.python.text import REFUSED, SourceText, parse, read


def parse_python(path: str, data: bytes) -> SourceFile:
    """The file with its definitions; the bodies of functions are lowered when first asked for.

    Never raises: what does not parse is listed in `SourceFile.broken`, its statements are `Opaque`,
    and the functions around it are not `clean`.
    """
    source = read(data)
    module, replaced, broken = _parse(source)
    definitions = PythonDefinitions(path, PythonStatements(source, replaced), broken)
    definitions.collect(module)
    return SourceFile(
        path=path,
        language="python",
        lines=source.lines,
        functions=tuple(definitions.functions),
        classes=tuple(definitions.classes),
        constants=tuple(definitions.constants),
        imports=tuple(definitions.imports),
        unparsed=broken,
        top=definitions.statements.lower_block(module.body),
        find_comments=partial(comments, source.lines),
    )


def _parse(source: SourceText) -> tuple[ast.Module, dict[int, str], tuple[tuple[int, int], ...]]:
    """The tree, the text of what had to be replaced to get it by its first line, and the lines that
    did not parse."""
    broken = {(line, line) for line in source.damaged}
    try:
        return parse("\n".join(source.lines)), {}, tuple(sorted(broken))
    except REFUSED:
        recovered = recover(source)
        broken.update(recovered.ranges)
        return recovered.module, recovered.broken, tuple(sorted(broken))
