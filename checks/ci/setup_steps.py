"""The part of a job before its own work: which steps those are, and what in a change may itself make them fail."""

from __future__ import annotations

import re

from checks.ci.change_links import ChangeLinker
from checks.ci.message_keys import Reason
from checks.ci.report import Evidence
from checks.core.finding import Message

_STEP = re.compile(
    r"(?i)^(?:set ?up job|initialize containers|complete job|(?:post )?(?:run )?actions/"
    r"(?:checkout|cache|setup-\w{1,20}|download-artifact|upload-artifact)\b.{0,80}|check ?out"
    r"(?: (?:the )?(?:code|repo(?:sitory)?|sources?|submodules?|branch|pr|pull request))?"
    r"|restore .{0,40}cache|pull .{0,60}(?:image|container)s?)$"
)
_FILE = re.compile(
    r"(?i)(?:^|/)(?:\.github/|\.ci/|ci/|\.buildkite/|docker|scripts?/|requirements|pyproject\.toml$|setup\.(?:py|cfg)$"
    r"|\.gitmodules$|cmakelists\.txt$|third_party|package(?:-lock)?\.json$)|dockerfile|requirements.{0,40}\.(?:txt|in)$"
)
_HOST = re.compile(
    r"(?:https?://|host(?:name)?:? |host='|to )(?P<host>[a-z0-9](?:[a-z0-9-]{0,60}\.){1,6}[a-z]{2,20})",
    re.I,
)


def is_setup(step: str) -> bool:
    """Whether a step of this name only prepares the machine."""
    return _STEP.match(step) is not None


def changes_to_setup(linker: ChangeLinker | None, text: str) -> tuple[Evidence, ...]:
    """What in the change may be why the preparation failed: its scripts, its dependencies, a host that `text` (the
    log's) names. Empty also where the change is not known."""
    if linker is None:
        return ()
    files = sorted(p for p in linker.changed if _FILE.search(p))
    hosts = {m["host"].lower() for m in _HOST.finditer(text)}
    for file in linker.change.files:
        data = linker.change.head.read(file.head_path) if file.head_path and file.hunks else None
        if data is not None and any(host.encode() in data.lower() for host in hosts):
            files.append(file.path)
    return tuple(Evidence(Message(Reason.TOUCHES_CAUSE, {"path": p})) for p in dict.fromkeys(files))
