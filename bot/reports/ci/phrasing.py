"""The wording of the parts of a CI report: names, durations, sentences, and how much of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bot.i18n.catalog import Catalog
from bot.i18n.templates import place
from checks.ci.message_keys import Note
from checks.ci.model import Job, Status
from checks.ci.report import Failure, Suggestion
from checks.core.finding import Location, Message


@dataclass(frozen=True, slots=True)
class Level:
    """How much of a report is written.

    Rows of a table, failures of a job, lines of a log, pieces of evidence; and whether it has the
    details of optional jobs, the coverage, and the earlier results of what failed.
    """

    rows: int
    failures: int
    lines: int
    evidence: int
    optional: bool
    coverage: bool = True
    past: bool = True


# From everything to as little as still helps.
LEVELS = (
    Level(rows=200, failures=30, lines=10, evidence=8, optional=True),
    Level(rows=100, failures=20, lines=10, evidence=6, optional=False),
    Level(rows=60, failures=10, lines=5, evidence=3, optional=False, past=False),
    Level(rows=30, failures=5, lines=2, evidence=1, optional=False, coverage=False, past=False),
    Level(rows=15, failures=2, lines=0, evidence=0, optional=False, coverage=False, past=False),
)
_LONGEST = 300
_MOST_PLACES = 8


def root(failure: Failure, words: Catalog, longest: int = _LONGEST) -> str:
    """The root-cause sentence."""
    return message(failure.root, words, longest=longest)


def message(
    sentence: Message, words: Catalog, places: Sequence[str] = (), longest: int = _LONGEST
) -> str:
    """A sentence of the analysis. Long values, which are from a log, are cut."""
    args: dict[str, Any] = {}
    for name, value in sentence.args.items():
        if isinstance(value, str):
            args[name] = cut(value, longest)
        elif isinstance(value, list):
            args[name] = [cut(item, longest) for item in value]
        else:
            args[name] = value
    if sentence.key.startswith("advice-"):
        args["places"] = list(places)
    if sentence.key == Note.NO_CHANGE:
        args["option"] = "--repo, --base, --head"
    return words(f"ci.{sentence.key}", **args)


def cut(text: str, most: int) -> str:
    """At most `most` characters of a text, with `…` where it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def advice(
    suggestions: Iterable[Suggestion], words: Catalog, longest: int = _LONGEST
) -> tuple[str, ...]:
    """What to do, each thing once with all its places."""
    messages: dict[str, Message] = {}
    places: dict[str, list[Location]] = {}
    for suggestion in suggestions:
        sentence = message(suggestion.message, words, longest=longest)
        messages.setdefault(sentence, suggestion.message)
        places_of = places.setdefault(sentence, [])
        if suggestion.location is not None and suggestion.location not in places_of:
            places_of.append(suggestion.location)
    lines = []
    for sentence, first_message in messages.items():
        shown = _group_by_file(places[sentence][:_MOST_PLACES])
        lines.append(message(first_message, words, shown, longest))
    return tuple(lines)


def _group_by_file(locations: Sequence[Location]) -> list[str]:
    """`file:38/65-67` for each file."""
    lines: dict[str, list[str]] = {}
    for location in sorted(locations, key=lambda at: at.start_line):
        line = place(location).removeprefix(f"{location.path}:")
        lines.setdefault(location.path, []).append(line)
    texts = []
    for path, lines_of_file in lines.items():
        # A place without a line is the path alone.
        is_whole_file = lines_of_file == [path]
        texts.append(path if is_whole_file else f"{path}:{'/'.join(lines_of_file)}")
    return texts


def state(job: Job, words: Catalog) -> str:
    """The state with its sign."""
    if job.status is Status.COMPLETED:
        return words(f"ci.state-{job.conclusion}")
    return words(f"ci.state-{job.status}")


def name(job: Job) -> str:
    """What people know a job by: its workflow before its own name, where that is not in it.

    The event stands behind it as on GitHub's page: `CI / unit (push)`.
    """
    prefix = f"{job.workflow} / "
    name = job.name
    if job.workflow and not name.startswith(prefix):
        name = prefix + name
    return f"{name} ({job.event})" if job.event else name


def duration(seconds: int | None, words: Catalog) -> str:
    """A duration in words, rounded down to minutes or seconds; empty where it is not known."""
    if seconds is None:
        return ""
    minutes, rest = divmod(seconds, 60)
    if seconds >= 3600:
        return words("ci.hours", hours=minutes // 60, minutes=minutes % 60)
    if seconds >= 60:
        return words("ci.minutes", minutes=minutes, seconds=rest)
    return words("ci.seconds", seconds=seconds)


def links(job: Job, words: Catalog) -> str:
    """Where to read the log, or else the job."""
    if job.log_url:
        return words.style.link(words("ci.link-log"), job.log_url)
    if job.url:
        return words.style.link(words("ci.link-job"), job.url)
    return ""


def again(job: Job, words: Catalog, *, link: bool = True) -> str:
    """Where to run it again, and how often that was done."""
    parts = []
    if job.rerun_url and link:
        parts.append(words.style.link(words("ci.link-rerun"), job.rerun_url))
    if job.reruns:
        parts.append(words("ci.reruns", attempt=job.attempt))
    return words("report.comma").join(parts)
