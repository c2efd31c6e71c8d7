"""From a repository and two revisions to a reviewed change: what every command and the service do
alike."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from bot.configuration import load_configuration
from bot.garbage import stop_collecting
from bot.git import BlobStore, Git, Range, change_set
from bot.i18n.catalog import Catalog
from bot.reports import Report
from checks.core.change import ChangeSet, PullRequest
from checks.core.config import FILE
from checks.core.finding import Message
from checks.core.rule_ids import ids_meant
from checks.domain.change_facts import change_facts
from checks.registry import RULES
from checks.review import review


@contextmanager
def open_change(git: Git, compared: Range, pull: PullRequest) -> Iterator[ChangeSet]:
    """The change, readable while this is open."""
    stop_collecting()
    with BlobStore(git) as blobs:
        yield change_set(git, blobs, compared, pull)


def run_review(
    change: ChangeSet,
    *,
    config_file: str | None = None,
    profile: str | None = None,
    pedantic: bool = False,
    progress: Callable[[str], None] = lambda _: None,
    skips: Sequence[Mapping[str, str]] = (),
) -> Report:
    """The report on a change, with the configuration that its base tree holds where no
    `config_file` is given.

    `skips` are rules that people asked to leave out, as `rule`, `login` and `reason`; the report
    says so.
    """
    config = load_configuration(change.base, config_file, profile)
    named = (*config.rules.disable, *(skip["rule"] for skip in skips))
    known = [rule.ID for rule in RULES]
    left_out = tuple(rule for name in named for rule in ids_meant(name, known))
    config = replace(config, rules=replace(config.rules, disable=left_out))
    outcome = review(change, config, pedantic=pedantic, progress=progress)
    progress("")
    notes = [Message("rule-skipped", dict(skip)) for skip in skips]
    notes += [
        Message("rule-renamed", {"old": name, "new": ids_meant(name, known)})
        for name in dict.fromkeys(named)
        if name not in known
    ]
    if config_file is None and change.base.read(FILE) != change.head.read(FILE):
        notes.append(Message("config-changed"))
    ran = tuple(rule.ID for rule in RULES if rule.ID not in config.rules.disable)
    return Report(outcome, change_facts(change, config), ran, tuple(notes))


def progress_on_terminal(words: Catalog) -> Callable[[str], None]:
    """Shows which rule runs, on standard error and only where that is a terminal; an empty name
    clears the line."""
    if not sys.stderr.isatty():
        return lambda _: None

    def show(name: str) -> None:
        sys.stderr.write("\r\x1b[K" + (words("report.progress", name=name) if name else ""))
        sys.stderr.flush()

    return show
