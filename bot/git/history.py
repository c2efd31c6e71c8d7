"""What git knows of a change's past: who wrote the lines that it replaces, and which pull requests it names."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence

from bot.git.command import Git
from bot.git.revisions import Range
from checks.analysis.model import Commit, Earlier, History, Reference
from checks.change import ChangeSet, FileChange, PullRequest
from checks.finding import Side
from checks.source import language

_NUMBER = re.compile(r"(?<![\w/&])(?:#|pull/|PR[- ]?#?)(\d{1,6})\b")
_OWN = re.compile(r"\(#(\d+)\)\s*$")
_BLAMED = re.compile(r"\^?([0-9a-f]{39,64})\s.*?(\d+)\)")
_PICKED = re.compile(r"cherry[- ]?pick", re.I)
# `Fixed the hang` is a fix, `a fixed stride` is none.
_FIX = re.compile(r"\b(?:bug|fix|fixes|hotfix|bugfix|revert)\b|^(?:\s*\[[^\]]*\])*\s*fixed\b|\[bug ?fix\]|修复", re.I)
_TRIVIAL = re.compile(r"typo|code ?style|comment|spelling|lint", re.I)
_AROUND = re.compile(r"^(?:\s*\[[^\]]*\])+|\(#\d+\)")
_MOST_FILES = 8
_MOST_EARLIER = 8
_MOST_REFERENCES = 10
_LOG = 300
# One walk for all files. A merge is named where it made a file unlike that of each parent.
_BY_FILE = ("--no-renames", "--name-only", "-c", "--format=%x00%H %s")


def history(git: Git, compared: Range, change: ChangeSet) -> History:
    """The past of `change`; what a tree without a commit or a shallow clone cannot tell is left empty."""
    message = _text(git.attempt("log", "-1", "--format=%B", compared.head))
    said = _text(git.attempt("log", "--format=%B", f"{compared.base}..{compared.head}")) or message
    files = _telling(change)
    paths = [f.base_path or "" for f in files]
    log = git.start("log", *_BY_FILE, compared.base, "--", *paths) if paths else None
    blames = {f: git.start("blame", "-l", "-s", *_ranges(f), compared.base, "--", f.base_path or "") for f in files}
    listed = _by_path(_out(log)) if log is not None else {}
    commits = {f: listed.get(f.base_path or "", {}) for f in files}
    written = {f: _out(p) for f, p in blames.items()}
    subject = message.split("\n", 1)[0]
    return History(
        subject=subject,
        message=message.strip(),
        references=_references(git, compared, change.pull, said, subject),
        earlier=_earlier(change, written, commits),
        fixes_of=tuple(
            (f.path, count) for f in files if (count := sum(_is_fix(c.subject) for c in commits[f].values()))
        ),
    )


def _text(out: bytes | None) -> str:
    return (out or b"").decode("utf-8", "replace")


def _out(process: subprocess.Popen[bytes]) -> str:
    out, _ = process.communicate()
    return _text(out)


def _telling(change: ChangeSet) -> list[FileChange]:
    """The changed source files that lost most lines: whose past says most."""
    files = [f for f in change.files if f.base_path and f.removed and f.mode == "file" and language(f.base_path)]
    return sorted(files, key=lambda f: (-f.removed, f.path))[:_MOST_FILES]


def _ranges(file: FileChange) -> Iterable[str]:
    for hunk in file.hunks:
        if hunk.base_len:
            yield from ("-L", f"{hunk.base_start},{hunk.base_start + hunk.base_len - 1}")


def _commits(log: str) -> dict[str, Commit]:
    """Commits by id, the newest first."""
    found = {}
    for line in log.splitlines():
        name, _, subject = line.partition(" ")
        found[name] = _commit(name, subject)
    return found


def _by_path(log: str) -> dict[str, dict[str, Commit]]:
    """The commits that touched each path, the newest first."""
    found: dict[str, dict[str, Commit]] = {}
    for record in log.split("\0")[1:]:
        told, *paths = record.splitlines()
        name, _, subject = told.partition(" ")
        for path in filter(None, paths):
            touched = found.setdefault(path, {})
            if len(touched) < _LOG:
                touched[name] = _commit(name, subject)
    return found


def _commit(name: str, subject: str) -> Commit:
    own = _OWN.search(subject)
    return Commit(name, subject, int(own[1]) if own else 0)


def _is_fix(subject: str) -> bool:
    return _FIX.search(subject) is not None and not _TRIVIAL.search(subject)


def _earlier(
    change: ChangeSet, written: dict[FileChange, str], commits: dict[FileChange, dict[str, Commit]]
) -> tuple[Earlier, ...]:
    """The commits that wrote most of the lines that went away, with the fixes to the same files since."""
    lines: Counter[str] = Counter()
    symbols: dict[str, dict[str, None]] = {}
    fixes: dict[str, dict[str, Commit]] = {}
    known: dict[str, Commit] = {}
    for file, blame in written.items():
        unit = change.unit(file.base_path or "", Side.BASE)
        order = list(commits[file])
        known |= commits[file]
        for line in blame.splitlines():
            found = _BLAMED.match(line)
            name = next((c for c in order if c.startswith(found[1])), "") if found else ""
            if not found or not name:
                continue
            lines[name] += 1
            function = unit.function_at(int(found[2])) if unit else None
            if function:
                symbols.setdefault(name, {})[function.qualname] = None
            since = order[: order.index(name)]
            fixes.setdefault(name, {}).update({c: commits[file][c] for c in since if _is_fix(commits[file][c].subject)})
    most = sorted(lines, key=lambda c: (-lines[c], c))[:_MOST_EARLIER]
    return tuple(
        Earlier(known[c], tuple(symbols.get(c, {})), lines[c], tuple(list(fixes.get(c, {}).values())[:4])) for c in most
    )


def _references(git: Git, compared: Range, pull: PullRequest, said: str, subject: str) -> tuple[Reference, ...]:
    """Pull requests and issues that the title, the body and the commits name, and commits with the same patch."""
    text = "\n".join((pull.title, pull.body, said))
    own = _OWN.search(pull.title or subject)
    numbers = dict.fromkeys(int(n) for n in _NUMBER.findall(text))
    if own and not _PICKED.search(pull.title):
        numbers.pop(int(own[1]), None)
    wanted = list(numbers)[:_MOST_REFERENCES]
    known = _by_number(git, compared, wanted)
    picked = set(_picked(text))
    found = [Reference(n, "cherry-pick" if n in picked else "mentioned", known.get(n)) for n in wanted]
    return (*found, *_same_patch(git, compared, pull.title or subject, {c.id for c in known.values()}))


def _picked(text: str) -> Iterable[int]:
    """Numbers on lines that speak of a cherry-pick."""
    for line in text.splitlines():
        if _PICKED.search(line):
            yield from (int(n) for n in _NUMBER.findall(line))


def _by_number(git: Git, compared: Range, numbers: Sequence[int]) -> dict[int, Commit]:
    """The commit of each pull request, told from the `(#123)` at the end of its subject."""
    if not numbers:
        return {}
    pattern = rf"\(#({'|'.join(map(str, numbers))})\)"
    log = _text(git.attempt("log", "-50", "-E", f"--grep={pattern}", "--format=%H %s", compared.base))
    found: dict[int, Commit] = {}
    for commit in _commits(log).values():
        for number in _NUMBER.findall(commit.subject):
            if int(number) in numbers and (commit.pull == int(number) or int(number) not in found):
                found[int(number)] = commit
    return found


def _same_patch(git: Git, compared: Range, title: str, known: set[str]) -> Iterable[Reference]:
    """Commits of any branch under the same title, whose patch is the very same."""
    core = _core(title)
    words = sorted(re.findall(r"\w{4,}", core), key=lambda w: (-len(w), w))[:2]
    if not words:
        return
    greps = [f"--grep={re.escape(w)}" for w in words]
    log = _text(git.attempt("log", "--all", "-40", "--all-match", "-i", *greps, "--format=%H %s"))
    own = _patch_id(git, compared.base, compared.head)
    for commit in _commits(log).values():
        if commit.id == compared.head or _core(commit.subject) != core:
            continue
        same = own and _patch_id(git, f"{commit.id}^", commit.id) == own
        if same and commit.id not in known:
            yield Reference(commit.pull, "same-patch", commit)


def _core(title: str) -> str:
    """A title without tags and numbers: `[Cherry-Pick][XPU] Fix it (#1) (#2)` is `fix it`."""
    return " ".join(_AROUND.sub(" ", title).lower().split())


def _patch_id(git: Git, base: str, head: str) -> str:
    diff = git.attempt("diff-tree", "-p", base, head)
    return _text(git.run("patch-id", "--stable", data=diff)).split(" ")[0] if diff else ""
