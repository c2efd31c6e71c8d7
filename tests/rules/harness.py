"""Runs one case of a rule test and says, in one text, everything that is not as the case
expects.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from checks.core.change import ChangeSet, FileChange, Hunk, PullRequest
from checks.core.check import Check
from checks.core.config import FILE, load
from checks.core.finding import Execution, Finding, Message, Side
from checks.core.observation import DeviceObservation, ObservationKind
from checks.core.tree import MemoryTree
from checks.registry import rule as registered
from checks.review import apply, review
from tests.rules.markdown import Case, Files
from tests.rules.notes import ALSO, PEDANTIC, Expected

Render = Callable[[str, Message], str]
TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def find_rule(rule_id: str) -> Check:
    """The rule, from the registry, or by its module's name while it is not listed there yet."""
    found = registered(rule_id)
    if found is None:
        family, _, name = rule_id.partition(".")
        found = cast(
            Check, importlib.import_module(f"checks.rules.{family}.{name.replace('-', '_')}")
        )
    return found


def render(rule_id: str, message: Message) -> str:
    """The English sentence of `message`, by the bot's own renderer."""
    from tests.rules.words import sentence

    return sentence(rule_id, message)


def change_of(case: Case) -> ChangeSet:
    """The change that a case describes, as git would see it."""
    files = case.files
    if case.config is not None:
        for tree in (files.base, files.head):
            tree.setdefault(FILE, case.config)
    pull = case.pull or {}
    request = PullRequest(
        title=pull.get("title", ""),
        body=pull.get("body", ""),
        labels=tuple(pull.get("labels", ())),
        target_branch=pull.get("target_branch", ""),
        known=pull.get("known", case.pull is not None),
    )
    return ChangeSet(
        MemoryTree(files.base),
        MemoryTree(files.head),
        tuple(_changes(files)),
        request,
        observations=tuple(_observation(data) for data in case.observations),
    )


def _observation(data: dict[str, Any]) -> DeviceObservation:
    """A fact as a `toml observations` block gives it."""
    execution = Execution(data["op"], (), "", "", data.get("schedule", 0), "specbot device")
    return DeviceObservation(
        ObservationKind(data["kind"]),
        data["op"],
        data["path"],
        data["line"],
        data["test"],
        data["text"],
        execution,
        data.get("certain", True),
    )


def _changes(files: Files) -> list[FileChange]:
    gone = set(files.was.values())
    changes = []
    for path in sorted(files.base.keys() | files.head.keys()):
        old = files.was.get(path, path if path not in gone else None)
        base = files.base.get(old) if old is not None else None
        head = files.head.get(path)
        if (base == head and old == path) or (base is None and head is None):
            continue
        status = "A" if base is None else "D" if head is None else "M" if old == path else "R"
        hunks = tuple(_hunks(base or "", head or ""))
        changes.append(
            FileChange(
                status, old if base is not None else None, path if head is not None else None, hunks
            )
        )
    return changes


