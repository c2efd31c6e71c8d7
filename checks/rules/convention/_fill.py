"""Lines for the sections that an author left empty, from what the change does.

Facts only: what is not known is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from checks.core.finding import Message
from checks.domain.paste import PENDING, PasteLine
from checks.rules.convention._draft import Draft
from checks.rules.convention._fill_files import MOST_NAMES, describe_files, short_name

MOST_IN_SENTENCE = 4
_SCRIPT = re.compile(r"(test_.*|.*_test)\.py")

# What a section is about, by the words of its name; the first pattern that matches decides.
_SUBJECTS: tuple[tuple[str, str], ...] = (
    ("accuracy", r"accura|precision|精度"),
    ("tests", r"\btests?\b|测试|单测"),
    ("usage", r"usage|command|how to|用法|使用|命令"),
    ("motivation", r"motivation|why|purpose|background|summary|description|目的|背景|动机|描述"),
    ("modifications", r"modif|changes?\b|what|detail|改动|修改|变更|内容"),
)


def fill_section(name: str, draft: Draft) -> Iterator[str | PasteLine]:
    """What the facts can say under the section called `name`."""
    match _subject(name):
        case "motivation":
            yield from _motivation(draft)
        case "modifications":
            yield from describe_files(draft)
        case "usage" | "tests":
            yield _test_command(draft)
        case "accuracy":
            yield _accuracy(draft)
        case _:
            yield PasteLine(Message("paste-unknown"), PENDING)


def _subject(section: str) -> str:
    """What a section is about; empty for one that the facts cannot fill."""
    for subject, pattern in _SUBJECTS:
        if re.search(pattern, section, re.I):
            return subject
    return ""


def _motivation(draft: Draft) -> Iterator[str | PasteLine]:
    if draft.title.words:
        yield f"{draft.title.words}\n"
    folders = [f"{area.folder}/" for area in draft.facts.areas if area.folder != "."]
    if folders:
        args = {"folders": folders[:MOST_NAMES], "more": len(folders) - MOST_NAMES}
        yield PasteLine(Message("paste-range", args))


def _test_command(draft: Draft) -> str | PasteLine:
    """How to run the tests that the change touches: the only command that it proves to exist."""
    scripts = [f.path for f in draft.tests if _SCRIPT.fullmatch(PurePosixPath(f.path).name)]
    # End-to-end tests need a model and a machine; they are named only where there is nothing else.
    unit_tests = [path for path in scripts if not draft.config.is_e2e(path)]
    paths = sorted(unit_tests or scripts)[:MOST_NAMES]
    if paths:
        return f"```bash\npython -m pytest {' '.join(paths)}\n```"
    if draft.sources:
        return PasteLine(Message("paste-no-command"))
    return PasteLine(Message("paste-no-usage"))


def _accuracy(draft: Draft) -> PasteLine:
    if not draft.sources:
        return PasteLine(Message("paste-accuracy-untouched"))
    functions = [f for f in draft.facts.functions if f.what != "removed" and not f.name.isupper()]
    names = [short_name(function.name) for function in functions]
    more = max(len(names) - MOST_IN_SENTENCE, 0)
    args = {"names": names[:MOST_IN_SENTENCE], "more": more}
    return PasteLine(Message("paste-accuracy-open", args), PENDING)
