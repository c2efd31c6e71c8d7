"""The steps of a job before its own work, and what in a change may itself make them fail."""

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
    r"(?i)(?:^|/)(?:\.github/|\.ci/|ci/|\.buildkite/|docker|scripts?/|requirements"
    r"|pyproject\.toml$|setup\.(?:py|cfg)$|\.gitmodules$|cmakelists\.txt$|third_party"
    r"|package(?:-lock)?\.json$)|dockerfile|requirements.{0,40}\.(?:txt|in)$"
)
_HOST = re.compile(
    r"(?:https?://|host(?:name)?:? |host='|to )"
    r"(?P<host>[a-z0-9](?:[a-z0-9-]{0,60}\.){1,6}[a-z]{2,20})",
    re.IGNORECASE,
)


def is_setup(step: str) -> bool:
    """Whether a step of this name only prepares the machine."""
    return _STEP.match(step) is not None


def changes_to_setup(linker: ChangeLinker | None, text: str) -> tuple[Evidence, ...]:
    """What in the change may be why the preparation failed.

    That is a changed script or list of dependencies, or a changed file that names a host which the
    log's `text` names too. Empty also where the change is not known.
    """
    if linker is None:
        return ()
    paths = sorted(path for path in linker.changed if _FILE.search(path))
    hosts = {match["host"].lower().encode() for match in _HOST.finditer(text)}
    for file in linker.change.files:
        if file.head_path and file.hunks and _names_a_host(linker, file.head_path, hosts):
            paths.append(file.path)
    return tuple(
        Evidence(Message(Reason.TOUCHES_CAUSE, {"path": path})) for path in dict.fromkeys(paths)
    )


def _names_a_host(linker: ChangeLinker, path: str, hosts: set[bytes]) -> bool:
    data = linker.change.head.read(path)
    if data is None:
        return False
    lowered = data.lower()
    return any(host in lowered for host in hosts)
