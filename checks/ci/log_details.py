"""What a failure's own words name: a URL, a package, an image, a device's path, people.

Each function takes the failure's text and gives the empty string, or an empty tuple, where it names
none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_URL = re.compile(r"https?://[^\s'\"<>)\]}`,›]{4,400}")
# An address that a message gives to read more.
_TO_READ = re.compile(
    r"://(?:docs?|help|support|wiki|learn|go|aka|www)\.|/docs?/|/wiki/|/issues/|/errors?/|#"
)
_MANUAL_HOST = re.compile(r"^(?:www|docs?|help|support)\.")
_HOST = re.compile(
    r"(?:host=|host(?:name)?:? |resolve '?|lookup |connect to |resolving '|registry |@)'?"
    r"(?P<host>(?:[a-z0-9][a-z0-9-]{0,60}\.){1,6}[a-z]{2,20})\b",
    re.IGNORECASE,
)
_PACKAGES = tuple(
    re.compile(pattern)
    for pattern in (
        r"No matching distribution found for "
        r"(?P<name>[\w.\[\]-]{1,80}(?:[=<>!~]=?[\w.*+,<>=! ]{1,60})?)",
        r"satisfies the requirement (?P<name>[\w.\[\]-]{1,80}(?:[=<>!~]=?[\w.*+]{1,40})?)",
        r"Failed building (?:wheel|editable) for (?P<name>[\w.-]{1,80})",
        r"Cannot install (?P<name>[\w.\[\]-]{1,80}(?:==?[\w.+]{1,40})?)",
        r"Failed to build [`'](?P<name>[\w.-]{1,80})",
        r"Unable to locate package (?P<name>[\w.+-]{1,80})",
        r"Package '?(?P<name>[\w.+-]{1,80})'? "
        r"(?:has no installation candidate|requires a different)",
        r"No match for argument: (?P<name>[\w.+-]{1,80})",
        r"failed to select a version for (?:the requirement )?`(?P<name>[\w.-]{1,80})",
        r"missing go\.sum entry for module providing package (?P<name>[\w./-]{1,160})",
        r"no required module provides package (?P<name>[\w./-]{1,160})",
        r"Could not find (?P<name>(?:gem '[\w.-]{1,80}|[\w.-]{1,80}:[\w.-]{1,80}:[\w.-]{1,40}))",
        r"Could not resolve dependencies for project (?P<name>[\w.:-]{1,160})",
        r"(?:npm ERR!|npm error) 404\s{1,4}'(?P<name>[@\w./-]{1,120})",
        r"peer (?P<name>[@\w./-]{1,120}@\"[^\"]{1,60}\")",
        r"[Bb]ecause (?P<name>[\w.-]{1,80}(?:[=<>!~]=?[\w.*+]{1,40})?) "
        r"(?:is unusable|was not found|has no)",
        r"[Bb]ecause there (?:is|are) no versions? of "
        r"(?P<name>[\w.-]{1,80}(?:[=<>!~]=?[\w.*+]{1,40})?)",
        r"nothing provides (?:requested )?"
        r"(?P<name>[\w.-]{1,80}(?: (?:[=<>]{1,2} )?\d[\w.:~+-]{0,40})?)",
        r" : Depends: (?P<name>[\w.+-]{1,80}(?: \([<>=]{1,2} [^)]{1,40}\))?)",
        r"Version '[^']{1,60}' for '(?P<name>[\w.+-]{1,80})' was not found",
        r"ResolvePackageNotFound:\s{0,4}-?\s?(?P<name>[\w.=-]{1,80})",
        r"Version '?(?P<name>[\w.*-]{1,30})'? with (?:the )?arch",
    )
)
_PINNED_BY = (
    re.compile(r"from -r (?P<file>[\w./-]{1,200}) \(line \d{1,6}\)"),
    re.compile(r"(?P<file>[\w.-]{1,80}[ =<>~!\d.]{0,40}) depends on \S"),
    re.compile(r"from (?P<file>[@\w./-]{1,120}@[\w.-]{1,40})"),
    re.compile(r"(?P<file>[\w.+-]{1,80}) : Depends: "),
)
_MODULE = re.compile(
    r"No module named '?(?P<name>[\w.]{1,120})|Cannot find module '(?P<js>[^']{1,200})"
)
_IMAGE = re.compile(
    r"manifest for (?P<a>\S{1,200}) not found|pull access denied for (?P<b>[^\s,]{1,200})"
    r"|(?:docker\.io|ghcr\.io|quay\.io|nvcr\.io|gcr\.io|[\w.-]{1,80}\.[a-z]{2,8}(?::\d{1,5})?)/"
    r"(?P<c>[\w./-]{1,160}(?::[\w.-]{1,80})?)|docker pull (?P<d>\S{1,200})"
    r"|resolve source metadata for (?P<e>\S{1,200}?):? "
)
_ARTIFACT = re.compile(
    r"(?i)artifact(?:\(s\))?.{0,60}?(?:for name|named|name)[: ]{1,2}['\"]?(?P<name>[\w./-]{1,160})"
)
_DISK = re.compile(r"(?<![\w.:/-])(?P<path>/[\w.+@=/-]{2,300})")
_SIGNAL = re.compile(
    r"\b(?P<name>SIG(?:SEGV|BUS|ABRT|KILL|ILL|FPE|TERM|IOT|TRAP|SYS))\b"
    r"|(?P<segv>[Ss]egmentation [Ff]ault|SEGFAULT|SegFault)|(?P<bus>Bus error)|(?P<abrt>[Aa]borted)"
)
_SIGNAL_NUMBER = re.compile(
    r"(?i)\bsignal:? (?P<number>\d{1,2})\b|\b(?:exit(?:ed)?(?: with)?|return|status)"
    r"\s{0,2}(?:code|status)?\s{0,4}:?\s?(?P<exit>-\d{1,2}|1[2-5]\d)\b"
)
_KILLED = re.compile(r"\b[Kk]illed\b")
_SIGNALS = {
    4: "SIGILL",
    5: "SIGTRAP",
    6: "SIGABRT",
    7: "SIGBUS",
    8: "SIGFPE",
    9: "SIGKILL",
    11: "SIGSEGV",
    15: "SIGTERM",
}
_LIMIT = re.compile(
    r"(?i)(?:after|timeout(?:\(ms\))?|exceeded|longer than|limit of|time of|within|took|stuck for)"
    r"[ :=(>]{1,4}"
    r"(?P<limit>(?:\d{1,6}(?:h|m(?:in)?|s)){1,3}\b|\d{1,9}(?:\.\d{1,20})?\s?"
    r"(?:ms|milliseconds|seconds|secs?|s|minutes|min|m|hours|h)?\b)"
)
_PERCENT = re.compile(r"\d{1,3}(?:\.\d{1,6})?\s?%")
_LOGIN = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,38}[A-Za-z0-9])?"
_WITH_NAME = re.compile(rf"\b(?P<login>{_LOGIN})[((][\w.\- ]{{2,40}}[))]")
_MENTION = re.compile(rf"@(?P<login>{_LOGIN}(?:/{_LOGIN})?)")
_SEPARATOR = r"(?:\s?[,、/]\s?|\s(?:or|and|或)\s)"
_LISTED = re.compile(
    rf"[((](?P<list>{_LOGIN}(?:{_SEPARATOR}{_LOGIN}){{0,20}})[))]"
    rf"|(?:RD|[Rr]eviewers?|[Aa]pprovers?|[Oo]wners?|one of|from|by|由|请|联系|需要)\s?[:：]?\s?"
    rf"(?P<more>`?{_LOGIN}`?(?:{_SEPARATOR}`?{_LOGIN}`?){{1,20}})"
)
_FOR_WHAT = re.compile(
    r"approv\w{1,6}\s(?:is (?:required|needed) )?(?:for|to|before)\s(?P<what>.{3,160}?)\.?(?:\\n)?$"
)
# `... and the title must contain [Cherry-Pick]. Approval required from ...`
_BEFORE_WHO = re.compile(
    r"^(?P<what>.{3,240}?)[.;]?\s+Approval (?:is )?(?:required|needed) (?:from|by)\b"
)
# FastDeploy's check prints what is missing in one line: `0. You must ... [a].1. You must ... [b].`
_NUMBER = re.compile(r"(?:^|(?<=[.\]\n;])|(?<=\\n))\s*\d{1,2}\.\s+(?=[A-Z\u4e00-\u9fff])")
_ENDS = ".,;:'\")"
_GONE = re.compile(
    r"(?i)(?:error|code|status|returned|http/[\d.]{1,3}|:)\W{1,4}(?:error\W{1,3})?(?:404|410)\b"
    r"|\b(?:404|410):? (?:not found|gone|client error)"
)
_CERTIFICATE = re.compile(r"(?i)certificate|PKIX path|x509: |SSL_ERROR_|self[- ]signed")
_CHECKSUM = re.compile(
    r"(?i)hash sum mismatch|unexpected size|integrity check|EINTEGRITY"
    r"|\b(?:hash(?:es)?|checksums?|digests?) (?:mismatch|(?:do|does)(?: not|n't) match)"
)
_MISSING_FILE = re.compile(
    r"fatal error: '?(?P<header>[\w./+-]{1,200}?)'?(?:: No such file or directory| file not found)"
    r"|cannot open include file: '(?P<windows>[^']{1,200})'"
    r"|cannot find -l(?P<library>[\w.+-]{1,80})"
    r"|(?P<shared>[\w.+-]{1,120}\.so[\w.]{0,20}): cannot open shared object file"
)
_REFUSED = re.compile(r"\b40[13]\b.{0,30}(?:Client Error|Unauthorized|Forbidden)")
_TWICE = re.compile(r"(?i)artifact.{0,40} already exists")
_TEST_ID = re.compile(r"(?<![\w./-])(?P<id>[\w./-]{1,200}\.py::[^\s'\"]{1,200})")
_RUST_THREAD = re.compile(r"thread '(?P<name>[\w:]{3,200})' (?:\(\d{1,10}\) )?panicked")
_NOT_A_TEST = re.compile(r"^(?:main|tokio-.*|rayon.*|.*worker.*)$")
_GOROUTINE_AFTER = re.compile(
    r"^panic: \w{3,5} in goroutine after (?P<name>Test\S{1,300}) has completed"
)
_GOES_ON = re.compile(r":$|\bfailed to run$")
_MOST_CONTINUED = 3


@dataclass(frozen=True, slots=True)
class Approval:
    """Who may give an approval that is missing (`@login`s), and for what."""

    people: tuple[str, ...]
    what: str


def url(text: str) -> str:
    """The first URL, without what follows its path; none that only leads to a manual."""
    for match in _URL.finditer(text):
        if not _TO_READ.search(match[0]):
            return match[0].rstrip(_ENDS)
    return ""


def host(text: str) -> str:
    """The host of the first URL, or one that the text names."""
    found = url(text)
    if found:
        return found.split("/")[2].split("@")[-1]
    match = _HOST.search(text)
    if match is not None:
        return match["host"]
    # Better a host of the same people than none.
    to_read = _URL.search(text)
    if to_read is None:
        return ""
    return _MANUAL_HOST.sub("", to_read[0].split("/")[2])


def package(text: str) -> str:
    """A package that could not be installed, with its version where one is named."""
    for shape in _PACKAGES:
        match = shape.search(text)
        if match is not None:
            return match["name"].strip(" '")
    return ""


def pinned_by(text: str) -> str:
    """The file, or the package, that asks for a dependency."""
    for shape in _PINNED_BY:
        match = shape.search(text)
        if match is not None:
            return match["file"].strip()
    return ""


def module(text: str) -> str:
    """A module that could not be imported."""
    match = _MODULE.search(text)
    return (match["name"] or match["js"]) if match is not None else ""


def image(text: str) -> str:
    """A container image."""
    match = _IMAGE.search(text)
    if match is None:
        return ""
    return next(name for name in match.groups() if name).rstrip(_ENDS)


def artifact(text: str) -> str:
    """The name of an uploaded artifact."""
    match = _ARTIFACT.search(text)
    return match["name"] if match is not None else ""


def disk_path(text: str) -> str:
    """The path at which a disk was full."""
    match = _DISK.search(text)
    return match["path"].rstrip(_ENDS) if match is not None else ""


def signal(text: str) -> str:
    """The signal by its name; what the first line says goes before the rest."""
    for part in (text.partition("\n")[0], text):
        name = _signal_in(part)
        if name:
            return name
    return ""


def _signal_in(text: str) -> str:
    match = _SIGNAL.search(text)
    if match is not None and match["name"]:
        return match["name"]
    if match is not None:
        return {"segv": "SIGSEGV", "bus": "SIGBUS", "abrt": "SIGABRT"}[match.lastgroup or ""]
    for numbered in _SIGNAL_NUMBER.finditer(text):
        number = int(numbered["number"] or numbered["exit"])
        # A shell's status is 128 and the signal; Python's is the signal below zero.
        name = _SIGNALS.get(number - 128 if number > 128 else abs(number))
        if name:
            return name
    return "SIGKILL" if _KILLED.search(text) else ""


def limit(text: str) -> str:
    """A time limit, as the tool writes it."""
    match = _LIMIT.search(text)
    if match is None:
        return ""
    found = re.sub(r"(\.\d)\d+", r"\1", match["limit"].strip())
    return f"{found} ms" if "(ms)" in match[0] else found


def percentages(text: str) -> str:
    """The percentages of a coverage message, at most two."""
    return ", ".join(_PERCENT.findall(text)[:2])


def is_gone(text: str) -> bool:
    """Whether a host answered that nothing is at the address."""
    return _GONE.search(text) is not None


def is_certificate(text: str) -> bool:
    """Whether a certificate was not accepted."""
    return _CERTIFICATE.search(text) is not None


def is_checksum(text: str) -> bool:
    """Whether what came has not the checksum that was expected."""
    return _CHECKSUM.search(text) is not None


def is_refused(text: str) -> bool:
    """Whether a host did not let the task in."""
    return _REFUSED.search(text) is not None


def is_twice(text: str) -> bool:
    """Whether an artifact of the same name was there already."""
    return _TWICE.search(text) is not None


def missing_file(text: str) -> str:
    """A header or a library that the compiler, the linker or the loader did not find."""
    match = _MISSING_FILE.search(text)
    if match is None:
        return ""
    named = match["header"] or match["windows"] or match["shared"]
    return named or f"-l{match['library']}"


def pytest_id(error: str) -> str:
    """The test that an error's line names."""
    match = _TEST_ID.search(error)
    return match["id"] if match is not None else ""


