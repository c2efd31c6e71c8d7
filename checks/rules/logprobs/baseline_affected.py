"""A change reaches tests that compare logprobs with a stored baseline.

## What it does

Finds changed statements that compute logprobs: how many columns there are, a sampling seed, the order among equals, or
the values themselves, told by what they assign and call. It names each test that compares logprobs with a stored
baseline and that runs the statement: a change under speculative decoding alone reaches only tests that turn it on.
The evidence leads from the statement to the line of the test that names the baseline.

## Why it matters

PaddlePaddle/FastDeploy#7884 dropped a hard-coded width of 20 under speculative decoding. The engine then returned other
columns than `tests/e2e/test_ernie_21b_mtp_multistep.py` had stored, which CI found, and the baseline was recorded anew.

## Example

```python
-    self.max_logprobs = widest if not self.speculative_decoding else 20
+    self.max_logprobs = widest        # the stored top logprobs of the MTP test were 20 wide
```

## Known limits

A test is known by the name of what it stores (`load("..._logprobs_...")`). Whether the numbers really differ is not
computed, so this is a question, unless the number of columns certainly changes or `specbot review --records` is given
records of both sides. What stands under an option that the change brings is off in the tests that were there. How a
seed is drawn changes often without another number: what is not a constant is shown to the pedantic only.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    Evidence,
    Finding,
    Location,
    Message,
    Related,
    Severity,
    Step,
)
from checks.domain.baselines import BaselineTest, baseline_tests
from checks.domain.hardware_reach import excluded
from checks.rules.logprobs._logprob_path import SEED, Altered, altered, mentions

ID = "logprobs.baseline-affected"

# With more tests than this the change is the one place to say it.
_MOST_TESTS = 2
_MOST_STATEMENTS = 4


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    if not mentions(change, config):
        return
    statements = sorted(altered(change, config), key=lambda a: a.order)
    if not statements:
        return
    tests = list(baseline_tests(change, config))
    reached = [
        (t, mine) for t in tests if (mine := [a for a in statements if _reaches(a, t, config)])
    ]
    if len(reached) <= _MOST_TESTS:
        yield from (_at_test(test, mine, change) for test, mine in reached)
    else:
        yield _at_change(reached)


def _reaches(statement: Altered, test: BaselineTest, config: Config) -> bool:
    """Whether the engine that the test starts runs the statement. What has no hardware of its own runs on all."""
    own, there = config.hardware_of(statement.path), config.hardware_of(test.unit.path)
    if own not in ("", there or "gpu") or excluded(statement.guards, there or "gpu", config):
        return False
    return statement.speculative is None or statement.speculative == bool(test.speculative)


def _at_test(test: BaselineTest, statements: list[Altered], change: ChangeSet) -> Finding:
    first = statements[0]
    place = Location(test.unit.path, test.line)
    evidence: list[Evidence] = [_step(a) for a in statements[:_MOST_STATEMENTS]]
    if test.speculative:
        at = Location(test.unit.path, test.speculative)
        evidence.append(
            Step(at, test.unit.text(test.speculative).strip(), Message("starts-speculative"))
        )
    evidence.append(
        Step(place, test.unit.text(test.line).strip(), Message("compares", {"stored": test.stored}))
    )
    args = {
        **_args(first), "test": test.node, "stored": test.stored,
        "touched": change.touches(test.unit.path, test.line, test.line),
    }  # fmt: skip
    return _finding(place, Message("reached", args), first, test.function.qualname, tuple(evidence))


def _at_change(reached: list[tuple[BaselineTest, list[Altered]]]) -> Finding:
    every = [a for a in reached[0][1] if all(a in mine for _, mine in reached)]
    first = min(every or (a for _, mine in reached for a in mine), key=lambda a: a.order)
    tests = [t for t, _ in reached]
    related = tuple(
        Related(Location(t.unit.path, t.line), Message("compares", {"stored": t.stored}))
        for t in tests
    )
    args = {**_args(first), "tests": [t.unit.path for t in tests], "count": len(tests)}
    place = Location(first.path, first.line)
    return _finding(place, Message("reaches-many", args), first, first.function, (), related)


def _args(statement: Altered) -> dict[str, object]:
    return {
        "kind": statement.kind, "what": statement.name, "at": Location(statement.path, statement.line),
        "certain": statement.certain, "speculative": bool(statement.speculative),
    }  # fmt: skip


def _step(statement: Altered) -> Step:
    args = {
        "kind": statement.kind,
        "what": statement.name,
        "speculative": bool(statement.speculative),
    }
    return Step(Location(statement.path, statement.line), statement.text, Message("changes", args))


def _finding(
    place: Location, message: Message, first: Altered, symbol: str, evidence: tuple[Evidence, ...],
    related: tuple[Related, ...] = (),
) -> Finding:  # fmt: skip
    return Finding(
        rule=ID,
        severity=Severity.SUGGESTION if first.certain else Severity.QUESTION,
        confidence=Confidence.HIGH if first.certain else Confidence.MEDIUM,
        location=place,
        message=message,
        symbol=symbol,
        subject=first.name,
        evidence=evidence,
        related=related,
        pedantic=first.kind == SEED and first.function != "",
    )
