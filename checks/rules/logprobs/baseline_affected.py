"""A change reaches tests that compare logprobs with a stored baseline.

## What it does

Finds changed statements that compute logprobs: how many columns there are, a sampling seed, the
order among equals, or the values themselves, told by what they assign and call. It names each test
that compares logprobs with a stored baseline and that runs the statement: a change under
speculative decoding alone reaches only tests that turn it on. The evidence leads from the statement
to the line of the test that names the baseline.

## Why it matters

PaddlePaddle/FastDeploy#7884 dropped a hard-coded width of 20 under speculative decoding. The engine
then returned other columns than `tests/e2e/test_ernie_21b_mtp_multistep.py` had stored, which CI
found, and the baseline was recorded anew.

## Example

```python
-    self.max_logprobs = widest if not self.speculative_decoding else 20
+    self.max_logprobs = widest        # the stored top logprobs of the MTP test were 20 wide
```

## Known limits

A test is known by the name of what it stores (`load("..._logprobs_...")`). Whether the numbers
really differ is not computed, so this is a question, unless the number of columns certainly changes
or `specbot review --records` is given records of both sides. What stands under an option that the
change brings is off in the tests that were there. How a seed is drawn changes often without another
number: what is not a constant is shown to the pedantic only.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import (
    Confidence,
    DerivationStep,
    Evidence,
    Finding,
    Location,
    Message,
    Related,
    Severity,
)
from checks.domain.baselines import BaselineTest, baseline_tests
from checks.domain.hardware_reach import is_excluded
from checks.rules.logprobs._logprob_path import (
    LogprobChange,
    find_logprob_changes,
    may_change_logprobs,
)
from checks.rules.logprobs._names import SEED

ID = "logprobs.baseline-affected"

# With more tests than this the change is the one place to say it.
_MOST_TESTS = 2
_MOST_STATEMENTS = 4

_Affected = tuple[BaselineTest, list[LogprobChange]]


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """A finding at each test that the change reaches, or one at the change where they are many."""
    if not may_change_logprobs(change, config):
        return
    statements = sorted(find_logprob_changes(change, config), key=lambda s: s.order)
    if not statements:
        return
    affected = []
    for test in baseline_tests(change, config):
        reaching = [s for s in statements if _reaches(s, test, config)]
        if reaching:
            affected.append((test, reaching))
    if len(affected) > _MOST_TESTS:
        yield _finding_at_change(affected)
        return
    for test, reaching in affected:
        yield _finding_at_test(test, reaching, change)


def _reaches(statement: LogprobChange, test: BaselineTest, config: Config) -> bool:
    """Whether the engine that the test starts runs the statement.

    What has no hardware of its own runs on all; a test without one runs on a GPU.
    """
    of_statement = config.hardware_of(statement.path)
    of_test = config.hardware_of(test.unit.path) or "gpu"
    if of_statement not in ("", of_test) or is_excluded(statement.guards, of_test, config):
        return False
    if statement.speculative is None:
        return True
    return statement.speculative == bool(test.speculative)


def _finding_at_test(
    test: BaselineTest, statements: list[LogprobChange], change: ChangeSet
) -> Finding:
    first = statements[0]
    place = Location(test.unit.path, test.line)
    args = {
        **_args(first),
        "test": test.node,
        "stored": test.stored,
        "touched": change.touches(test.unit.path, test.line, test.line),
    }
    symbol = test.function.qualname
    evidence = tuple(_evidence(test, statements))
    return _finding(place, Message("reached", args), first, symbol, evidence)


def _evidence(test: BaselineTest, statements: list[LogprobChange]) -> Iterator[Evidence]:
    """The changed statements, the line that starts the engine, the line that names the baseline."""
    for statement in statements[:_MOST_STATEMENTS]:
        args = {
            "kind": statement.kind,
            "what": statement.name,
            "speculative": bool(statement.speculative),
        }
        place = Location(statement.path, statement.line)
        yield DerivationStep(place, statement.text, Message("changes", args))
    if test.speculative:
        text = test.unit.excerpt(test.speculative)
        place = Location(test.unit.path, test.speculative)
        yield DerivationStep(place, text, Message("starts-speculative"))
    text = test.unit.excerpt(test.line)
    place = Location(test.unit.path, test.line)
    yield DerivationStep(place, text, Message("compares", {"stored": test.stored}))


def _finding_at_change(affected: list[_Affected]) -> Finding:
    first = _statement_to_name(affected)
    related = []
    for test, _ in affected:
        message = Message("compares", {"stored": test.stored})
        related.append(Related(Location(test.unit.path, test.line), message))
    paths = [test.unit.path for test, _ in affected]
    message = Message("reaches-many", {**_args(first), "tests": paths, "count": len(paths)})
    place = Location(first.path, first.line)
    return _finding(place, message, first, first.function, (), tuple(related))


def _statement_to_name(affected: list[_Affected]) -> LogprobChange:
    """The first statement that reaches all tests, else the first of all."""
    _, of_first_test = affected[0]
    reaching_all = [s for s in of_first_test if all(s in reaching for _, reaching in affected)]
    candidates = reaching_all or [s for _, reaching in affected for s in reaching]
    return min(candidates, key=lambda s: s.order)


def _args(statement: LogprobChange) -> dict[str, object]:
    return {
        "kind": statement.kind,
        "what": statement.name,
        "at": Location(statement.path, statement.line),
        "certain": statement.certain,
        "speculative": bool(statement.speculative),
    }


def _finding(
    place: Location,
    message: Message,
    first: LogprobChange,
    symbol: str,
    evidence: tuple[Evidence, ...],
    related: tuple[Related, ...] = (),
) -> Finding:
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
