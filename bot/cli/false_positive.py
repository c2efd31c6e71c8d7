"""`specbot report-false-positive`: a small, anonymous case of a finding, made on this machine."""

from __future__ import annotations

import argparse

import bot
from bot.cli.compared import open_named_change
from bot.configuration import load_configuration
from bot.errors import UserError
from bot.files import write_output
from bot.i18n.catalog import Catalog
from checks.core.finding import Finding
from checks.evaluation.small_case import as_markdown, small_case
from checks.registry import rule as rule_named
from checks.review import review

_SHORTEST = 6


def run(args: argparse.Namespace) -> int:
    """Write the case. Raises `UserError` for a fingerprint that no finding has, and where no case
    can be made of it."""
    words = Catalog(args.lang)
    with open_named_change(args) as named:
        change = named.change
        config = load_configuration(change.base, args.config, args.profile)
        outcome = review(change, config, pedantic=True)
        finding = _named_finding(outcome.findings, args.fingerprint)
        rule = rule_named(finding.rule)
        case = None if rule is None else small_case(change, config, rule, finding)
    if case is None:
        raise UserError("false-positive-no-case", rule=finding.rule)
    text = as_markdown(case, finding.rule, lambda one: words.message(one.rule, one.message))
    note = words("cli.false-positive-note", version=bot.__version__, profile=config.profile)
    write_output(f"{text}\n{note}\n", args.output)
    return 0


def _named_finding(findings: tuple[Finding, ...], fingerprint: str) -> Finding:
    """The finding whose fingerprint begins so."""
    if len(fingerprint) < _SHORTEST:
        raise UserError("false-positive-short", fingerprint=fingerprint, least=_SHORTEST)
    for finding in findings:
        if finding.fingerprint.startswith(fingerprint):
            return finding
    raise UserError("false-positive-unknown", fingerprint=fingerprint)
