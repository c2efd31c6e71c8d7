"""What a target repository says about itself: `.specbot.toml` over a built-in profile.

Unknown keys are refused with the nearest known one, so that a typo never switches a rule off in silence.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from checks.core.tree import Tree

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FILE = ".specbot.toml"
T = TypeVar("T", bound="DataclassInstance")
PROFILES = ("fastdeploy", "vllm", "sglang", "generic")
_FOLDER = Path(__file__).parent.parent / "profiles"


class ConfigError(ValueError):
    """A configuration that cannot be used: `key` is where, `problem` a message key, `args` its arguments."""

    def __init__(self, problem: str, **args: str) -> None:
        super().__init__(problem, args)
        self.problem = problem
        self.args_ = args


@dataclass(frozen=True, slots=True)
class Paths:
    """Globs (`**` crosses folders): product code, tests, end-to-end tests and their stored baselines."""

    sources: tuple[str, ...] = ("**",)
    tests: tuple[str, ...] = ("tests/**", "test/**", "**/test_*.py", "**/*_test.py")
    e2e: tuple[str, ...] = ("tests/e2e/**", "tests/ce/**")


@dataclass(frozen=True, slots=True)
class Title:
    """Titles: allowed `tags` (empty: read from the template), how many of them, and the cherry-pick form."""

    tags: tuple[str, ...] = ()
    most_tags: int = 1
    require_tag: bool = False
    cherry_pick_tag: str = "Cherry-Pick"


@dataclass(frozen=True, slots=True)
class Description:
    """Pull-request bodies: where the template lies (empty: GitHub's usual places), and which sections must be filled
    (empty: all second-level headings of the template but the checklist)."""

    template: str = ""
    required: tuple[str, ...] = ()
    checklist: str = "Checklist"


@dataclass(frozen=True, slots=True)
class Branches:
    """`release` globs take only cherry-picks of what `develop` already has."""

    develop: str = ""
    release: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Files that are copies of one another for different hardware; `*` stands for the hardware."""

    name: str
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hardware:
    """A kind of hardware and the path parts that mark its code (`xpu_ops`, `xpu_model_runner`)."""

    name: str
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules switched off, by id."""

    disable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Semantics:
    """Names of the indices whose meaning is checked: a buffer is one of them by this name, or by one that ends in it
    (`target_model_step_idx`)."""

    index: tuple[str, ...] = ("step_idx",)


@dataclass(frozen=True, slots=True)
class GpuJob:
    """A workflow that runs a pull request on a GPU when somebody who may write asks for it by `name`.

    `inputs` give the workflow's inputs, each `input=what` with one of base, head (commits), request (an id for the
    run's name) and pull (the number); `ops` is the input that takes the names of ops, empty where there is none.
    `minutes` are the most that it takes. It uploads an artifact `kernels-<request>` with what `specbot kernels compare
    -o` writes; a job of the repository's own has at least `kernels.json`, `{"base": commit, "head": commit}`, of that.
    Also in it: `junit`, the file with the tests' results, and `logprobs` and `logprobs_base`, the records of head and
    of base. A pull request by people who may write that touches `paths` runs it without being asked.

    The workflow `local` is none: a worker of SpecBot's own with a GPU runs the `kernels` of base and head.
    """

    name: str
    workflow: str
    inputs: tuple[str, ...] = ("base=base", "head=head", "request=request")
    ops: str = ""
    minutes: int = 60
    junit: str = ""
    logprobs: str = ""
    logprobs_base: str = ""
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    profile: str = "generic"
    paths: Paths = field(default_factory=Paths)
    title: Title = field(default_factory=Title)
    description: Description = field(default_factory=Description)
    branches: Branches = field(default_factory=Branches)
    rules: Rules = field(default_factory=Rules)
    semantics: Semantics = field(default_factory=Semantics)
    family: tuple[Family, ...] = ()
    hardware: tuple[Hardware, ...] = ()
    gpu_job: tuple[GpuJob, ...] = ()

    def is_test(self, path: str) -> bool:
        return matches(path, self.paths.tests)

    def is_e2e(self, path: str) -> bool:
        return matches(path, self.paths.e2e)

    def hardware_of(self, path: str) -> str:
        """The hardware that `path` belongs to, empty where it is shared."""
        for kind in self.hardware:
            if any(mark in path for mark in kind.marks):
                return kind.name
        return ""


# Rules ask about the same paths again and again: each hit of each word that they look for.
@lru_cache(maxsize=1 << 16)
def matches(path: str, globs: tuple[str, ...]) -> bool:
    """Whether `path` matches one of `globs`; `*` stops at `/`, `**` does not."""
    return bool(globs) and _pattern(globs).fullmatch(path) is not None


@cache
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    table = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = (re.split(r"(\*\*/|\*\*|\*|\?)", glob) for glob in globs)
    return re.compile("|".join("".join(table.get(p, re.escape(p)) for p in glob) for glob in parts))


def load(text: str | None, *, profile: str | None = None, tree: Tree | None = None) -> Config:
    """The configuration in `text` (TOML) over its profile.

    The profile is `profile`, else the file's, else detected from `tree`. Raises `ConfigError`.
    """
    try:
        raw = tomllib.loads(text) if text else {}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("syntax", detail=str(error)) from error
    given = raw.pop("profile", None)
    if given is not None and not isinstance(given, str):
        raise ConfigError("type", key="profile", wanted="string")
    name = profile or given or (detect(tree) if tree else "generic")
    base = _profile(name)
    return _merge(base, raw, "")


def _profile(name: str) -> Config:
    if name not in PROFILES:
        raise ConfigError("profile", name=name, nearest=_nearest(name, PROFILES))
    text = (_FOLDER / f"{name}.toml").read_text("utf-8")
    return replace(_merge(Config(), tomllib.loads(text), ""), profile=name)


def detect(tree: Tree) -> str:
    """The profile whose engine this tree is."""
    paths = tree.paths()
    for name, mark in (
        ("fastdeploy", "fastdeploy/"),
        ("vllm", "vllm/v1/"),
        ("sglang", "python/sglang/"),
    ):
        if any(p.startswith(mark) for p in paths):
            return name
    return "generic"


def _merge(base: T, raw: Mapping[str, Any], where: str) -> T:
    hints = get_type_hints(type(base))
    known = [f.name for f in fields(base)]
    changes: dict[str, Any] = {}
    for key, value in raw.items():
        name = f"{where}{key}"
        if key not in known or (not where and key == "profile"):
            raise ConfigError("unknown", key=name, nearest=_nearest(key, known))
        changes[key] = _value(getattr(base, key), hints[key], value, name)
    return replace(base, **changes)


def _value(old: Any, hint: Any, value: Any, name: str) -> Any:
    if is_dataclass(old) and not isinstance(old, type):
        if not isinstance(value, dict):
            raise ConfigError("type", key=name, wanted="table")
        return _merge(old, value, f"{name}.")
    if get_origin(hint) is tuple:
        kind = get_args(hint)[0]
        if not isinstance(value, list):
            raise ConfigError("type", key=name, wanted="list")
        return tuple(_item(kind, item, name) for item in value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ConfigError("type", key=name, wanted=hint.__name__)
    return value


def _item(kind: type[Any], item: Any, name: str) -> Any:
    if not is_dataclass(kind):
        if not isinstance(item, kind):
            raise ConfigError("type", key=name, wanted=f"list of {kind.__name__}")
        return item
    if not isinstance(item, dict):
        raise ConfigError("type", key=name, wanted="list of tables")
    names = [f.name for f in fields(kind)]
    for key in item:
        if key not in names:
            raise ConfigError("unknown", key=f"{name}.{key}", nearest=_nearest(key, names))
    for f in fields(kind):
        if f.default is MISSING and f.name not in item:
            raise ConfigError("missing", key=f"{name}.{f.name}")
    hints = get_type_hints(kind)
    made = {k: _value(None, hints[k], v, f"{name}.{k}") for k, v in item.items()}
    return kind(**made)


def _nearest(word: str, known: Any) -> str:
    return next(iter(difflib.get_close_matches(word, list(known), 1, 0.0)), "")
