"""Changed files with what they are for and how much they matter.

Every point of a file's score is shown with its reason, so the page can say why a file is on top.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Severity
from checks.domain.change_facts import Facts, FileFact, FunctionFact
from checks.domain.impact_tags import impact_tags
from checks.lang.source import language
from checks.summary.changes.names import last_part
from checks.summary.model import ChangeHistory, ChangeStep, Claim, FileCard, ScorePart

_CORE_TAGS = frozenset(
    {"speculative-decoding", "op", "sampling", "logprobs", "model-runner", "models", "kv-cache"}
)
_CATEGORY_POINTS = {"core": 1.0, "infrastructure": 0.5}
# What tests, documents and settings weigh against code of the same size.
_LIGHT_WEIGHT = 0.3
# Facts about functions that a reader has to learn anew.
_INTERFACE_CHANGES = frozenset({"added", "removed", "renamed", "signature"})
_DEVICE_FAMILIES = ("protocol", "semantics", "kernel", "logprobs")
_SHORTEST_SEARCHED_NAME = 8


def rate_files(
    change: ChangeSet,
    config: Config,
    facts: Facts,
    steps: Sequence[ChangeStep],
    findings: Iterable[Finding],
    history: ChangeHistory,
) -> tuple[FileCard, ...]:
    """A card for every changed file, the most important first."""
    claims = [claim for step in steps for claim in step.claims]
    findings_by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        findings_by_path.setdefault(finding.location.path, []).append(finding)
    largest = max((f.added + f.removed for f in facts.files), default=1)
    fixes = dict(history.fixes_of)
    cards = []
    for file in facts.files:
        functions = facts.functions_of(file.path)
        claims_here = [claim for claim in claims if _points_to(claim, file.path)]
        parts = [
            _size_part(file, largest),
            _claims_part(claims_here),
            _interface_part(file, functions, facts),
            _callers_part(file, functions, facts, change, config),
            _findings_part(findings_by_path.get(file.path, [])),
            ScorePart("fixes", _points(0.4, fixes.get(file.path, 0), 1.0), fixes.get(file.path, 0)),
        ]
        cards.append(_card(file, parts, _symbols(functions, claims_here)))
    cards.sort(key=lambda card: (-card.score, -(card.added + card.removed), card.path))
    return tuple(cards)


def _card(file: FileFact, parts: list[ScorePart], symbols: tuple[str, ...]) -> FileCard:
    category = _category(file)
    return FileCard(
        path=file.path,
        status=file.status,
        category=category,
        module=str(PurePosixPath(file.path).parent),
        hardware=file.hardware,
        added=file.added,
        removed=file.removed,
        parts=tuple(_weighted(parts, category)),
        symbols=symbols,
    )


def _weighted(parts: list[ScorePart], category: str) -> Iterator[ScorePart]:
    """The parts that count after the category's weight and rounding, and the category's own."""
    is_code = category in _CATEGORY_POINTS
    weight = 1.0 if is_code else _LIGHT_WEIGHT
    for part in parts:
        points = round(part.points * weight, 1)
        if points:
            yield ScorePart(part.kind, points, part.detail)
    if is_code:
        yield ScorePart(f"category-{category}", _CATEGORY_POINTS[category], 0)


def _category(file: FileFact) -> str:
    match file.kind:
        case "test" | "e2e":
            return "test"
        case "docs":
            return "docs"
        case "ci" | "build" | "other":
            return "config"
    tags = impact_tags([(file.path, file.kind)], has_ops=False)
    return "core" if _CORE_TAGS.intersection(tags) else "infrastructure"


def _points(factor: float, count: float, most: float) -> float:
    """Points that grow with the logarithm of a count: the tenth adds less than the first."""
    return min(most, factor * math.log2(1 + count))


def _size_part(file: FileFact, largest: int) -> ScorePart:
    lines = file.added + file.removed
    return ScorePart("size", 3 * math.sqrt(lines / max(largest, 1)), lines)


def _claims_part(claims: Sequence[Claim]) -> ScorePart:
    """How many claims about the change stand in the file."""
    return ScorePart("central", _points(0.5, len(claims), 1.5), len(claims))


def _interface_part(file: FileFact, functions: Sequence[FunctionFact], facts: Facts) -> ScorePart:
    """Functions and ops that came, went, or can be called differently."""
    ops = sum(1 for op in facts.ops if op.path == file.path)
    count, weight = ops, float(ops)
    for function in functions:
        if function.what in _INTERFACE_CHANGES:
            count += 1
            # Another parameter is read at a glance, another function is not.
            weight += 0.5 if function.what == "signature" else 1
    return ScorePart("remade", _points(0.8, weight, 2.0), count)


def _callers_part(
    file: FileFact,
    functions: Sequence[FunctionFact],
    facts: Facts,
    change: ChangeSet,
    config: Config,
) -> ScorePart:
    """Other product files that call what can be called differently now."""
    if not language(file.path):
        return ScorePart("callers", 0.0, 0)
    names = {last_part(f.name) for f in functions if f.what in _INTERFACE_CHANGES}
    names.update(op.name for op in facts.ops if op.path == file.path)
    paths: set[str] = set()
    for name in names:
        # A short name is found in half of the tree.
        if len(name) >= _SHORTEST_SEARCHED_NAME and not name.startswith("__"):
            paths.update(_paths_calling(name, change))
    paths.discard(file.path)
    callers = [path for path in paths if language(path) and not config.is_test(path)]
    return ScorePart("callers", _points(0.4, len(callers), 1.0), len(callers))


def _paths_calling(name: str, change: ChangeSet) -> set[str]:
    call = re.compile(rf"\b{re.escape(name)}\s*[(,]")
    return {match.path for match in change.head.find(name) if call.search(match.text)}


def _findings_part(findings: Sequence[Finding]) -> ScorePart:
    """Findings about protocols, indices and device code in the file; a bug counts twice."""
    count = weight = 0
    for finding in findings:
        if finding.rule.split(".")[0] in _DEVICE_FAMILIES:
            count += 1
            weight += 2 if finding.severity is Severity.BUG else 1
    return ScorePart("findings", _points(0.4, weight, 1.0), count)


def _symbols(functions: Sequence[FunctionFact], claims: Sequence[Claim]) -> tuple[str, ...]:
    """The file's changed functions, those that a claim is about before the others."""
    claimed = {str(claim.message.args.get("name", "")) for claim in claims} - {""}
    names = [function.name for function in functions]
    first = [n for n in names if n in claimed or n.rsplit(".", 1)[-1] in claimed]
    return tuple(dict.fromkeys([*first, *names]))


def _points_to(claim: Claim, path: str) -> bool:
    return any(place.path == path for place in claim.places)