def _hunks(base: str, head: str) -> list[Hunk]:
    """Hunks as `git diff -U0` numbers them: an empty side starts at the line before it."""
    matcher = difflib.SequenceMatcher(
        None, base.split("\n")[:-1], head.split("\n")[:-1], autojunk=False
    )
    return [
        Hunk(b1 + (b2 > b1), b2 - b1, h1 + (h2 > h1), h2 - h1)
        for tag, b1, b2, h1, h2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def problems(case: Case, check: Check, words: Render = render) -> list[str]:
    """One line for everything about `case` that is not as expected; empty when it passes."""
    change = change_of(case)
    config = load(case.config, tree=change.head)
    found: list[_Found] = []
    also: list[_Found] = []
    for finding in review(change, config, (check,), pedantic=True).findings:
        text = words(finding.rule, finding.message)
        found.append(_Found(finding, text))
        same = [place for place in finding.related if place.message.key == "same-cause"]
        also += [_Found(replace(finding, location=place.location), text) for place in same]
    out = _compare(case, found, also)
    for path, (is_diff, text) in case.fixed.items():
        out += _compare_fix(path, is_diff, text, found, change)
    return out


class _Found:
    def __init__(self, finding: Finding, text: str) -> None:
        self.finding, self.text = finding, text

    @property
    def place(self) -> tuple[str, str, int]:
        where = self.finding.location
        return where.side.value, where.path, where.start_line

    def __str__(self) -> str:
        place, rule = show(self.place), self.finding.rule
        return f"{self.finding.severity.value:<10} {place}  [{rule}] {_short(self.text)}"


def show(place: tuple[str, str, int]) -> str:
    """A place as an `expect` block writes it."""
    side, path, line = place
    return f"{path or 'pull'}{f':{line}' if line else ''}{'@base' if side == Side.BASE else ''}"


def _short(text: str) -> str:
    return text if len(text) <= 400 else f"{text[:400]}..."


def _quoted(expected: Expected) -> str:
    return " ".join(f'"{w}"' for w in expected.words)


def _place(expected: Expected) -> tuple[str, str, int]:
    return expected.side, expected.path, expected.line


def _says(expected: Expected, found: _Found) -> bool:
    return expected.rule == found.finding.rule and all(w in found.text for w in expected.words)


def _meets(expected: Expected, found: _Found) -> bool:
    is_kind = expected.severity in ("", found.finding.severity.value)
    if expected.severity == PEDANTIC:
        is_kind = found.finding.pedantic
    return is_kind and _place(expected) == found.place and _says(expected, found)


def _compare(case: Case, found: list[_Found], also: list[_Found]) -> list[str]:
    left = list(found)
    missing: list[Expected] = []
    out: list[str] = []
    for expected in case.expected:
        if expected.severity == ALSO:
            if not any(_says(expected, f) and _place(expected) == f.place for f in also):
                missing.append(expected)
            continue
        hit = next((f for f in left if _meets(expected, f)), None)
        if expected.kind == "todo-error":
            if hit is not None:
                left.remove(hit)
                out.append(f"found now    {hit}: no known miss any more (line {expected.at})")
        elif hit is not None:
            left.remove(hit)
        elif expected.kind == "todo-ok":
            text = f"[{expected.rule}] {_quoted(expected)}"
            out.append(
                f"quiet now    {show(_place(expected))} {text}: right now (line {expected.at})"
            )
        else:
            missing.append(expected)
    for expected in missing:
        out.append(_explain(expected, left))
    left += [f for f in also if f.place in case.quiet]
    return out + [f"{'marked ok' if f.place in case.quiet else 'unexpected':<12} {f}" for f in left]


def _explain(expected: Expected, left: list[_Found]) -> str:
    """The line for a finding that did not come; where one came that is nearly it, that one is used
    up.
    """
    wanted = (
        f"{expected.severity:<10} {show(_place(expected))}  [{expected.rule}] {_quoted(expected)}"
    )
    for found in left:
        if found.finding.rule != expected.rule:
            continue
        same_place, says = found.place == _place(expected), _says(expected, found)
        kind = ""
        if same_place and says:
            kind = "wrong kind"
        elif same_place and found.finding.severity.value == expected.severity:
            kind = "wrong words"
        elif says and found.finding.location.path == expected.path:
            kind = "wrong line"
        if kind:
            left.remove(found)
            return f"{kind:<12} {wanted}\n{'reported':>12} {found}"
    return f"{'missing':<12} {wanted}"


def _compare_fix(
    path: str, is_diff: bool, text: str, found: list[_Found], change: ChangeSet
) -> list[str]:
    edits = [e for f in found if f.finding.fix for e in f.finding.fix.edits if e.path == path]
    before = (change.head.read(path) or b"").decode()
    after = apply(edits, change)[path].decode() if edits else before
    if not edits and text.strip():
        return [f"no fix       {path}: no finding has a verified fix"]
    if not is_diff:
        return [] if after == text else [f"wrong fix    {path}:\n{_diff(text, after, 3)}"]
    got = [x for x in _diff(before, after, 0).split("\n") if x[:1] in ("-", "+")]
    want = [x for x in text.split("\n") if x[:1] in ("-", "+")]
    context = [x[1:] for x in text.split("\n") if x[:1] == " " and x[1:] not in before.split("\n")]
    out = [f"wrong fix    {path}: the file has no line {line!r}" for line in context]
    if got != want:
        out.append(
            f"wrong fix    {path}:\n"
            + "\n".join(difflib.unified_diff(want, got, "expected", "made", lineterm=""))
        )
    return out


def _diff(old: str, new: str, context: int) -> str:
    lines = list(difflib.unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=context))
    return "\n".join(x for x in lines[2:] if not x.startswith("@@"))
