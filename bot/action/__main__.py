"""Review the pull request of the event, post it, and end as `--fail-on` says.

The history comes from the checkout in `GITHUB_WORKSPACE`, the rest from the event's file: no text
of a pull request passes through a shell.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from bot.action.event import Event, read_event
from bot.action.summary import workflow_commands, write_summary
from bot.cli.arguments import Parser
from bot.cli.exit_codes import run_with_exit_code, severity_exit_code
from bot.errors import UserError
from bot.files import write_output
from bot.git import Git
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.i18n.escape import Markdown
from bot.pipeline import open_change, run_review
from bot.reports import format_named
from bot.reports.report import bugs_alone
from bot.workflows.check_output import finding_annotations


def main() -> int:
    """The step's exit code."""
    arguments = sys.argv[1:]
    asked = next((a.partition("=")[2] for a in arguments if a.startswith("--lang=")), "en")
    return run_with_exit_code(
        lambda: _run(_parsed(arguments)), arguments, asked if asked in LANGUAGES else "en"
    )


def _parsed(arguments: list[str]) -> argparse.Namespace:
    parser = Parser(prog="bot.action", allow_abbrev=False)
    parser.add_argument("--lang", choices=LANGUAGES, default="en")
    parser.add_argument("--fail-on", choices=("bug", "suggestion", "never"), default="bug")
    parser.add_argument("--persona", choices=("regular", "pedantic"), default="regular")
    parser.add_argument("--post", choices=("review", "bugs", "none", "shadow"), default="review")
    parser.add_argument("--profile", default="")
    return parser.parse_args(arguments)


def _run(args: argparse.Namespace) -> int:
    event = read_event(os.environ)
    texts, code = _reviewed(event, args)
    payload, findings = json.loads(texts["github"]), json.loads(texts["json"])["findings"]
    if args.post == "shadow":
        _summarise("", texts, payload)
        return 0
    # Before anything is asked of GitHub: these need no token and no network.
    write_output(workflow_commands(finding_annotations(findings, args.lang)), None)
    try:
        sentence = _posted(event, payload, findings, args)
    except UserError as error:
        _summarise(
            Catalog(args.lang, Markdown())(f"errors.{error.key}", **error.args_), texts, payload
        )
        raise
    _summarise(sentence, texts, payload)
    return code


def _reviewed(event: Event, args: argparse.Namespace) -> tuple[dict[str, str], int]:
    """The report in the formats that are needed, and the exit code that `--fail-on` asks for."""
    git = Git(Path(os.environ.get("GITHUB_WORKSPACE") or "."))
    with open_change(git, event.compared(git), event.pull) as change:
        report = run_review(
            change, profile=args.profile or None, pedantic=args.persona == "pedantic"
        )
        texts = {
            name: format_named(name).render(report, args.lang)
            for name in ("github", "json", "markdown")
        }
        if args.post == "bugs":
            posted = bugs_alone(report)
            texts |= {
                name: format_named(name).render(posted, args.lang) for name in ("github", "json")
            }
    return texts, severity_exit_code(report.review.findings, args.fail_on)


def _posted(
    event: Event,
    payload: dict[str, object],
    findings: list[dict[str, object]],
    args: argparse.Namespace,
) -> str:
    """What to say about the posting, empty where there is nothing to say."""
    if args.post == "none" or (args.post == "bugs" and not findings):
        return ""
    from bot.action.publish import post

    return Catalog(args.lang, Markdown())(post(event.place, payload, findings))


def _summarise(sentence: str, texts: dict[str, str], payload: dict[str, str]) -> None:
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if name:
        write_summary(name, sentence, texts["markdown"], payload["body"])


if __name__ == "__main__":
    sys.exit(main())
