"""A file of labelled cases and of pairs of a fix and what it mended, one line of JSON each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from checks.evaluation.fix_score import PairOutcome
from checks.evaluation.fixes import FixPair, parse_pair
from checks.evaluation.labels import LabelledCase, LabelledPlace

_PAIR = "fix"


class CaseError(ValueError):
    """A line that is not a case: `line` counts from 1."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(line, problem)
        self.line = line
        self.problem = problem


def parse_cases(text: str) -> tuple[tuple[LabelledCase, ...], tuple[FixPair, ...]]:
    """The labelled cases of a JSONL file, and its pairs (`kind` is `fix`). Raises CaseError."""
    cases: list[LabelledCase] = []
    pairs: list[FixPair] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            raw = json.loads(line)
            if raw["kind"] == _PAIR:
                pairs.append(parse_pair(raw))
            else:
                cases.append(_labelled_case(raw))
        except (KeyError, TypeError, ValueError) as error:
            raise CaseError(number, str(error)) from error
    return tuple(cases), tuple(pairs)


def write_pair(outcome: PairOutcome) -> str:
    """The pair as a line of JSON that `parse_cases` reads, with the finding that came nearest."""
    data = {"kind": _PAIR, **asdict(outcome.pair)}
    data["near"] = list(outcome.near_rules)
    data["in_function"] = list(outcome.function_rules)
    data["distance"] = outcome.distance
    data["nearest"] = asdict(outcome.nearest) if outcome.nearest is not None else None
    data["error"] = outcome.error
    return json.dumps(data, ensure_ascii=False) + "\n"


def _labelled_case(raw: Mapping[str, Any]) -> LabelledCase:
    places = [raw] if raw["kind"] == "bug" else []
    places += raw.get("also", [])
    # A variant is described by the commands that make its tree.
    folders = re.findall(r"git checkout \S+ -- ([^\s`]+)", raw.get("variant", ""))
    return LabelledCase(
        id=str(raw["id"]),
        kind=raw["kind"],
        base=raw["base"],
        head=raw["head"],
        rule=raw.get("rule", ""),
        places=tuple(LabelledPlace(place["path"], int(place["line"])) for place in places),
        confidence=raw.get("confidence", "high"),
        message=raw.get("message", ""),
        from_base=tuple(folders),
        pre_existing=bool(raw.get("pre_existing", False)),
    )
