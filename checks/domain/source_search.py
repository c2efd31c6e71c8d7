"""What rules ask of source: changed functions, their text, and where a word stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.tree import WordMatch
from checks.core.words import word_regex
from checks.lang.ir.source_file import Function, Import, SourceFile
from checks.lang.source import language


def changed_python_functions(
    change: ChangeSet, config: Config
) -> Iterator[tuple[Function | None, Function, SourceFile]]:
    """(base, head, file of the head) of every changed Python function outside tests.

    The base is None where the function is new. Functions that the change deleted are left out.
    """
    for base, head in change.changed_functions():
        if head is None or not head.path.endswith(".py") or config.is_test(head.path):
            continue
        unit = change.unit(head.path)
        if unit is not None:
            yield base, head, unit


def changed_cpp_functions(change: ChangeSet, config: Config) -> Iterator[tuple[Function, Function]]:
    """(base, head) of every altered C++ function outside tests that the parser could read whole."""
    for base, head in change.changed_functions():
        if base is None or head is None:
            continue
        if language(head.path) == "cpp" and not config.is_test(head.path) and head.clean:
            yield base, head


def units_at(paths: Iterable[str], change: ChangeSet) -> Iterator[SourceFile]:
    """The files of the head at `paths`, parsed; what is no source that we read is left out."""
    for path in paths:
        unit = change.unit(path)
        if unit is not None:
            yield unit


def code_line(unit: SourceFile | None, line: int) -> str:
    """One line of code without its indentation; empty where there is no file."""
    return unit.excerpt(line) if unit is not None else ""


def whole_word(*words: str) -> re.Pattern[str]:
    """A pattern that finds one of `words` where no letter, digit or `_` stands beside it."""
    return re.compile("|".join(rf"{word_regex(word)}(?!\w)" for word in words))


def functions_matching(pattern: re.Pattern[str], unit: SourceFile) -> list[Function]:
    """The functions of `unit` in whose text `pattern` is found.

    This is the one place where text is looked at before code: the body of a function is parsed
    when it is first asked for, and that takes far longer than a search of its text.
    """
    return [f for f in unit.functions if pattern.search(unit.text_of(f))]


def product_lines(word: str, change: ChangeSet, config: Config) -> list[WordMatch]:
    """The lines of Python outside tests, in the head, in which `word` stands."""
    lines: list[WordMatch] = []
    for match in change.head.find(word, "python"):
        if match.path.endswith(".py") and not config.is_test(match.path):
            lines.append(match)
    return lines


def imports_from(path: str, unit: SourceFile) -> list[Import]:
    """The imports of `unit` that name the module of the file `path`, in full or by its end."""
    module = path.removesuffix(".py").replace("/", ".")
    return [i for i in unit.imports if i.module and module.endswith(i.module.lstrip("."))]
