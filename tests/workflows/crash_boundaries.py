"""kill -9 at every step's end: each chapter unharmed first, and then with one death at each
boundary that it has.

A boundary is just before or just after a step, or the end of a workflow, is written down. After the
death the bot starts again, in turn as the same worker and as another that takes over, and GitHub
must show what it shows without.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from dbos import DBOSClient

from tests.fake_github import FakeGitHub
from tests.workflows.conftest import Bot, until
from tests.workflows.crash_chapters import CHAPTERS, Book, Chapter
from tests.workflows.crash_sites import END, kinds, site_of, sites
from tests.workflows.crash_story import deliver
from tests.workflows.crashes import Zygote, stage

_LONGEST = 300.0
# In the ids of the later looks at a repository whose access changed.
_LOOK = "-again-"


@dataclass(frozen=True)
class Boundary:
    """`step` is the name that the step is written down under, `when` is before or after that."""

    chapter: Chapter
    kind: str
    step: str
    when: str

    def __str__(self) -> str:
        return f"{self.chapter.name}: {self.kind}, {self.when} {self.step!r}"


@dataclass
class Boundaries:
    """Lives of one bot, told `Book`. `done` counts the boundaries that were struck."""

    fake: FakeGitHub
    bot: Bot
    folder: Path
    done: int = 0
    steps: list[list[str | int]] = field(default_factory=list)
    _deaths: int = 0
    _read: int = 0

    def __post_init__(self) -> None:
        self.bot.settings["SPECBOT_LOCAL_KERNELS"] = "cpu"
        self._settings = dict(self.bot.settings)
        self._book = Book(self.bot)
        self._zygote = Zygote(self.bot, str(self.folder))
        self._worker = "one"
        self._steps_file, self._strike_file = self.folder / "steps", self.folder / "strike"
        self._steps_file.touch()
        self._begin()
        self._client = DBOSClient(system_database_url=self.bot.database)

    def _begin(self) -> None:
        self._zygote.start(self._worker)
        until(lambda: self.bot.ready() or self._zygote.died(0))

    @contextmanager
    def closing(self) -> Iterator[Boundaries]:
        try:
            yield self
        finally:
            self._zygote.close()
            self._client.destroy()

    def unharmed(self, chapter: Chapter) -> tuple[list[Boundary], list[str]]:
        """The boundaries that the chapter has, and what was wrong without any death."""
        begun = self._read
        wrong = self._told(chapter, 0)
        steps = dict.fromkeys(
            (str(kind), str(name)) for kind, name, *_ in self.steps[begun:] if kind in chapter.kinds
        )
        return [
            Boundary(chapter, *step, when) for step in steps for when in ("before", "after")
        ], wrong

    def struck(self, boundary: Boundary) -> list[str]:
        """What was wrong after a death there."""
        self.done += 1
        self._strike_file.write_text(json.dumps([boundary.kind, boundary.step, boundary.when]))
        wrong = self._told(boundary.chapter, 1)
        self._strike_file.unlink(missing_ok=True)
        return [f"{boundary}: {what}" for what in wrong]

    def _told(self, chapter: Chapter, deaths: int) -> list[str]:
        self._deaths = 0
        self._set(chapter)
        pull, deliveries = chapter.tell(self._book)
        before = self._book.seen(pull)
        for delivery in deliveries:
            deliver(self.fake, delivery, self._revived)
        left = self._settle(deaths)
        shown = self._book.seen(pull)
        shown.subtract(before)
        wrong = _compared(chapter, {name: count for name, count in shown.items() if count})
        wrong += [f"died {self._deaths} times"] * (self._deaths != deaths) + self.fake.violations
        wrong += [f"{one} has not ended" for one in left]
        self.fake.violations.clear()
        return wrong

    def _set(self, chapter: Chapter) -> None:
        """Have it live with the settings of the chapter."""
        wanted = self._settings | chapter.settings
        if self.bot.settings != wanted:
            self._zygote.kill()
            self._zygote.died(60)
            self.bot.settings = wanted
            self._begin()

    def _revived(self) -> None:
        """Where the bot has died, start it as the other worker at every second death."""
        if self._zygote.died(0.1):
            self._deaths += 1
            self._worker = ("one", "two")[self.done // 2 % 2]
            self._zygote.start(self._worker)

    def _settle(self, deaths: int) -> list[str]:
        """Wait until it has died so often, all work has ended, and no more comes of it; the work
        that does not end."""
        quiet, end, left = 0, time.monotonic() + _LONGEST, list[str]()
        while quiet < 2 and time.monotonic() < end:
            self._revived()
            self.fake.content_writes.clear()
            self.fake.rate_remaining = 10**9
            for run in self._book.gpu_waiting():
                deliver(self.fake, self._book.gpu_ended(run), self._revived)
            left = self._left()
            idle = not left and not self._book.gpu_waiting() and self._deaths >= deaths
            quiet = quiet + 1 if idle else 0
        lines = self._steps_file.read_text().splitlines()
        self.steps += [json.loads(line) for line in lines[self._read :]]
        self._read = len(lines)
        return left

    def _left(self) -> list[str]:
        """The work that is still to end. Later looks at a repository are put off for up to an hour:
        they are no part of the chapter, and deleted."""
        working = self._client.list_workflows(
            status=["ENQUEUED", "DELAYED", "PENDING"], load_input=False
        )
        ids = {w.workflow_id for w in working if not w.workflow_id.startswith("ci-refresh-")}
        looks = {w.workflow_id for w in working if w.status == "DELAYED" and _LOOK in w.workflow_id}
        if looks:
            self._client.delete_workflows(sorted(looks))
        return sorted(ids - looks)


def _compared(chapter: Chapter, shown: dict[str, int]) -> list[str]:
    reports = shown.get("CI reports", 0)
    if "CI reports" not in chapter.shows and reports <= 1:
        shown.pop("CI reports", None)
    return [] if shown == chapter.shows else [f"GitHub shows {shown} instead of {chapter.shows}"]


def missing(steps: list[list[str | int]]) -> list[str]:
    """Steps and workflows of the code that are not among those that were written down."""
    known = sites()
    met = {
        site_of(str(path), int(line), str(name), known)
        for _, name, path, line in steps
        if name != END
    }
    lost = kinds() - {str(kind) for kind, *_ in steps}
    return [
        f"no chapter has the step {s.name} of {s.path}:{s.first}" for s in sorted(known - met)
    ] + [f"no chapter has the workflow {kind}" for kind in sorted(lost)]


def tried(database: str, every: int = 1) -> tuple[list[str], int, int]:
    """What was wrong, how many boundaries there are, and how many of them were struck: one in
    `every`."""
    with stage(database) as (fake, bot), Boundaries(fake, bot, bot.directory).closing() as trial:
        found, planned = list[str](), list[Boundary]()
        for chapter in CHAPTERS:
            boundaries, wrong = trial.unharmed(chapter)
            planned += boundaries
            found += [f"{chapter.name}: {what}" for what in wrong]
        found += missing(trial.steps)
        for boundary in planned[::every]:
            found += trial.struck(boundary)
            if trial.done % 20 == 0:
                print(
                    f"killed at {trial.done} boundaries of {len(planned)}",
                    file=sys.stderr,
                    flush=True,
                )
        return found, len(planned), trial.done
