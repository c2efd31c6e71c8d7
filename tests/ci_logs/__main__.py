"""`python -m tests.ci_logs [FOLDER]`: what the analysis makes of every window, as a table.

With a folder, of the logs that lie there (`tests.ci_logs.folder`).
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from tests.ci_logs.folder import print_folder
from tests.ci_logs.measure import Result, measure
from tests.ci_logs.windows import SETS, load


def main() -> None:
    if len(sys.argv) > 1:
        print_folder(Path(sys.argv[1]))
        return
    print("set           windows   gpu  key line  category   same  not this PR  right")
    for name in SETS:
        results = [measure(w) for w in load(name)]
        _row(name, results)
        for r in results:
            if not (r.key and r.category and r.same) or r.wrongly:
                print(f"    {r.window.name}: {', '.join(_faults(r))}")
    counts = Counter(w.category for name in SETS for w in load(name))
    print("\n" + "\n".join(f"{category:24} {count}" for category, count in sorted(counts.items())))


def _row(name: str, results: list[Result]) -> None:
    total = len(results) or 1
    excused = sum(r.excused for r in results)
    right = excused - sum(len(r.wrongly) for r in results)
    shares = [
        sum(r.key for r in results),
        sum(r.category for r in results),
        sum(r.same for r in results),
    ]
    key, category, same = (f"{100 * s / total:.1f}%" for s in shares)
    gpu = sum(r.window.gpu for r in results)
    print(f"{name:12} {total:8} {gpu:5} {key:>9} {category:>9} {same:>6} {excused:12} {right:6}")


def _faults(result: Result) -> list[str]:
    named = {"key line": result.key, "category": result.category, "full log": result.same}
    return [n for n, good in named.items() if not good] + [f"excused ({w})" for w in result.wrongly]


if __name__ == "__main__":
    main()
