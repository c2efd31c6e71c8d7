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
from checks.core.budget import within_budget
from checks.core.change import ChangeSet, PullRequest
from checks.core.config import FILE
from checks.core.finding import FINGERPRINT, Finding, Message
from checks.core.rule_ids import GONE, ids_meant
from checks.domain.change_facts import change_facts
from checks.registry import RULES
from checks.review import review
from checks.summary.agreements import find_agreements
from checks.summary.headline import find_headline


@contextmanager
def open_change(git: Git, compared: Range, pull: PullRequest) -> Iterator[ChangeSet]:
    """The change, readable while this is open."""
    stop_collecting()
    with BlobStore(git) as blobs:
        yield within_budget(change_set(git, blobs, compared, pull))


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

    `skips` are rules that people asked to leave out, as `rule`, `login` and `reason`, and findings,
    whose fingerprint stands as the `rule`; the report says so.
    """
    config = load_configuration(change.base, config_file, profile)
    ignored = {skip["rule"]: skip for skip in skips if FINGERPRINT.fullmatch(skip["rule"])}
    skips = [skip for skip in skips if skip["rule"] not in ignored]
    named = (*config.rules.disable, *(skip["rule"] for skip in skips))
    known = [rule.ID for rule in RULES]
    left_out = tuple(rule for name in named for rule in ids_meant(name, known))
    config = replace(config, rules=replace(config.rules, disable=left_out))
    outcome = review(change, config, pedantic=pedantic, progress=progress)
    progress("")
    notes = [Message("rule-skipped", dict(skip)) for skip in skips]
    notes += _ignored_notes(outcome.findings, ignored)
    left = [finding for finding in outcome.findings if finding.fingerprint not in ignored]
    outcome = replace(outcome, findings=tuple(left))
    notes += [_about_old_id(name, known) for name in dict.fromkeys(named) if name not in known]
    if config_file is None and change.base.read(FILE) != change.head.read(FILE):
        notes.append(Message("config-changed"))
    ran = tuple(rule.ID for rule in RULES if rule.ID not in config.rules.disable)
    facts = change_facts(change, config)
    return Report(
        outcome,
        facts,
        ran,
        tuple(notes),
        headline=find_headline(change, config, facts),
        agreements=find_agreements(change, config, outcome.findings, ran),
    )


def _about_old_id(name: str, known: Sequence[str]) -> Message:
    """What became of a rule that was called `name`."""
    if name in GONE:
        return Message("rule-gone", {"old": name})
    return Message("rule-renamed", {"old": name, "new": ids_meant(name, known)})


def _ignored_notes(
    findings: Sequence[Finding], ignored: Mapping[str, Mapping[str, str]]
) -> Iterator[Message]:
    """A remark on each finding that is left out."""
    for finding in findings:
        skip = ignored.get(finding.fingerprint)
        if skip is not None:
            args = {"rule": finding.rule, "place": finding.location}
            reason = {"login": skip["login"], "reason": skip["reason"]}
            yield Message("finding-ignored", args | reason)


def progress_on_terminal(words: Catalog) -> Callable[[str], None]:
    """Shows which rule runs, on standard error and only where that is a terminal; an empty name
    clears the line."""
    if not sys.stderr.isatty():
        return lambda _: None

    def show(name: str) -> None:
        sys.stderr.write("\r\x1b[K" + (words("report.progress", name=name) if name else ""))
        sys.stderr.flush()

    return show