def rust_test(error: str) -> str:
    """The test in whose thread a Rust program panicked."""
    match = _RUST_THREAD.search(error)
    return match["name"] if match is not None and not _NOT_A_TEST.match(match["name"]) else ""


def go_test(error: str) -> str:
    """The test that was over when one of its goroutines panicked."""
    match = _GOROUTINE_AFTER.search(error)
    return match["name"] if match is not None else ""


def whole(error: str, text: str) -> str:
    """The error with the next lines of the text, where it ends before it says what is wrong."""
    lines = iter(text.split("\n"))
    if not _GOES_ON.search(error) or not any(error in line for line in lines):
        return error
    said = error
    for line in [line.strip() for line in lines if line.strip()][:_MOST_CONTINUED]:
        said = f"{said} {line}"
        if not _GOES_ON.search(line):
            break
    return said


def approvals(text: str) -> list[Approval]:
    """Every approval that one line of a log asks for and says who may give."""
    asked = [_approval(part.strip()) for part in _NUMBER.split(text) if part.strip()]
    return [approval for approval in asked if approval.people]


def _approval(text: str) -> Approval:
    """Who may approve, and what, by one sentence."""
    logins = [match["login"] for match in _MENTION.finditer(text)]
    if not logins:
        logins = [match["login"] for match in _WITH_NAME.finditer(text)]
    if not logins:
        listed = _LISTED.search(text)
        if listed is not None:
            logins = re.findall(
                _LOGIN, re.sub(r"\b(?:or|and)\b", " ", listed["list"] or listed["more"])
            )
    what = _FOR_WHAT.search(text) or _BEFORE_WHO.search(text)
    people = tuple(dict.fromkeys(f"@{login}" for login in logins))
    return Approval(people, what["what"].strip() if what is not None else "")
