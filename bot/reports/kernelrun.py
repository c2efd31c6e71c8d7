"""The report of one kernel run, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from bot.i18n.catalog import LANGUAGES, Catalog
from bot.i18n.escape import Markdown, Plain
from bot.i18n.templates import Escaped
from bot.reports.blocks import Block, Heading, Items, Table, Text
from bot.reports.markdown import join, write
from bot.reports.terminal import write_at_width
from checks.kernelrun.comparison import Pair
from checks.kernelrun.files import to_json
from checks.kernelrun.model import CaseStatus, KernelCase, KernelRunResult, StatusReason, Times
from checks.kernelrun.speed import MEASURES

WIDTH = 100
"""Columns of the plain text: wider than a report's, because of the tables."""


def render(run: KernelRunResult, form: str, language: str) -> str:
    """The run as `terminal`, `markdown` or `json`. The last is the content of `results.json`."""
    if form == "json":
        return results_json(run)
    return as_text(blocks(run, words_for(form, language)), form)


def results_json(run: KernelRunResult) -> str:
    """The content of `results.json`, which `checks.kernelrun.files.from_json` reads again."""
    return json.dumps(to_json(run, reason_data), indent=1, ensure_ascii=False) + "\n"


def reason_data(reason: StatusReason | None) -> dict[str, Any] | None:
    """A reason in JSON: its key, its arguments, and its sentence in every language."""
    if reason is None:
        return None
    sentences = {language: reason_text(reason, Catalog(language)) for language in LANGUAGES}
    return {"key": reason.key, "args": dict(reason.args), **sentences}


def reason_text(reason: StatusReason, words: Catalog) -> str:
    """A reason as a sentence.

    A file of another version may have a key that has no sentence here: then the key.
    """
    try:
        return words(f"kernelrun.reason-{reason.key}", **reason.args)
    except KeyError:
        return words("kernelrun.unknown-reason", key=reason.key)


def words_for(form: str, language: str) -> Catalog:
    """The words for a form of output."""
    if form == "markdown":
        return Catalog(language, Markdown())
    return Catalog(language, Plain())


def as_text(parts: Iterable[Block], form: str) -> str:
    """Blocks as Markdown, or as plain text."""
    if form == "markdown":
        return join(write(block) for block in parts)
    return write_at_width(parts, WIDTH)


def blocks(run: KernelRunResult, words: Catalog) -> Iterator[Block]:
    """The report of one run for people."""
    yield Heading(2, words("kernelrun.run-title"))
    yield Items(facts(run, words))
    header = tuple(words(f"kernelrun.column-{c}") for c in ("case", "status", "error", "time"))
    yield Table(header, tuple(_row(case, words) for case in run.cases))
    details = tuple(_detail(case, words) for case in run.cases if case.reason)
    if details:
        yield Heading(3, words("kernelrun.details"))
        yield Items(details)
    if run.device.get("interpreter"):
        yield Text(words("kernelrun.no-speed"))
    yield Text(_total(run, words))


def facts(run: KernelRunResult, words: Catalog) -> tuple[str, ...]:
    """Where the cases ran, with which versions, and how the code was confined."""
    confinement = run.confinement
    tool = {"tool": confinement.tool}
    versions = ", ".join(f"{name} {version}" for name, version in sorted(run.versions.items()))
    if confinement.tool == "none":
        network = words("kernelrun.network-on")
    else:
        network = words("kernelrun.network-off", **tool)
    if confinement.files:
        files = words("kernelrun.files-off", **tool)
    else:
        files = words("kernelrun.files-on")
    return (
        words("kernelrun.on-device", device=device(run)),
        words("kernelrun.with-versions", versions=versions),
        network,
        files,
    )


def device(run: KernelRunResult) -> str:
    """The device on one line, without the parts that the versions already say."""
    parts = []
    for key, value in run.device.items():
        if key not in run.versions and key != "interpreter":
            parts.append(f"{key} {value}")
    return ", ".join(parts) or "-"


def name(case: KernelCase | Pair) -> str:
    """`op/case`."""
    return f"{case.op}/{case.name}"


def reason(case: KernelCase, words: Catalog) -> Escaped:
    """Why a case is not ok, as finished text; empty for a case that is."""
    if case.reason is None:
        return Escaped("")
    return Escaped(reason_text(case.reason, words))


def _detail(case: KernelCase, words: Catalog) -> str:
    return words("kernelrun.detail", case=name(case), reason=reason(case, words))


def _total(run: KernelRunResult, words: Catalog) -> str:
    statuses = [case.status for case in run.cases]
    good = statuses.count(CaseStatus.OK)
    skipped = statuses.count(CaseStatus.UNSUPPORTED)
    total = len(statuses)
    bad = total - good - skipped
    return words("kernelrun.run-total", total=total, good=good, skipped=skipped, bad=bad)


def _row(case: KernelCase, words: Catalog) -> tuple[str, ...]:
    error = time = ""
    if case.max_error is not None and case.outputs:
        error = f"{case.max_error:.2g}"
    if case.status is CaseStatus.OK:
        time = _microseconds(case.times)
    return (words.style.code(name(case)), words(f"kernelrun.status-{case.status}"), error, time)


def _microseconds(times: Times | None) -> str:
    """Median and interquartile range in microseconds; empty where nothing real was measured
    (interpreter).
    """
    if times is None or times.how not in MEASURES:
        return ""
    return f"{times.median * 1e6:.2f} us ({times.iqr * 1e6:.2f})"
