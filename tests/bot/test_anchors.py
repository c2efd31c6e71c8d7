"""Comments stand only where GitHub's view of the diff (`git diff -U3`) has lines."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.git import BlobStore, Git, change_set, resolve
from bot.reports.diff_anchors import Anchor, Anchors
from checks.core.change import PullRequest
from checks.core.finding import Confidence, Edit, Finding, Location, Message, Severity, Side


@dataclass
class Shown:
    right: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)


def shown_by_git(repo) -> dict[str, list[Shown]]:
    """The hunks of every file in `git diff -U3`: the head lines and the removed base lines in
    each."""
    files: dict[str, list[Shown]] = {}
    hunks: list[Shown] = []
    old = new = 0
    patch = repo.git("diff", "-M", "--diff-algorithm=myers", "HEAD~1", "HEAD")
    for line in patch.split("\n"):
        header = re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)", line)
        if line.startswith("diff --git"):
            hunks = files.setdefault(line.rsplit(" b/", 1)[1], [])
        elif header:
            old, new = int(header[1]), int(header[2])
            hunks.append(Shown())
        elif hunks and line[:1] in ("+", " "):
            hunks[-1].right.append(new)
            new, old = new + 1, old + (line[0] == " ")
        elif hunks and line.startswith("-"):
            hunks[-1].left.append(old)
            old += 1
    return files


_LINES = st.lists(st.sampled_from("abcdefg"), max_size=40)
# An edit script keeps long stretches equal, so that contexts of hunks touch, overlap and just miss
# each other.
_EDITS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(0, 3)), max_size=4)


def edited(lines: list[str], edits: list[tuple[int, int, int]]) -> list[str]:
    made = list(lines)
    for at, drop, add in edits:
        made[at : at + drop] = [f"new{at}"] * add
    return made


def text(lines: list[str], newline: bool) -> str:
    return "\n".join(lines) + ("\n" if newline and lines else "")


def finding(place: Location) -> Finding:
    return Finding("r", Severity.BUG, Confidence.HIGH, place, Message("m"))


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(_LINES, _EDITS, st.booleans()), min_size=15, max_size=25))
def test_anchors_are_the_lines_of_the_diff(repo_at, cases):
    with tempfile.TemporaryDirectory() as folder:
        repo = repo_at(Path(folder) / "r")
        repo.commit({f"f{n}.py": text(lines, True) for n, (lines, _, _) in enumerate(cases)})
        repo.commit({f"f{n}.py": text(edited(b, e), end) for n, (b, e, end) in enumerate(cases)})
        git = Git(repo.path)
        with BlobStore(git) as blobs:
            change = change_set(
                git, blobs, resolve(git, "HEAD~1", "HEAD", merge_base=True), PullRequest()
            )
            anchors = Anchors(change)
            shown = shown_by_git(repo)
            for n in range(len(cases)):
                check(anchors, f"f{n}.py", shown.get(f"f{n}.py", []))


def check(anchors: Anchors, path: str, hunks: list[Shown]) -> None:
    right = {line for h in hunks for line in h.right}
    left = {line for h in hunks for line in h.left}
    for line in range(1, 60):
        there = anchors.of(finding(Location(path, line)))
        assert (there is not None) == (line in right), (path, line, hunks)
        removed = anchors.of(finding(Location(path, line, side=Side.BASE)))
        assert (removed is not None) == (line in left), (path, line, hunks)
        for end in (line, line + 2, line + 9):
            ranged = anchors.of(finding(Location(path, line, end)))
            if ranged is not None:
                assert any({ranged.start, ranged.line} <= set(h.right) for h in hunks)
                assert line <= ranged.start <= ranged.line <= end
            exact = anchors.of_edit(Edit(path, line, end, ("x",)))
            inside = any({line, end} <= set(h.right) for h in hunks)
            assert exact == (Anchor(path, line, end, "RIGHT") if inside else None)


def test_whole_file_and_unchanged_file(repo):
    repo.commit({"a.py": "1\n", "b.py": "1\n"})
    repo.commit({"a.py": "2\n"})
    git = Git(repo.path)
    with BlobStore(git) as blobs:
        anchors = Anchors(
            change_set(git, blobs, resolve(git, "HEAD~1", None, merge_base=True), PullRequest())
        )
        assert anchors.of(finding(Location("a.py", 0))) is None
        assert anchors.of(finding(Location("b.py", 1))) is None
        assert anchors.of(finding(Location("", 0))) is None
