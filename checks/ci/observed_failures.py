"""What was observed to fail in a job, before anything is said about its cause."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

from checks.ci.classify import Match, Origin, scan_text
from checks.ci.explaining_lines import own_word
from checks.ci.frames import frames
from checks.ci.report import Category, Frame, LogLine

MOST_LINES = 10
# Rules whose line says only that something ended: equal lines are not equal failures.
_VAGUE = frozenset(
    {"exit", "error-line", "shell", "killed", "make", "ninja", "exit-timeout", "cancelled", "git"}
)
# Rules whose line may only name a test: what its framework says of it tells more.
_NAMING = frozenset({"other-test-failure"})
# Compilers of which a test that ran may tell, such as a documentation test: the test failed.
_COMPILED_BY_TEST = frozenset({"rust-go-compiler", "rust-compiler"})
# What differs from run to run, and what stands for it in a signature.
_MASKS = (
    (re.compile(r"\b0x[0-9a-fA-F]{1,16}\b"), "0x#"),
    (re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"), "#uuid"),
    (re.compile(r"(?:/[\w.+@-]{1,100}){1,40}/"), "/"),
    (re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"), "#"),
    (re.compile(r"\s+"), " "),
)
# The expressions below see at most this much of a line: their time must not depend on a stranger's
# log.
_LONGEST_LINE = 1200
_LONGEST_ERROR = 1000
# Categories whose rules name no cause.
_PLAIN = (Category.TEST_FAILURE, Category.COLLECTION_ERROR, Category.NUMERICAL, Category.UNKNOWN)
_ERROR = re.compile(
    r"^(?:E\s{1,40})?"
    r"((?:[\w.]{1,120}\.)?[A-Z]\w{0,60}(?:Error|Exception|Exit|Interrupt|Warning|Failure)\b"
    r".{0,1000}|Failed: .{1,1000})$"
)
_ASSERT = re.compile(r"^E\s{1,40}(assert .{1,1000})$")
_CAPTURED = re.compile(
    r"^-{3,200} Captured (?:std(?:out|err)|log) (?:setup|call|teardown) -{3,200}$"
)
_KEY_LINE = re.compile(
    r"^(?:_{3,300} \S|\s{0,6}E\s{2,40}\S|>\s{1,40}\S|\S{1,300}\.\w{1,4}:\d{1,7}: "
    r"|\s{0,8}File \"|FAILED |ERROR )"
)


@dataclass(frozen=True, slots=True)
class ObservedFailure:
    """A failed test, or the job itself (`test` empty).

    `text` is its traceback, or the lines around the key line. `captured` is what other processes
    printed during the test, such as a server's own traceback. `structured`: read from a JUnit file,
    not from the log. `same_rule`: all lines of a rule that keeps every one. `unusual`: lines that
    nothing explains, as a guess; `compared` with a log of the job that passed, and with
    `earlier_logs` others, of which `in_earlier_logs` had the most usual of them. `named`: where the
    log names the failure itself, such as in a summary. `began`: where it shows that the test was
    running when the job died.
    """

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
    same_rule: tuple[str, ...] = ()
    unusual: tuple[str, ...] = ()
    compared: bool = False
    earlier_logs: int = 0
    in_earlier_logs: int = 0
    named: LogLine | None = None
    began: LogLine | None = None

    @property
    def signature(self) -> str:
        """16 hex digits that are the same for the same failure elsewhere; empty where the error
        says too little.
        """
        if not self.error:
            return ""
        subject = self.test
        if not subject:
            subject = "" if self.rule in _VAGUE else self.rule
        if not subject:
            return ""
        text = f"{subject}\0{mask_variable_parts(self.error)}"
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def mask_variable_parts(error: str) -> str:
    """`error` without what differs from run to run: numbers, addresses, folders."""
    for mask, name in _MASKS:
        error = mask.sub(name, error[:_LONGEST_ERROR])
    return error.strip().lower()


def observe_failed_test(
    test: str, message: str, text: str, lines: tuple[LogLine, ...] = (), *, structured: bool
) -> ObservedFailure:
    """A failed test, classified by its own text.

    `message` is the tool's summary of the failure; `lines` are those of `text` where it comes from
    a log.
    """
    printed = text.split("\n")
    end = _start_of_captured(printed)
    traceback = "\n".join(printed[:end])
    whole = f"{message}\n{traceback}" if traceback else message
    top = _top(whole if structured else _own_words(message, traceback))
    own_lines = lines[:end]
    if not own_lines:
        own_lines = tuple(LogLine(0, line) for line in whole.split("\n"))
    error = _error_of_test(message, traceback, top)
    return ObservedFailure(
        category=_test_category(top),
        error=error,
        test=test,
        rule=top.rule.name if top is not None else "",
        origin=top.rule.origin if top is not None else Origin.OPEN,
        structured=structured,
        frames=frames(line.text for line in own_lines),
        lines=key_lines(own_lines, error),
        text=whole,
        captured=tuple(printed[end:]),
    )


def _top(text: str) -> Match | None:
    """What the rules say first of a test's text, with the line that tells most of it."""
    scanned = scan_text(text)
    top = scanned.top
    return Match(top.rule, own_word(top, scanned)) if top is not None else None


