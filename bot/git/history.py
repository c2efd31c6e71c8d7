"""What git knows of a change's past: who wrote the lines that it replaces, and which pull requests
it names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from bot.git.history_prefetch import HistoryQueries
from bot.git.references import commit, parse_log, references
from checks.core.change import ChangeSet, FileChange
from checks.core.finding import Side
from checks.core.titles import is_fix
from checks.summary.model import BlamedCommit, ChangeHistory, Commit

_BLAMED = re.compile(r"\^?([0-9a-f]{39,64})\s.*?(\d+)\)")
_MOST_EARLIER = 8
_MOST_FIXES = 4
_LOG = 300


def history(queries: HistoryQueries, change: ChangeSet) -> ChangeHistory:
    """The past of `change`; what a tree without a commit or a shallow clone cannot tell is left
    empty."""
    message = queries.head_message.text()
    subject = message.split("\n", 1)[0]
    messages = queries.messages.text() or message
    commits = _commits_by_file(queries)
    blames: dict[FileChange, str] = {}
    for file, blame in zip(queries.files, queries.blames, strict=True):
        blames[file] = blame.text()
    return ChangeHistory(
        subject=subject,
        message=message.strip(),
        references=references(
            queries.git,
            queries.compared,
            change.pull,
            messages,
            subject,
            parse_log(queries.commits.text()),
        ),
        earlier=_blamed_commits(change, blames, commits),
        unread=tuple(file.path for file in queries.files if not blames[file]),
        fixes_of=tuple(_fix_counts(queries.files, commits)),
    )


def _commits_by_file(queries: HistoryQueries) -> dict[FileChange, dict[str, Commit]]:
    """The commits that touched each file, by id, the newest first."""
    by_path = _by_path(queries.touched.text()) if queries.touched is not None else {}
    return {file: by_path.get(file.base_path or "", {}) for file in queries.files}


def _by_path(log: str) -> dict[str, dict[str, Commit]]:
    """The commits that touched each path, the newest first."""
    by_path: dict[str, dict[str, Commit]] = {}
    for record in log.split("\0")[1:]:
        header, *paths = record.split("\n")
        name, _, subject = header.partition(" ")
        for path in paths:
            if not path:
                continue
            commits = by_path.setdefault(path, {})
            if len(commits) < _LOG:
                commits[name] = commit(name, subject)
    return by_path


def _fix_counts(
    files: Iterable[FileChange], commits: Mapping[FileChange, Mapping[str, Commit]]
) -> Iterator[tuple[str, int]]:
    """How many fixes each file has seen, of those that have seen any."""
    for file in files:
        count = sum(is_fix(touching.subject) for touching in commits[file].values())
        if count:
            yield file.path, count


def _blamed_commits(
    change: ChangeSet, blames: dict[FileChange, str], commits: dict[FileChange, dict[str, Commit]]
) -> tuple[BlamedCommit, ...]:
    """The commits that wrote most of the lines that went away, with the fixes to the same files
    since."""
    line_counts: Counter[str] = Counter()
    # Dictionaries stand for ordered sets.
    symbols: defaultdict[str, dict[str, None]] = defaultdict(dict)
    fixes: defaultdict[str, dict[str, Commit]] = defaultdict(dict)
    known: dict[str, Commit] = {}
    for file, blame in blames.items():
        known |= commits[file]
        unit = change.unit(file.base_path or "", Side.BASE)
        for name, numbers in _lines_by_commit(blame, commits[file]).items():
            line_counts[name] += len(numbers)
            fixes[name].update(_fixes_since(name, commits[file]))
            for number in numbers:
                function = unit.function_at(number) if unit else None
                if function:
                    symbols[name][function.qualname] = None
    most = sorted(line_counts, key=lambda name: (-line_counts[name], name))
    earlier = []
    for name in most[:_MOST_EARLIER]:
        fixes_since = tuple(fixes[name].values())[:_MOST_FIXES]
        earlier.append(
            BlamedCommit(known[name], tuple(symbols[name]), line_counts[name], fixes_since)
        )
    return tuple(earlier)


def _lines_by_commit(blame: str, commits: Iterable[str]) -> dict[str, list[int]]:
    """The blamed lines that each of `commits` wrote; what others wrote is left out."""
    # Git shortens the id of a commit at the border of a shallow clone by one character.
    by_short_id: dict[str, list[int]] = {}
    for line in blame.split("\n"):
        match = _BLAMED.match(line)
        if match:
            by_short_id.setdefault(match[1], []).append(int(match[2]))
    lines = {}
    for short_id, numbers in by_short_id.items():
        for name in commits:
            if name.startswith(short_id):
                lines[name] = numbers
    return lines


def _fixes_since(name: str, commits: Mapping[str, Commit]) -> dict[str, Commit]:
    """Those of a file's commits that came after one of them and fixed something."""
    fixes = {}
    for later in commits.values():
        if later.id == name:
            break
        if is_fix(later.subject):
            fixes[later.id] = later
    return fixes
