"""What holds for a call holds for every other way of writing it, and for other names."""

from __future__ import annotations

import itertools

import pytest

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.tree import MemoryTree
from checks.review import review
from checks.rules.sync import misplaced_argument, missing_argument, surplus_argument
from tests.seeded.seed import with_file

# Ways of calling `run` with the arguments `ARGS`, now or later, here or elsewhere.
WAYS = {
    "directly": "run(ARGS)",
    "in a process": "Process(target=run, args=(ARGS,))",
    "in a thread": "threading.Thread(target=run, args=[ARGS], daemon=True).start()",
    "by a pool": "pool.submit(run, ARGS)",
    "by an event loop": "loop.run_in_executor(None, run, ARGS)",
    "beside an event loop": "asyncio.to_thread(run, ARGS)",
    "by Ray": "run.remote(ARGS)",
    "by Ray, with options": "run.options(num_gpus=1).remote(ARGS)",
    "from a list": "run(*[ARGS])",
}
NAMES = ("rows", "lens", "scale", "limit")


def change(before: dict[str, str], after: dict[str, str]) -> ChangeSet:
    tree = MemoryTree(before)
    made = ChangeSet(tree, tree, ())
    for path, text in after.items():
        made = with_file(made, path, text)
    return made


def caller(*calls: str) -> str:
    lines = "".join(f"    {call}\n" for call in calls)
    return f"from engine.jobs import run\n\n\ndef start(pool, loop, {', '.join(NAMES)}):\n{lines}"


def rules_of(made: ChangeSet) -> list[str]:
    rules = (missing_argument, surplus_argument, misplaced_argument)
    return [finding.rule for finding in review(made, Config(), rules).findings]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("given", range(1, 5))
@pytest.mark.parametrize("wanted", range(1, 5))
def test_a_function_that_is_handed_over_is_called(way: str, given: int, wanted: int) -> None:
    call = WAYS[way].replace("ARGS", ", ".join(NAMES[:given]))
    files = {
        "engine/jobs.py": f"def run({', '.join(NAMES[:given])}):\n    return 1\n",
        "engine/start.py": caller(call),
    }
    now = f"def run({', '.join(NAMES[:wanted])}):\n    return 1\n"
    told = rules_of(change(files, {"engine/jobs.py": now}))
    expected = {True: ["sync.missing-argument"], False: ["sync.surplus-argument"]}
    assert told == ([] if given == wanted else expected[given < wanted])


@pytest.mark.parametrize("pair", list(itertools.combinations(range(4), 2)), ids=str)
@pytest.mark.parametrize("others", range(4))
def test_the_other_calls_tell_which_values_are_turned_round(
    pair: tuple[int, int], others: int
) -> None:
    """Two calls or more tell it, of parameters whose names say nothing."""
    first, second = pair
    turned = list(NAMES)
    turned[first], turned[second] = turned[second], turned[first]
    files = {"engine/jobs.py": "def run(one, way, or_other, thing):\n    return 1\n"}
    for number in range(others):
        files[f"engine/other_{number}.py"] = caller(f"run({', '.join(NAMES)})")
    wrong = change(files, {"engine/start.py": caller(f"run({', '.join(turned)})")})
    assert rules_of(wrong) == (["sync.misplaced-argument"] if others > 1 else [])
    right = change(files, {"engine/start.py": caller(f"run({', '.join(NAMES)})")})
    assert rules_of(right) == []
