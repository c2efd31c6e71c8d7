"""Which files of a change alter code, and not comments or blank lines alone."""

from __future__ import annotations

from checks.core.change import ChangeSet, FileChange
from checks.core.config import Config, matches
from checks.core.finding import Side
from checks.lang.ir.source_file import SourceFile
from checks.lang.source import language

_COMMENT_MARKS = {"python": ("#",), "cpp": ("//", "/*", "*")}


def changed_sources(change: ChangeSet, config: Config) -> list[FileChange]:
    """Product code in which more than comments and blank lines changed."""
    sources = [file for file in change.files if is_source(file.path, config)]
    return [file for file in sources if _alters_code(change, file)]


def changed_tests(change: ChangeSet, config: Config) -> list[FileChange]:
    """Test code added or changed; a deleted test tests nothing."""
    tests = [f for f in change.files if config.is_test(f.path) and f.status != "D"]
    return [file for file in tests if _alters_code(change, file)]


def is_source(path: str, config: Config) -> bool:
    """Whether `path` is product code: a language that is read, under `paths.sources`, and no
    test."""
    if not language(path) or config.is_test(path):
        return False
    return matches(path, config.paths.sources)


def _alters_code(change: ChangeSet, file: FileChange) -> bool:
    """Whether a changed line is code, as far as the file was parsed. A rename alone is nothing."""
    if file.mode != "file" or (not file.hunks and not file.binary):
        return False
    if file.head_path is not None:
        head = change.unit(file.head_path, Side.HEAD)
        if _has_code(head, file.head_lines()):
            return True
    if file.base_path is not None:
        base = change.unit(file.base_path, Side.BASE)
        return _has_code(base, file.base_lines())
    return False


def _has_code(unit: SourceFile | None, lines: set[int]) -> bool:
    """Whether one of the lines is code; of a file that is not parsed every line counts."""
    if unit is None:
        return bool(lines)
    commented: set[int] = set()
    for comment in unit.comments:
        commented.update(range(comment.line, comment.end_line + 1))
    marks = _COMMENT_MARKS[unit.language]
    for line in lines:
        text = unit.excerpt(line)
        # `x = 1  # why` is code with a comment: a pure comment begins with its mark.
        if text and not (line in commented and text.startswith(marks)):
            return True
    return False
