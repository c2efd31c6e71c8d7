"""`specbot review`: one change, from a local repository to a report."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.configuration import configuration
from bot.errors import UserError
from bot.files import read_text, write_output
from bot.git import Blobs, Git, Range, change_set, resolve
from bot.reports import Report, format_named
from bot.words import Words
from checks.change import ChangeSet, PullRequest
from checks.config import FILE
from checks.facts import facts
from checks.finding import Message, Severity
from checks.registry import RULES
from checks.review import Review, review


def run(args: argparse.Namespace) -> int:
    """Review, write the report, and give the exit code that `--fail-on` asks for."""
    pull = _pull(args)
    git = Git(Path(args.repo))
    compared = resolve(git, args.base, args.head, merge_base=args.merge_base)
    with _no_collection(), Blobs(git) as blobs:
        change = change_set(git, blobs, compared, _aimed(pull, compared, args.target_branch))
        report = _report(change, args)
        text = format_named(args.format).render(report, args.lang)
    write_output(text, args.output)
    return _exit_code(report.review, args.fail_on)


@contextmanager
def _no_collection() -> Iterator[None]:
    """A review makes many small objects that live to its end; looking for garbage among them takes a tenth of its
    time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _pull(args: argparse.Namespace) -> PullRequest:
    if args.title is None:
        if args.body_file is not None:
            raise UserError("body-without-title")
        return PullRequest()
    body = read_text(args.body_file) if args.body_file is not None else ""
    return PullRequest(title=args.title, body=body, known=True)


def _aimed(pull: PullRequest, compared: Range, target: str | None) -> PullRequest:
    branch = target if target is not None else compared.target
    return PullRequest(pull.title, pull.body, pull.labels, branch, pull.known)


def _report(change: ChangeSet, args: argparse.Namespace) -> Report:
    config = configuration(change.base, args.config, args.profile)
    progress = _progress(Words(args.lang))
    outcome = review(change, config, RULES, pedantic=args.persona == "pedantic", progress=progress)
    progress("")
    notes = []
    if args.config is None and change.base.read(FILE) != change.head.read(FILE):
        notes.append(Message("config-changed"))
    ran = tuple(rule.ID for rule in RULES if rule.ID not in config.rules.disable)
    return Report(outcome, facts(change, config), ran, tuple(notes))


def _progress(words: Words) -> Callable[[str], None]:
    """Shows which rule runs, on standard error and only where that is a terminal; an empty name clears the line."""
    if not sys.stderr.isatty():
        return lambda _: None

    def show(name: str) -> None:
        sys.stderr.write("\r\x1b[K" + (words("report.progress", name=name) if name else ""))
        sys.stderr.flush()

    return show


def _exit_code(outcome: Review, fail_on: str) -> int:
    order = list(Severity)
    if fail_on == "never":
        return 0
    least = order.index(Severity(fail_on))
    return int(any(order.index(f.severity) <= least for f in outcome.findings))
