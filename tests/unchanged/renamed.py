"""Answers as they were written before rules were renamed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from checks.core.rule_ids import FORMER, former_id

_IDS = re.compile("|".join(sorted(map(re.escape, FORMER), key=len, reverse=True)) or r"(?!)")


def with_old_ids(path: Path) -> str:
    """The text of an answer, with every renamed rule under its old id.

    Findings are in an order that the id does not decide.
    """
    text = path.read_bytes().decode("utf-8", "surrogateescape")
    if path.name.startswith("review-") and text.startswith("{"):
        return _review(json.loads(text))
    return _IDS.sub(lambda match: former_id(match[0]), text)


def _review(answer: dict[str, Any]) -> str:
    text = json.dumps(answer, ensure_ascii=False)
    old = json.loads(_IDS.sub(lambda match: former_id(match[0]), text))
    # Which rules ran: a new one is no other answer as long as it finds nothing here.
    old.pop("rules", None)
    if "findings" in old:
        old["findings"].sort(key=lambda finding: json.dumps(finding, sort_keys=True))
    return json.dumps(old, indent=2, ensure_ascii=False, sort_keys=True)
