"""The summary of a change: what it does, how far it reaches, and which parts it touches. Computed facts only."""

from __future__ import annotations

from collections.abc import Iterator

from bot.i18n.catalog import Catalog
from bot.reports.report import Report
from bot.reports.blocks import Block, Items, Text
from checks.domain.change_facts import Area, Facts, FileFact, FunctionFact

# Lists longer than this end in "and n more": a summary is read at a glance.
_MOST_FILES = 12
_MOST_NAMES = 6
_MOST_AREAS = 10
_KINDS = ("source", "test", "e2e", "docs", "ci", "build", "other")


def summary_blocks(report: Report, words: Catalog) -> Iterator[Block]:
    """The blocks of the summary section."""
    facts, pull = report.facts, report.review.change.pull
    if not facts.files:
        yield Text(words("report.empty"))
        return
    lines = [words("report.compared", base=_short(report, "base"), head=_short(report, "head"))]
    if pull.known and pull.title:
        lines.insert(0, words("report.title-line", title=pull.title))
    counts = [
        words(f"report.kind-{k}", count=len(facts.of_kind(k))) for k in _KINDS if facts.of_kind(k)
    ]
    lines.append(
        words("report.size", files=len(facts.files), added=facts.added, removed=facts.removed)
        + words("report.kinds", kinds=counts)
    )
    lines.append(words("report.range") + _areas(facts.areas, words))
    tags = tag_names(facts, words)
    if tags:
        lines.append(words("report.tags", tags=tags))
    yield Items(tuple(lines))
    changes = dict(_changes(facts, words))
    if changes:
        yield Text(words("report.what-changed"))
        yield Items(tuple(_largest(changes, facts, words)))


def tag_names(facts: Facts, words: Catalog) -> list[str]:
    """The impact tags, as the engines write them."""
    return [words(f"topics.{topic}") for topic in facts.topics] + [
        h.upper() for h in facts.hardware
    ]


def _short(report: Report, side: str) -> str:
    change = report.review.change
    return (change.base_rev if side == "base" else change.head_rev)[:12]


def _areas(areas: tuple[Area, ...], words: Catalog) -> str:
    shown = [_area(area, words) for area in areas]
    return words("report.comma").join(_cut(shown, _MOST_AREAS, words))


def _area(area: Area, words: Catalog) -> str:
    if len(area.files) == 1:
        path = area.files[0] if area.folder == "." else f"{area.folder}/{area.files[0]}"
        return words("report.area-one", path=path)
    folder = "/" if area.folder == "." else f"{area.folder}/"
    key = "report.area-many" if len(area.files) <= _MOST_NAMES else "report.area-count"
    return words(key, folder=folder, names=area.files, count=len(area.files))


def _cut(lines: list[str], most: int, words: Catalog) -> list[str]:
    """The first `most` lines, and one that counts the rest."""
    if len(lines) <= most:
        return lines
    return [*lines[:most], words("report.more", count=len(lines) - most)]


def _largest(changes: dict[str, str], facts: Facts, words: Catalog) -> Iterator[str]:
    """The lines of the files that changed most, in path order, and a count of the rest."""
    sizes = {f.path: f.added + f.removed for f in facts.files}
    kept = sorted(changes, key=lambda path: (-sizes[path], path))[:_MOST_FILES]
    yield from (line for path, line in changes.items() if path in kept)
    if len(changes) > len(kept):
        yield words("report.more", count=len(changes) - len(kept))


def _changes(facts: Facts, words: Catalog) -> Iterator[tuple[str, str]]:
    """A line for each file: which functions, ops and constants changed in it."""
    for file in facts.files:
        if file.kind in ("test", "e2e"):
            continue
        parts = [*_file_parts(file, words), *_parts(facts, file, words)]
        if parts:
            head = words("report.file", path=file.path, added=file.added, removed=file.removed)
            yield file.path, head + words("report.semicolon").join(parts)


def _file_parts(file: FileFact, words: Catalog) -> Iterator[str]:
    if file.status == "R":
        yield words("report.renamed", old=file.old_path)
    elif file.status in "AD":
        yield words("report.file-added" if file.status == "A" else "report.file-removed")
    if file.binary:
        yield words("report.binary")


def _parts(facts: Facts, file: FileFact, words: Catalog) -> Iterator[str]:
    for op in (o for o in facts.ops if o.path == file.path):
        yield words(f"report.op-{op.what}", name=op.name, gained=op.gained, lost=op.lost)
    functions = [f for f in facts.functions if f.path == file.path]
    for function in (f for f in functions if f.what == "signature"):
        yield words(
            "report.function-signature",
            name=function.name,
            gained=function.added_params,
            lost=function.removed_params,
        )
    for function in (f for f in functions if f.what == "renamed"):
        yield words("report.function-renamed", old=function.old_name, name=function.name)
    for what in ("added", "removed", "body"):
        names = [f for f in functions if f.what == what]
        if names and not (file.status in "AD" and what != "body" and len(names) > _MOST_NAMES):
            yield _named(what, names, words)
    for constant in (c for c in facts.constants if c.path == file.path and file.status not in "AD"):
        key = "changed" if constant.old and constant.new else "added" if constant.new else "removed"
        yield words(
            f"report.constant-{key}", name=constant.name, old=constant.old, new=constant.new
        )


def _named(what: str, functions: list[FunctionFact], words: Catalog) -> str:
    names = list(dict.fromkeys(f.name for f in functions))
    rest = len(names) - _MOST_NAMES
    shown = words(f"report.function-{what}", names=names[:_MOST_NAMES])
    return shown + words("report.and-more", count=rest) if rest > 0 else shown
