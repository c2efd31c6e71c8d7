"""What git knows of a change's past: who wrote the lines that it replaces, and which pull requests it names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import takewhile

from bot.git.history_prefetch import HistoryQueries
from bot.git.references import commit, parse_log, references
from checks.core.change import ChangeSet, FileChange
from checks.core.finding import Side
from checks.summary.model import Commit, Earlier, History

_BLAMED = re.compile(r"\^?([0-9a-f]{39,64})\s.*?(\d+)\)")
# `Fixed the hang` is a fix, `a fixed stride` is none.
_FIX = re.compile(
    r"\b(?:bug|fix|fixes|hotfix|bugfix|revert)\b|^(?:\s*\[[^\]]*\])*\s*fixed\b|\[bug ?fix\]|修复",
    re.I,
)
_TRIVIAL = re.compile(r"typo|code ?style|comment|spelling|lint", re.I)
_MOST_EARLIER = 8
_LOG = 300


def history(past: HistoryQueries, change: ChangeSet) -> History:
    """The past of `change`; what a tree without a commit or a shallow clone cannot tell is left empty."""
    message = past.head.text()
    touched = _by_path(past.touched.text()) if past.touched is not None else {}
    commits = {f: touched.get(f.base_path or "", {}) for f in past.files}
    blamed = {f: answer.text() for f, answer in zip(past.files, past.blames, strict=True)}
    subject, said = message.split("\n", 1)[0], past.said.text() or message
    all_commits = parse_log(past.commits.text())
    return History(
        subject=subject,
        message=message.strip(),
        references=references(past.git, past.compared, change.pull, said, subject, all_commits),
        earlier=_earlier(change, blamed, commits),
        unread=tuple(f.path for f in past.files if not blamed[f]),
        fixes_of=tuple(
            (f.path, count)
            for f in past.files
            if (count := sum(_is_fix(c.subject) for c in commits[f].values()))
        ),
    )


def _by_path(log: str) -> dict[str, dict[str, Commit]]:
    """The commits that touched each path, the newest first."""
    found: dict[str, dict[str, Commit]] = {}
    for record in log.split("\0")[1:]:
        told, *paths = record.split("\n")
        name, _, subject = told.partition(" ")
        for path in filter(None, paths):
            touched = found.setdefault(path, {})
            if len(touched) < _LOG:
                touched[name] = commit(name, subject)
    return found


def _is_fix(subject: str) -> bool:
    return _FIX.search(subject) is not None and not _TRIVIAL.search(subject)


def _earlier(
    change: ChangeSet, blamed: dict[FileChange, str], commits: dict[FileChange, dict[str, Commit]]
) -> tuple[Earlier, ...]:
    """The commits that wrote most of the lines that went away, with the fixes to the same files since."""
    lines: Counter[str] = Counter()
    symbols: dict[str, dict[str, None]] = {}
    fixes: dict[str, dict[str, Commit]] = {}
    known: dict[str, Commit] = {}
    for file, blame in blamed.items():
        known |= commits[file]
        unit = change.unit(file.base_path or "", Side.BASE)
        for name, numbers in _by_commit(blame, commits[file]).items():
            lines[name] += len(numbers)
            functions = [unit.function_at(n) for n in numbers] if unit else []
            symbols.setdefault(name, {}).update({f.qualname: None for f in functions if f})
            fixes.setdefault(name, {}).update(_fixes_since(name, commits[file]))
    most = sorted(lines, key=lambda c: (-lines[c], c))[:_MOST_EARLIER]
    return tuple(
        Earlier(
            known[c],
            tuple(symbols.get(c, {})),
            lines[c],
            tuple(list(fixes.get(c, {}).values())[:4]),
        )
        for c in most
    )


def _by_commit(blame: str, commits: Iterable[str]) -> dict[str, list[int]]:
    """The blamed lines that each of `commits` wrote; what others wrote is left out."""
    written: dict[str, list[int]] = {}
    for line in blame.split("\n"):
        if found := _BLAMED.match(line):
            written.setdefault(found[1], []).append(int(found[2]))
    return {c: written[short] for short in written for c in commits if c.startswith(short)}


def _fixes_since(name: str, commits: Mapping[str, Commit]) -> dict[str, Commit]:
    """Those of a file's commits that came after one of them and mended something."""
    since = takewhile(lambda c: c.id != name, commits.values())
    return {c.id: c for c in since if _is_fix(c.subject)}
