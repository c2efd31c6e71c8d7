"""`python -m tests.ci_logs FOLDER`: what the report says first of logs that lie in a folder.

The folder's `*.txt` hold windows as `tests.ci_logs.windows` reads them, or fixtures of a public log
classifier (a log a file, its line marked with `#=MATCH=#`; their categories stand in
`categories.txt`, `name category [other]` a line). Each is put into a job's log of some 2,000 lines.
Nothing of such logs is kept here: they are other people's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from checks.ci.analyse import analyse
from checks.ci.message_keys import Advice
from checks.ci.report import Failure
from tests.ci.runs import Files
from tests.ci_logs.measure import change_of, full, run_of
from tests.ci_logs.windows import MARK, Window, read

_MATCH = "#=MATCH=# "
_EXCUSES = ("base-branch", "flaky", "infrastructure")
_SAYS_LITTLE = (Advice.READ_LOG, Advice.READ_PAGE, Advice.UNUSUAL, Advice.RERUN_ONCE)


@dataclass(frozen=True)
class Verdict:
    """What the report says first, and whether that is right.

    `named`: whether each failed test that the log names is in the report.
    """

    window: Window
    main: Failure
    category: bool
    key: bool
    wrong_cause: bool
    advice: bool
    named: bool
    tests: tuple[str, ...]


def load_folder(folder: Path) -> list[Window]:
    windows: list[Window] = []
    for path in sorted(folder.glob("*.txt")):
        if path.name == "categories.txt":
            continue
        text = path.read_text("utf-8", errors="replace")
        windows += read(path) if text.startswith("%%%% ") else [_fixture(path, text)]
    return windows


def _fixture(path: Path, text: str) -> Window:
    categories = dict(
        line.split(" ", 1)
        for line in path.with_name("categories.txt").read_text("utf-8").splitlines()
    )
    category, _, also = categories[path.stem].partition(" ")
    lines = []
    for line in text.replace("‹", "").replace("›", "").rstrip("\n").split("\n"):
        if not line.startswith("#=SOURCE"):
            lines.append(line.replace(_MATCH, MARK, 1))
    cause = "not-pr" if category == "runner-lost" else "open"
    return Window(path.stem, category, cause, "public", tuple(lines), also=also)


def judge(window: Window) -> Verdict:
    """The report on the window in a whole job's log, with a change of an unrelated module."""
    log = full(window, after=1_100)
    report = analyse(run_of(window), Files(log=log), change_of("engine/other_module.py"))
    main = report.failed[0].main
    tests = tuple(failure.test for failure in report.failed[0].failures if failure.test)
    first = log.decode().split("\n").index(_stamped(window, log)) + 1
    marked = {first + number - 1 for number in window.keys}
    texts = [window.lines[number - 1] for number in window.keys]
    excused = main.cause in _EXCUSES
    advised = [suggestion.message.key not in _SAYS_LITTLE for suggestion in main.suggestions]
    return Verdict(
        window=window,
        main=main,
        category=main.category in window.categories,
        key=_quotes(main, marked, texts),
        wrong_cause=excused and window.cause not in ("not-pr", "setup"),
        advice=any(advised),
        named=set(window.tests) <= set(tests),
        tests=tests,
    )


def _stamped(window: Window, log: bytes) -> str:
    """The window's first line as it stands in the log."""
    for line in log.decode().split("\n"):
        if line.endswith(window.lines[0]):
            return line
    return ""


def _quotes(main: Failure, marked: set[int], texts: list[str]) -> bool:
    for evidence in main.evidence:
        if evidence.line is not None and evidence.line.number in marked:
            return True
    return bool(main.error) and any(main.error in text for text in texts)


def print_folder(folder: Path) -> None:
    """One row for the folder, and one for every log of which something is not right."""
    verdicts = [judge(window) for window in load_folder(folder)]
    total = len(verdicts)
    for name in ("category", "key", "wrong_cause", "advice"):
        count = sum(getattr(verdict, name) for verdict in verdicts)
        print(f"{name:12} {count:4} of {total} {100 * count / max(1, total):6.1f} %")
    with_tests = [verdict for verdict in verdicts if verdict.window.tests]
    named = sum(verdict.named for verdict in with_tests)
    print(f"{'tests named':12} {named:4} of {len(with_tests)}")
    for verdict in verdicts:
        faults = [n for n in ("category", "key", "advice", "named") if not getattr(verdict, n)]
        if not faults and not verdict.wrong_cause:
            continue
        faults += ["wrong cause"] if verdict.wrong_cause else []
        main = verdict.main
        said = f"{main.category} by {main.rule or '-'}: {main.error[:90]}"
        print(
            f"    {verdict.window.name} ({verdict.window.category}): {', '.join(faults)} | {said}"
        )
