"""Review the pull request of the event, post it, and end as `--fail-on` says.

The history comes from the checkout in `GITHUB_WORKSPACE`, the rest from the event's file: no text
of a pull request passes through a shell.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from bot.action.device import ACTIONS, DeviceOrder, run_device
from bot.action.event import Event, read_event
from bot.action.summary import warning, workflow_commands, write_summary
from bot.cli.arguments import Parser
from bot.cli.exit_codes import run_with_exit_code, severity_exit_code
from bot.cli.options.values import duration
from bot.errors import UserError
from bot.files import write_output
from bot.git import Git
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.i18n.escape import Markdown
from bot.pipeline import open_change, run_review
from bot.reports import device as device_report
from bot.reports import format_named
from bot.reports.device_run import DeviceReport
from bot.reports.report import bugs_alone
from bot.workflows.check_output import finding_annotations
from checks.core.change import ChangeSet


@dataclass(frozen=True, slots=True)
class _Reviewed:
    """A review in the formats that are needed, and the exit code that `--fail-on` asks for.

    `device` tells of the run of device code, in Markdown; `lost` says why there was none.
    """

    texts: dict[str, str]
    code: int
    device: str = ""
    lost: UserError | None = None


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
    parser.add_argument("--device", choices=("none", *ACTIONS), default="none")
    parser.add_argument("--device-minutes", type=duration, default=30.0)
    return parser.parse_args(arguments)


def _run(args: argparse.Namespace) -> int:
    event = read_event(os.environ)
    reviewed = _review(event, args)
    texts = reviewed.texts
    payload, findings = json.loads(texts["github"]), json.loads(texts["json"])["findings"]
    if args.post == "shadow":
        _summarise("", reviewed, payload, args)
        return 0
    # Before anything is asked of GitHub: these need no token and no network.
    write_output(workflow_commands(finding_annotations(findings, args.lang)), None)
    if reviewed.lost is not None:
        write_output(warning(_sentence(reviewed.lost, Catalog(args.lang))), None)
    try:
        sentence = _posted(event, payload, findings, args)
    except UserError as error:
        _summarise(_sentence(error, Catalog(args.lang, Markdown())), reviewed, payload, args)
        raise
    _summarise(sentence, reviewed, payload, args)
    return reviewed.code


def _review(event: Event, args: argparse.Namespace) -> _Reviewed:
    git = Git(Path(os.environ.get("GITHUB_WORKSPACE") or "."))
    with open_change(git, event.compared(git), event.pull) as change:
        ran, lost = _run_device(change, args)
        report = run_review(
            ran.change if ran is not None else change,
            profile=args.profile or None,
            pedantic=args.persona == "pedantic",
        )
        if ran is not None:
            report = replace(report, notes=(*report.notes, device_report.note(ran)))
        texts = {
            name: format_named(name).render(report, args.lang)
            for name in ("github", "json", "markdown")
        }
        if args.post == "bugs":
            posted = bugs_alone(report)
            texts |= {
                name: format_named(name).render(posted, args.lang) for name in ("github", "json")
            }
    told = device_report.render_run(ran, args.lang) if ran is not None else ""
    code = severity_exit_code(report.review.findings, args.fail_on)
    return _Reviewed(texts, code, told, lost)


def _run_device(
    change: ChangeSet, args: argparse.Namespace
) -> tuple[DeviceReport | None, UserError | None]:
    """What came of the device code where it is to be run, and why it was not where it could not
    be: the review goes on without it."""
    if args.device == "none":
        return None, None
    event = os.environ.get("GITHUB_EVENT_NAME") or ""
    order = DeviceOrder(args.device, args.device_minutes, event, args.profile or None)
    try:
        return run_device(change, order), None
    except UserError as error:
        return None, error


def _sentence(error: UserError, words: Catalog) -> str:
    return words(f"errors.{error.key}", **error.args_)


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


def _summarise(
    sentence: str, reviewed: _Reviewed, payload: dict[str, str], args: argparse.Namespace
) -> None:
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    said = [sentence] if sentence else []
    if reviewed.lost is not None:
        said.append(_sentence(reviewed.lost, Catalog(args.lang, Markdown())))
    parts = [reviewed.texts["markdown"], *([reviewed.device] if reviewed.device else [])]
    write_summary(name, "\n\n".join(said), "\n".join(parts), payload["body"])


if __name__ == "__main__":
    sys.exit(main())
