"""The summary of a change: what it does, how far it reaches, and which parts it touches.

It says computed facts only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.i18n.catalog import Catalog
from bot.i18n.templates import Escaped
from bot.reports.blocks import Block, Items, Text
from bot.reports.report import Report
from checks.core.finding import Message
from checks.domain.change_facts import Area, Facts, FileFact, FunctionFact

# Lists longer than this end in "and n more": a summary is read at a glance.
_MOST_FILES = 12
_MOST_NAMES = 6
_MOST_AREAS = 10
_KINDS = ("source", "test", "e2e", "docs", "ci", "build", "other")


def summary_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """The overview: one sentence of what is different now, and one line of how far it reaches."""
    facts = report.facts
    if not facts.files:
        change = report.review.change
        base, head = change.base_rev[:12], change.head_rev[:12]
        yield Text(words("report.empty", base=base, head=head))
        return
    sentence = overview(report, words)
    if sentence:
        yield Text(sentence)
    for message in report.agreements:
        yield Text(words(f"report.{message.key}", **message.args))
    yield Text(_reach(report, words))


def overview(report: Report, words: Catalog) -> str:
    """What the change makes different, in one sentence; empty where nothing can be said of it."""
    return join_sentences(report.headline, words) if report.headline else ""


def join_sentences(messages: Sequence[Message], words: Catalog) -> str:
    """The sentences of `templates/words/analysis.toml` as one."""
    parts: list[str] = []
    for message in messages:
        part = words(f"analysis.{message.key}", **message.args)
        if parts and part.startswith("The "):
            part = "the " + part.removeprefix("The ")
        parts.append(part)
    return words("report.overview", said=Escaped(words("report.semicolon").join(parts)))


def change_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """What changed, file by file."""
    facts = report.facts
    if not facts.files:
        return
    changes = {}
    for file in facts.files:
        line = _file_line(facts, file, words)
        if line:
            changes[file.path] = line
    yield Items((words("report.range") + _areas(facts.areas, words),))
    if changes:
        yield Items(tuple(_largest(changes, facts, words)))


def _reach(report: Report, words: Catalog) -> str:
    """The commits, the size, and which parts are touched."""
    facts, change = report.facts, report.review.change
    counts = []
    for kind in _KINDS:
        files = facts.of_kind(kind)
        if files:
            counts.append(words(f"report.kind-{kind}", count=len(files)))
    size = words("report.size", files=len(facts.files), added=facts.added, removed=facts.removed)
    parts = [
        words("report.compared", base=change.base_rev[:12], head=change.head_rev[:12]),
        size + words("report.kinds", kinds=counts),
    ]
    tags = tag_names(facts, words)
    if tags:
        parts.append(words("report.tags", tags=tags))
    return words("report.dot").join(parts)


def tag_names(facts: Facts, words: Catalog) -> list[str]:
    """The impact tags, as the engines write them."""
    topics = [words(f"topics.{topic}") for topic in facts.topics]
    hardware = [name.upper() for name in facts.hardware]
    return topics + hardware


def _areas(areas: tuple[Area, ...], words: Catalog) -> str:
    names = [_area(area, words) for area in areas[:_MOST_AREAS]]
    if len(areas) > _MOST_AREAS:
        names.append(words("report.more", count=len(areas) - _MOST_AREAS))
    return words("report.comma").join(names)


def _area(area: Area, words: Catalog) -> str:
    if len(area.files) == 1:
        path = area.files[0] if area.folder == "." else f"{area.folder}/{area.files[0]}"
        return words("report.area-one", path=path)
    folder = "/" if area.folder == "." else f"{area.folder}/"
    key = "report.area-many" if len(area.files) <= _MOST_NAMES else "report.area-count"
    return words(key, folder=folder, names=area.files, count=len(area.files))


def _largest(changes: dict[str, str], facts: Facts, words: Catalog) -> Iterator[str]:
    """The lines of the files that changed most, by path, and a count of the rest."""
    sizes = {file.path: file.added + file.removed for file in facts.files}
    by_size = sorted(changes, key=lambda path: (-sizes[path], path))
    largest = by_size[:_MOST_FILES]
    for path, line in changes.items():
        if path in largest:
            yield line
    if len(changes) > len(largest):
        yield words("report.more", count=len(changes) - len(largest))


def _file_line(facts: Facts, file: FileFact, words: Catalog) -> str:
    """A file with the functions, ops and constants that changed in it; empty for tests."""
    if file.kind in ("test", "e2e"):
        return ""
    parts = [
        *_file_parts(file, words),
        *_op_parts(facts, file, words),
        *_function_parts(facts, file, words),
        *_constant_parts(facts, file, words),
    ]
    head = words("report.file", path=file.path, added=file.added, removed=file.removed)
    if not parts:
        return head
    return head + words("report.colon") + words("report.semicolon").join(parts)


def _file_parts(file: FileFact, words: Catalog) -> Iterator[str]:
    if file.status == "R":
        yield words("report.renamed", old=file.old_path)
    elif file.status == "A":
        yield words("report.file-added")
    elif file.status == "D":
        yield words("report.file-removed")
    if file.binary:
        yield words("report.binary")


def _op_parts(facts: Facts, file: FileFact, words: Catalog) -> Iterator[str]:
    for op in facts.ops:
        if op.path == file.path:
            yield words(f"report.op-{op.what}", name=op.name, gained=op.gained, lost=op.lost)


def _function_parts(facts: Facts, file: FileFact, words: Catalog) -> Iterator[str]:
    functions = facts.functions_of(file.path)
    for function in functions:
        if function.what == "signature":
            yield words(
                "report.function-signature",
                name=function.name,
                gained=function.added_params,
                lost=function.removed_params,
            )
    for function in functions:
        if function.what == "renamed":
            yield words("report.function-renamed", old=function.old_name, name=function.name)
    for what in ("added", "removed", "body"):
        same = [function for function in functions if function.what == what]
        # All functions of a new or removed file are too many to list.
        says_nothing = file.status in "AD" and what != "body" and len(same) > _MOST_NAMES
        if same and not says_nothing:
            yield _function_names(what, same, words)


def _function_names(what: str, functions: list[FunctionFact], words: Catalog) -> str:
    names = list(dict.fromkeys(function.name for function in functions))
    text = words(f"report.function-{what}", names=names[:_MOST_NAMES])
    rest = len(names) - _MOST_NAMES
    if rest > 0:
        text += words("report.and-more", count=rest)
    return text


def _constant_parts(facts: Facts, file: FileFact, words: Catalog) -> Iterator[str]:
    if file.status in "AD":
        return
    for constant in facts.constants:
        if constant.path != file.path:
            continue
        if constant.old and constant.old == constant.new:
            # A table over several lines, of which the first stayed.
            key = "report.constant-inside"
        elif constant.old and constant.new:
            key = "report.constant-changed"
        elif constant.new:
            key = "report.constant-added"
        else:
            key = "report.constant-removed"
        yield words(key, name=constant.name, old=constant.old, new=constant.new)
