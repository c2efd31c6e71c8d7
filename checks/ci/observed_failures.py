"""What was seen to fail in a job, before anything is said of its cause."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from checks.ci.classify import Origin, Rule, scan_text
from checks.ci.frames import frames
from checks.ci.report import Category, Frame, LogLine

MOST_LINES = 10
# Rules whose line says only that something ended: equal lines are not equal failures.
_VAGUE = frozenset(
    {"exit", "error-line", "shell", "killed", "make", "ninja", "exit-timeout", "cancelled", "git"}
)
_MASKS = (
    (re.compile(r"\b0x[0-9a-fA-F]{1,16}\b"), "0x#"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "#uuid"),
    (re.compile(r"(?:/[\w.+@-]{1,100}){1,40}/"), "/"),
    (re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"), "#"),
    (re.compile(r"\s+"), " "),
)


@dataclass(frozen=True, slots=True)
class ObservedFailure:
    """A failed test, or the job itself (`test` empty). `text` is its traceback or the lines around the key line;
    `captured` is what other processes printed during the test: a server's own traceback."""

    category: Category
    error: str
    test: str = ""
    rule: str = ""
    origin: Origin = Origin.OPEN
    whole_job: bool = False
    structured: bool = False
    frames: tuple[Frame, ...] = ()
    lines: tuple[LogLine, ...] = ()
    text: str = ""
    captured: tuple[str, ...] = ()

    @property
    def signature(self) -> str:
        """16 hex digits, the same for the same failure elsewhere; empty where the error says too little."""
        if not self.error or (not self.test and (self.rule in _VAGUE or not self.rule)):
            return ""
        text = "\0".join((self.test or self.rule, mask_variable_parts(self.error)))
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def mask_variable_parts(error: str) -> str:
    """`error` without what differs from run to run: numbers, addresses, folders."""
    for mask, name in _MASKS:
        error = mask.sub(name, error[:1000])
    return error.strip().lower()


def test_failure(
    test: str, message: str, text: str, lines: tuple[LogLine, ...] = (), *, structured: bool
) -> ObservedFailure:
    """A failed test, classified by its own text; `message` is the tool's summary of it."""
    printed = text.split("\n")
    cut = next((n for n, line in enumerate(printed) if _CAPTURED.match(line)), len(printed))
    text, captured = "\n".join(printed[:cut]), tuple(printed[cut:])
    whole = f"{message}\n{text}" if text else message
    top = scan_text(whole).top
    error = _error(message, text, top.line.text if top else "")
    rule: Rule | None = top.rule if top else None
    category = rule.category if rule is not None else Category.UNKNOWN
    if category is Category.UNKNOWN:
        category = Category.TEST_FAILURE
    own = lines[:cut] or tuple(LogLine(0, line) for line in whole.split("\n"))
    return ObservedFailure(
        category=category,
        error=error,
        test=test,
        rule=rule.name if rule is not None else "",
        origin=rule.origin if rule is not None else Origin.OPEN,
        structured=structured,
        frames=frames(line.text for line in own),
        lines=telling_lines(own),
        text=whole,
        captured=captured,
    )


_ERROR = re.compile(
    r"^(?:E\s{1,40})?((?:[\w.]{1,120}\.)?[A-Z]\w{0,60}(?:Error|Exception|Exit|Interrupt|Warning|Failure)\b.{0,1000}"
    r"|Failed: .{1,1000})$"
)
_CAPTURED = re.compile(
    r"^-{3,200} Captured (?:std(?:out|err)|log) (?:setup|call|teardown) -{3,200}$"
)
_ASSERT = re.compile(r"^E\s{1,40}(assert .{1,1000})$")
_TELLING = re.compile(
    r"^(?:E\s{1,40}\S|>\s{1,40}\S|\S{1,300}\.\w{1,4}:\d{1,7}: |\s{0,8}File \"|FAILED |ERROR )"
)


def crash_in_output(captured: tuple[str, ...]) -> ObservedFailure | None:
    """The error of the last traceback that another process printed during the test, with its frames; else None."""
    if not any("Traceback (most recent call last)" in line for line in captured):
        return None
    error = next(
        (
            m[1]
            for line in reversed(captured)
            if (m := _ERROR.match(line.strip()[:1200])) is not None
        ),
        None,
    )
    if error is None:
        return None
    return ObservedFailure(
        Category.TEST_FAILURE, error, frames=frames(captured), text="\n".join(captured)
    )


def _error(message: str, text: str, line: str) -> str:
    """The error in a sentence: the last one of the traceback, else what the rule saw, else the summary."""
    lines = [part.strip()[:1200] for part in [*reversed(text.split("\n")), *message.split("\n")]]
    for shape in (_ERROR, _ASSERT):
        found = next((m for part in lines if (m := shape.match(part)) is not None), None)
        if found is not None:
            return found[1].strip()
    first = next((part.strip() for part in message.split("\n") if part.strip()), "")
    return (line.removeprefix("E").strip() or first)[:1000]


def telling_lines(lines: tuple[LogLine, ...]) -> tuple[LogLine, ...]:
    """The lines that tell, in their order: errors first where there are too many."""
    telling = [line for line in lines if _TELLING.match(line.text)]
    ranked = sorted(
        range(len(telling)), key=lambda n: (not telling[n].text.startswith(("E", "FAILED")), -n)
    )
    kept = sorted(ranked[:MOST_LINES])
    return tuple(telling[n] for n in kept)
