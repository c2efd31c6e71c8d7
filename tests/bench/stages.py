"""Where the time of one review goes, as JSON: `python -m tests.bench.stages REPO BASE HEAD`.

`stages` and `rules` are milliseconds of CPU, `parsed` the files that were parsed.
"""

from __future__ import annotations

import time

STARTED = time.process_time()

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import checks.core.change
from bot.cli import review as _  # noqa: F401 - its imports are start-up
from bot.configuration import load_configuration
from bot.garbage import stop_collecting
from bot.git import BlobStore, Git, GitTree, change_set, resolve
from bot.reports import Report, format_named
from checks.core.change import ChangeSet, PullRequest
from checks.core.config import Config
from checks.core.finding import Finding
from checks.domain.change_facts import change_facts
from checks.registry import RULES
from checks.review import review


class Clock:
    """Adds up the CPU time of the calls that it wraps; a call inside another of the same name
    counts once."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._open: set[str] = set()

    def timed(self, name: str, call: Any) -> Any:
        def wrapped(*args: Any, **named: Any) -> Any:
            if name in self._open:
                return call(*args, **named)
            self._open.add(name)
            start = time.process_time()
            try:
                return call(*args, **named)
            finally:
                self._open.discard(name)
                self.spent[name] = self.spent.get(name, 0.0) + 1000 * (time.process_time() - start)

        return wrapped


class TimedRule:
    """A rule whose runs, those that verify its fixes too, are counted under its id."""

    def __init__(self, rule: Any, clock: Clock) -> None:
        self.ID = rule.ID
        self._run = clock.timed(rule.ID, lambda change, config: list(rule.run(change, config)))

    def run(self, change: ChangeSet, config: Config) -> Iterator[Finding]:
        yield from self._run(change, config)


def main() -> None:
    repo, base, head = sys.argv[1:]
    started = 1000 * (time.process_time() - STARTED)
    stop_collecting()
    stages, rules = Clock(), Clock()
    parsed: set[str] = set()
    parse = stages.timed("parsing", checks.core.change.parse)

    def parse_noted(path: str, data: bytes) -> Any:
        parsed.add(path)
        return parse(path, data)

    checks.core.change.parse = parse_noted
    for where, name in (
        (BlobStore, "read"),
        (BlobStore, "prefetch"),
        *((GitTree, n) for n in ("find", "paths_containing", "contains")),
    ):
        setattr(where, name, stages.timed("git: contents and search", getattr(where, name)))
    git = Git(Path(repo))
    with BlobStore(git) as blobs:
        compared = stages.timed("git: revisions", resolve)(git, base, head, merge_base=False)
        change = stages.timed("git: trees and differences", change_set)(
            git, blobs, compared, PullRequest()
        )
        config = load_configuration(change.base, None, None)
        timed = tuple(TimedRule(rule, rules) for rule in RULES)
        outcome = stages.timed("review, parsing and search included", review)(change, config, timed)
        ran = tuple(rule.ID for rule in timed)
        report = Report(outcome, change_facts(change, config), ran, ())
        stages.timed("report", format_named("terminal").render)(report, "en")
    spent = {"start-up": started} | stages.spent
    by_rule = {rule.ID: rules.spent.get(rule.ID, 0.0) for rule in RULES}
    print(json.dumps({"stages": spent, "rules": by_rule, "parsed": sorted(parsed)}))


if __name__ == "__main__":
    main()
