"""From a repository and two revisions to a reviewed change: what every command and the service do alike."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from bot.configuration import configuration
from bot.git import Blobs, Git, Range, change_set
from bot.i18n.catalog import Words
from bot.reports import Report
from bot.spread import spread
from checks.core.change import ChangeSet, PullRequest
from checks.core.config import FILE, Config
from checks.core.finding import Message
from checks.domain.change_facts import facts
from checks.review import review


@contextmanager
def opened(git: Git, compared: Range, pull: PullRequest) -> Iterator[ChangeSet]:
    """The change, readable while this is open.

    A review makes many small objects that live to its end; looking for garbage among them takes a tenth of its time.
    """
    gc.disable()
    try:
        with Blobs(git) as blobs:
            yield change_set(git, blobs, compared, pull)
    finally:
        # Into the oldest generation at once: else the next new object would have all of them looked through.
        gc.freeze()
        gc.unfreeze()
        gc.enable()


def reviewed(
    change: ChangeSet,
    *,
    config_file: str | None = None,
    profile: str | None = None,
    pedantic: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    skips: Sequence[Mapping[str, str]] = (),
    beside: Sequence[Callable[[ChangeSet, Config], Any]] = (),
) -> Report:
    """The report on a change, with the configuration that its base tree holds where no `config_file` is given.

    `skips` are rules that people asked to leave out, as `rule`, `login` and `reason`; the report says so. `beside` is
    as for `checks.review.review`.
    """
    config = configuration(change.base, config_file, profile)
    left_out = (*config.rules.disable, *(skip["rule"] for skip in skips))
    config = replace(config, rules=replace(config.rules, disable=left_out))
    everything = (facts, *beside)
    outcome = review(
        change, config, pedantic=pedantic, progress=progress, spread=spread, beside=everything
    )
    progress("")
    notes = [Message("rule-skipped", dict(skip)) for skip in skips]
    if config_file is None and change.base.read(FILE) != change.head.read(FILE):
        notes.append(Message("config-changed"))
    # Not at the top: `review` reads the rules while git works.
    from checks.registry import RULES

    ran = tuple(rule.ID for rule in RULES if rule.ID not in config.rules.disable)
    known = change.once(facts, lambda: facts(change, config))
    return Report(outcome, known, ran, tuple(notes))


def progress_on_terminal(words: Words) -> Callable[[str], None]:
    """Shows which rule runs, on standard error and only where that is a terminal; an empty name clears the line."""
    if not sys.stderr.isatty():
        return lambda _: None

    def show(name: str) -> None:
        sys.stderr.write("\r\x1b[K" + (words("report.progress", name=name) if name else ""))
        sys.stderr.flush()

    return show
