"""What a failure's own words name: a URL, a package, an image, a device's path, people.

Each function takes the failure's text and gives the empty string, or an empty tuple, where it names
none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_URL = re.compile(r"https?://[^\s'\"<>)\]}`,›]{4,400}")
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
        r"because (?P<name>[\w.-]{1,80}) (?:was not found|has no)",
        r"nothing provides (?P<name>[\w.-]{1,80})",
        r"ResolvePackageNotFound:\s{0,4}-?\s?(?P<name>[\w.=-]{1,80})",
        r"Version '?(?P<name>[\w.*-]{1,30})'? with (?:the )?arch",
    )
)
_PINNED_BY = (
    re.compile(r"from -r (?P<file>[\w./-]{1,200}) \(line \d{1,6}\)"),
    re.compile(r"(?P<file>[\w.-]{1,80}[ =<>~!\d.]{0,40}) depends on \S"),
    re.compile(r"from (?P<file>[@\w./-]{1,120}@[\w.-]{1,40})"),
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
_DISK = re.compile(
    r"(?:on device:?\s{0,2}:? |open |write |mkdir |to )?'?(?P<path>/[\w.+@=/-]{2,300})"
)
_SIGNAL = re.compile(
    r"\b(?P<name>SIG(?:SEGV|BUS|ABRT|KILL|ILL|FPE|TERM|IOT|TRAP|SYS))\b"
    r"|(?P<segv>[Ss]egmentation [Ff]ault|SEGFAULT|SegFault)|(?P<bus>Bus error)|(?P<abrt>[Aa]borted)"
)
_LIMIT = re.compile(
    r"(?i)(?:after|timeout|exceeded|longer than|limit of|time of|within|took)[ :=(>]{1,4}"
    r"(?P<limit>(?:\d{1,6}(?:h|m(?:in)?|s)){1,3}\b|\d{1,9}(?:\.\d{1,9})?\s?"
    r"(?:ms|milliseconds|seconds|secs?|s|minutes|min|m|hours|h)?\b)"
)
_SIZE = re.compile(
    r"(?i)(?:tried to )?allocat(?:e|ing) (?P<size>\d{1,12}(?:\.\d{1,6})? ?(?:[KMGT]i?B|bytes))"
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
_CODE = re.compile(
    r"\b(?P<code>E[A-Z0-9]\d{4}|ERR\d{5}|hipError\w{2,60}|HSA_STATUS_\w{3,60}|cudaError\w{2,60}"
    r"|CU(?:BLAS|DNN|SPARSE|SOLVER)_STATUS_\w{3,60}|UR_RESULT_ERROR_\w{3,60}|nccl\w{3,40}Error"
    r"|XPU_ERROR_\w{2,40}|[Xx]id \(\S{1,40}\): \d{1,3})\b"
)
_ENDS = ".,;:'\")"


@dataclass(frozen=True, slots=True)
class Approval:
    """Who may give an approval that is missing (`@login`s), and for what."""

    people: tuple[str, ...]
    what: str


def url(text: str) -> str:
    """The first URL, without what follows its path."""
    match = _URL.search(text)
    return match[0].rstrip(_ENDS) if match is not None else ""


def host(text: str) -> str:
    """The host of the first URL, or one that the text names."""
    found = url(text)
    if found:
        return found.split("/")[2].split("@")[-1]
    match = _HOST.search(text)
    return match["host"] if match is not None else ""


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
    """The signal by its name."""
    match = _SIGNAL.search(text)
    if match is None:
        return ""
    if match["name"]:
        return match["name"]
    return {"segv": "SIGSEGV", "bus": "SIGBUS", "abrt": "SIGABRT"}[match.lastgroup or ""]


def limit(text: str) -> str:
    """A time limit, as the tool writes it."""
    match = _LIMIT.search(text)
    return match["limit"].strip() if match is not None else ""


def size(text: str) -> str:
    """How much memory was asked for."""
    match = _SIZE.search(text)
    return match["size"] if match is not None else ""


def percentages(text: str) -> str:
    """The percentages of a coverage message, at most two."""
    return ", ".join(_PERCENT.findall(text)[:2])


def error_code(text: str) -> str:
    """A device's or library's own error code."""
    match = _CODE.search(text)
    return match["code"] if match is not None else ""


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