def _own_words(message: str, traceback: str) -> str:
    """The lines that pytest marks as the error's, where it marks any, else all.

    In a log other processes' lines may stand between those of a traceback.
    """
    marked = [line for line in traceback.split("\n") if line.lstrip().startswith("E  ")]
    return "\n".join((message, *marked)) if marked else f"{message}\n{traceback}"


def _start_of_captured(lines: list[str]) -> int:
    """Where the output of other processes begins in pytest's text of a failure."""
    for number, line in enumerate(lines):
        if _CAPTURED.match(line):
            return number
    return len(lines)


def _test_category(top: Match | None) -> Category:
    if top is None or top.rule.category is Category.UNKNOWN or top.rule.name in _COMPILED_BY_TEST:
        return Category.TEST_FAILURE
    return top.rule.category


def crash_in_output(captured: tuple[str, ...]) -> ObservedFailure | None:
    """The last traceback that another process printed during the test, with its frames, or None."""
    if not any("Traceback (most recent call last)" in line for line in captured):
        return None
    for line in reversed(captured):
        match = _ERROR.match(line.strip()[:_LONGEST_LINE])
        if match is not None:
            return ObservedFailure(
                Category.TEST_FAILURE,
                match[1],
                frames=frames(captured),
                text="\n".join(captured),
            )
    return None


def _error_of_test(message: str, traceback: str, top: Match | None) -> str:
    """The error as one sentence.

    What a rule names as the cause where the last error does not say it; else the last error of the
    traceback, its last assertion, the line that the rule took, or the summary.
    """
    error = _last_error(message, traceback)
    from_rule = top.line.text.removeprefix("E  ").strip() if top is not None else ""
    if top is not None and top.rule.category not in _PLAIN:
        explains = error and top.rule.match(error) is None
        if explains or not error:
            return from_rule[:_LONGEST_ERROR]
    if error:
        return error
    names_only = top is not None and message and _names_only(top)
    if from_rule and not names_only:
        return from_rule[:_LONGEST_ERROR]
    for line in message.split("\n"):
        if line.strip():
            return line.strip()[:_LONGEST_ERROR]
    return ""


def _names_only(top: Match) -> bool:
    return top.rule.form is not None or top.rule.name in _NAMING


def _last_error(message: str, traceback: str) -> str:
    summary = [line.strip() for line in message.split("\n")]
    last_lines_first = [line.strip() for line in reversed(traceback.split("\n"))]
    for shape in (_ERROR, _ASSERT):
        for line in [*last_lines_first, *summary]:
            match = shape.match(line[:_LONGEST_LINE])
            if match is not None:
                return match[1].strip()
    return ""


def key_lines(lines: tuple[LogLine, ...], error: str = "") -> tuple[LogLine, ...]:
    """The lines that tell what happened, in their order, the error's among them.

    Where there are too many, errors and the last lines stay.
    """
    candidates = []
    for line in lines:
        says_error = bool(error) and error in line.text
        if says_error or _KEY_LINE.match(line.text):
            candidates.append(line)

    def rank(index: int) -> tuple[bool, int]:
        text = candidates[index].text
        is_error = text.startswith(("E", "FAILED")) or (bool(error) and error in text)
        return (not is_error, -index)

    best = sorted(range(len(candidates)), key=rank)[:MOST_LINES]
    return tuple(candidates[index] for index in sorted(best))
