"""How many cases of what strangers send the suite has, by kind: `python -m tests.hostile`.

`python -m pytest -m hostile` runs them.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict

import pytest


class _Counter:
    """Counts what pytest collects."""

    def __init__(self) -> None:
        self.cases: Counter[str] = Counter()
        self.tests: defaultdict[str, set[str]] = defaultdict(set)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            mark = item.get_closest_marker("hostile")
            if mark is not None:
                self.cases[mark.args[0]] += 1
                self.tests[mark.args[0]].add(item.nodeid.partition("[")[0])


def main() -> int:
    """Print the counts; gives pytest's exit code."""
    counter = _Counter()
    quiet = ["--collect-only", "-qqq", "--no-header", "--no-summary"]
    code = pytest.main(["tests", *quiet], plugins=[counter])
    for kind, cases in sorted(counter.cases.items()):
        print(f"{kind:14}{cases:>6} cases of {len(counter.tests[kind])} tests")
    print(f"{'in all':14}{counter.cases.total():>6}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
