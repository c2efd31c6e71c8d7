"""A saved CI run: `run.json` and the files that it names, so that every report can be made again
offline.

    run.json              the `CIRun`, as this module writes it
    logs/<job id>.log     raw, as downloaded
    junit/<job id>/*.xml
    coverage/*.xml, coverage/*.info

`dump` writes fields in the order of their dataclass and leaves out those that have their default,
so that the same run gives the same bytes. A small one:

    {
      "version": 1,
      "pull": {"repo": "octo/engine", "number": 7, "title": "Pack meta", "base_branch": "main"},
      "revisions": {"head": "1f0c...", "merge_base": "9a2e..."},
      "collected": "2026-05-22T13:08:27Z",
      "jobs": [
        {
          "id": "101", "name": "unit", "requirement": "required", "conclusion": "failure",
          "started": "2026-05-22T11:50:01Z", "completed": "2026-05-22T13:04:40Z", "runner": "gpu-3",
          "log": "logs/101.log", "log_state": "present", "junit": ["junit/101/report.xml"]
        }
      ]
    }
"""

from __future__ import annotations

import difflib
import json
import types
from collections import Counter
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Union, get_args, get_origin, get_type_hints

from checks.ci.message_keys import FolderProblem
from checks.ci.model import CIRun

VERSION = 1
RUN = "run.json"
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class FolderError(ValueError):
    """A document that is no run: `problem` is a key of `checks.ci.message_keys.FolderProblem`, `at`
    the place in it (`jobs[3].status`), `found` what stands there.
    """

    def __init__(self, problem: FolderProblem, at: str, found: str = "") -> None:
        super().__init__(problem, at, found)
        self.problem = problem
        self.at = at
        self.found = found


def dump(run: CIRun) -> str:
    """The text of `run.json`."""
    return json.dumps({"version": VERSION, **_encode(run)}, indent=2, ensure_ascii=False) + "\n"


def load(text: str | bytes) -> CIRun:
    """The run in the text of `run.json`. Raises `FolderError`."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FolderError(FolderProblem.NOT_JSON, RUN, str(error)) from None
    if not isinstance(raw, dict):
        raise FolderError(FolderProblem.WRONG_TYPE, RUN, type(raw).__name__)
    version = raw.pop("version", None)
    if version != VERSION:
        raise FolderError(FolderProblem.VERSION, "version", str(version))
    run = _decode(CIRun, raw, "")
    assert isinstance(run, CIRun)
    _check_paths(run)
    _check_ids(run)
    return run


def paths(run: CIRun) -> tuple[str, ...]:
    """Every file that the run names, sorted: what a folder holds besides `run.json`."""
    named: set[str] = set()
    for job in run.jobs:
        named.update((job.log, job.passed_log, job.earlier_logs))
        named.update(job.junit)
    named.update(report.path for report in run.coverage)
    named.update(artifact.path for artifact in run.artifacts)
    return tuple(sorted(named - {""}))


def _check_paths(run: CIRun) -> None:
    """A path must stay in the folder: these documents may come from a stranger."""
    for path in paths(run):
        parts = path.split("/")
        leaves_folder = ".." in parts or path.startswith("/")
        is_odd = "" in parts or "\\" in path or "\0" in path
        if leaves_folder or is_odd:
            raise FolderError(FolderProblem.PATH, "path", path)


def _check_ids(run: CIRun) -> None:
    counts = Counter(job.id for job in run.jobs)
    for job_id, count in counts.items():
        if count > 1:
            raise FolderError(FolderProblem.TWICE, "jobs", job_id)


def _encode(value: Any) -> Any:
    """A dataclass as an object without the fields that have their default; times as text."""
    if is_dataclass(value):
        encoded = {}
        for field in fields(value):
            field_value = getattr(value, field.name)
            if field_value != field.default:
                encoded[field.name] = _encode(field_value)
        return encoded
    if isinstance(value, tuple):
        return [_encode(item) for item in value]
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime(_TIME)
    return value


def _decode(kind: Any, raw: Any, at: str) -> Any:
    """`raw` as a value of the type `kind`. `at` is its place in the document, for errors."""
    if is_dataclass(kind):
        return _decode_record(kind, raw, at)
    origin = get_origin(kind)
    if origin is tuple:
        return _decode_list(get_args(kind)[0], raw, at)
    if origin in (Union, types.UnionType):
        if raw is None:
            return None
        inner = next(option for option in get_args(kind) if option is not types.NoneType)
        return _decode(inner, raw, at)
    if kind is datetime:
        return _decode_time(raw, at)
    if issubclass(kind, StrEnum):
        if raw not in [*kind]:
            raise FolderError(FolderProblem.WRONG_VALUE, at, str(raw))
        return kind(raw)
    # Not isinstance: True is no number here.
    if type(raw) is not kind:
        raise FolderError(FolderProblem.WRONG_TYPE, at, type(raw).__name__)
    return raw


def _decode_list(item_kind: Any, raw: Any, at: str) -> tuple[Any, ...]:
    if not isinstance(raw, list):
        raise FolderError(FolderProblem.WRONG_TYPE, at, type(raw).__name__)
    return tuple(_decode(item_kind, item, f"{at}[{n}]") for n, item in enumerate(raw))


def _decode_time(raw: Any, at: str) -> datetime:
    try:
        return datetime.strptime(raw, _TIME).replace(tzinfo=UTC)
    except (ValueError, TypeError):
        raise FolderError(FolderProblem.WRONG_TIME, at, str(raw)) from None


def _decode_record(kind: Any, raw: Any, at: str) -> Any:
    if not isinstance(raw, dict):
        raise FolderError(FolderProblem.WRONG_TYPE, at or RUN, type(raw).__name__)
    types_by_name = get_type_hints(kind)
    prefix = f"{at}." if at else ""
    for key in raw:
        if key not in types_by_name:
            similar = difflib.get_close_matches(key, types_by_name, 1)
            suggestion = similar[0] if similar else ""
            raise FolderError(FolderProblem.UNKNOWN_KEY, f"{prefix}{key}", suggestion)
    for field in fields(kind):
        if field.name not in raw and field.default is MISSING:
            raise FolderError(FolderProblem.MISSING_KEY, f"{prefix}{field.name}")
    values = {}
    for key, value in raw.items():
        values[key] = _decode(types_by_name[key], value, f"{prefix}{key}")
    return kind(**values)
