"""Changed files with what they are for and how much they matter; every point of the score is shown with its reason."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Severity
from checks.domain.change_facts import Facts, FileFact
from checks.domain.impact_tags import impact_tags
from checks.lang.source import language
from checks.summary.model import Claim, FileCard, History, Part, Step

_CORE = frozenset(
    {"speculative-decoding", "op", "sampling", "logprobs", "model-runner", "models", "kv-cache"}
)
_BASE = {"core": 1.0, "infrastructure": 0.5}
# Tests, documents and settings: what they weigh against code of the same size.
_LIGHT = 0.3


def cards(
    change: ChangeSet,
    config: Config,
    facts: Facts,
    steps: Iterable[Step],
    findings: Iterable[Finding],
    history: History,
) -> tuple[FileCard, ...]:
    """Every changed file, the most important first."""
    all_steps, all_findings = list(steps), list(findings)
    largest = max((f.added + f.removed for f in facts.files), default=1)
    fixes = dict(history.fixes_of)
    made = []
    for file in facts.files:
        category = _category(file)
        names = _symbols(file, facts, all_steps)
        parts = [
            _size(file, largest),
            _central(file, all_steps),
            _remade(file, facts),
            _callers(file, facts, change, config),
            _protocol(file, all_findings),
            Part(
                "fixes",
                min(1.0, 0.4 * math.log2(1 + fixes.get(file.path, 0))),
                fixes.get(file.path, 0),
            ),
        ]
        weight = 1.0 if category in _BASE else _LIGHT
        kept = [
            Part(p.kind, round(p.points * weight, 1), p.detail)
            for p in parts
            if round(p.points * weight, 1)
        ]
        if category in _BASE:
            kept.append(Part(f"category-{category}", _BASE[category], 0))
        module = str(PurePosixPath(file.path).parent)
        made.append(
            FileCard(
                file.path,
                file.status,
                category,
                module,
                file.hardware,
                file.added,
                file.removed,
                tuple(kept),
                names,
            )
        )
    return tuple(sorted(made, key=lambda c: (-c.score, -(c.added + c.removed), c.path)))


def _category(file: FileFact) -> str:
    if file.kind in ("test", "e2e"):
        return "test"
    if file.kind in ("docs", "ci", "build"):
        return "docs" if file.kind == "docs" else "config"
    if file.kind == "other":
        return "config"
    found = impact_tags([(file.path, file.kind)], has_ops=False)
    return "core" if _CORE.intersection(found) else "infrastructure"


def _size(file: FileFact, largest: int) -> Part:
    lines = file.added + file.removed
    return Part("size", 3 * math.sqrt(lines / max(largest, 1)), lines)


def _central(file: FileFact, steps: list[Step]) -> Part:
    """How many claims about the change stand in the file."""
    inside = sum(1 for s in steps for c in s.claims if any(p.path == file.path for p in c.places))
    return Part("central", min(1.5, 0.5 * math.log2(1 + inside)), inside)


_REMADE = frozenset({"added", "removed", "renamed", "signature"})


def _remade(file: FileFact, facts: Facts) -> Part:
    """Functions that came, went, or can be called differently: what a reader must learn anew."""
    made = [f for f in facts.functions if f.path == file.path and f.what in _REMADE]
    ops = sum(1 for o in facts.ops if o.path == file.path)
    # Another parameter is read at a glance, another function is not.
    weight = ops + sum(0.5 if f.what == "signature" else 1 for f in made)
    return Part("remade", min(2.0, 0.8 * math.log2(1 + weight)), len(made) + ops)


def _callers(file: FileFact, facts: Facts, change: ChangeSet, config: Config) -> Part:
    """Other product files that call what can be called differently now."""
    if not language(file.path):
        return Part("callers", 0.0, 0)
    functions = [f for f in facts.functions if f.path == file.path and f.what in _REMADE]
    names = {f.name.rsplit(".", 1)[-1].rsplit("::", 1)[-1] for f in functions}
    names |= {o.name for o in facts.ops if o.path == file.path}
    told = sorted(n for n in names if len(n) > 7 and not n.startswith("__"))
    paths = {
        h.path
        for n in told
        for h in change.head.find(n)
        if re.search(rf"\b{re.escape(n)}\s*[(,]", h.text)
    }
    reached = {p for p in paths if p != file.path and language(p) and not config.is_test(p)}
    return Part("callers", min(1.0, 0.4 * math.log2(1 + len(reached))), len(reached))


def _protocol(file: FileFact, findings: list[Finding]) -> Part:
    """Findings about protocols, indices and device code in this file; a bug counts twice."""
    inside = [
        f
        for f in findings
        if f.location.path == file.path
        and f.rule.split(".")[0] in ("protocol", "semantics", "kernel", "logprobs")
    ]
    weight = sum(2 if f.severity is Severity.BUG else 1 for f in inside)
    return Part("findings", min(1.0, 0.4 * math.log2(1 + weight)), len(inside))


def _symbols(file: FileFact, facts: Facts, steps: list[Step]) -> tuple[str, ...]:
    claims: Iterator[Claim] = (
        c for s in steps for c in s.claims if any(p.path == file.path for p in c.places)
    )
    told = [name for c in claims if (name := str(c.message.args.get("name", "")))]
    names = [f.name for f in facts.functions if f.path == file.path]
    return tuple(
        dict.fromkeys([*(n for n in names if n in told or n.rsplit(".", 1)[-1] in told), *names])
    )
