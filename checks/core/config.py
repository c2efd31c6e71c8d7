"""What a target repository says about itself: `.specbot.toml` over a built-in profile.

Unknown keys are refused with the nearest known one, so that a typo never switches a rule off in
silence.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from checks.core.config_tables import ConfigError, override
from checks.core.near_names import nearest_name
from checks.core.tree import Tree

FILE = ".specbot.toml"
PROFILES = ("fastdeploy", "vllm", "sglang", "generic")
# A profile is detected by a folder that only this engine has.
_ENGINE_FOLDERS = {
    "fastdeploy": "fastdeploy/",
    "vllm": "vllm/v1/",
    "sglang": "python/sglang/",
}
_PROFILE_FOLDER = Path(__file__).parent.parent / "profiles"
_WILDCARDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True, slots=True)
class PathsConfig:
    """Globs (`**` crosses folders) of product code, tests, and end-to-end tests.

    The stored baselines of end-to-end tests count as end-to-end tests.
    """

    sources: tuple[str, ...] = ("**",)
    tests: tuple[str, ...] = (
        *("tests/**", "test/**", "**/tests/**", "*-tests/**"),
        *("**/test_*.*", "**/*_test.*"),
    )
    e2e: tuple[str, ...] = ("tests/e2e/**", "tests/ce/**")


@dataclass(frozen=True, slots=True)
class TitleConfig:
    """Titles of pull requests.

    `tags` are the allowed ones (empty: read from the template), `most_tags` how many a title may
    have; a cherry-pick's title has `cherry_pick_tag`.
    """

    tags: tuple[str, ...] = ()
    most_tags: int = 1
    require_tag: bool = False
    cherry_pick_tag: str = "Cherry-Pick"


@dataclass(frozen=True, slots=True)
class DescriptionConfig:
    """Pull-request bodies.

    `template` is where the template lies (empty: GitHub's usual places); `required` are the
    sections that must be filled (empty: all second-level headings of the template but the
    checklist).
    """

    template: str = ""
    required: tuple[str, ...] = ()
    checklist: str = "Checklist"


@dataclass(frozen=True, slots=True)
class BranchesConfig:
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
class RulesConfig:
    """Rules switched off, by id."""

    disable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SemanticsConfig:
    """Names of the indices whose meaning is checked.

    A buffer is one of them by this name, or by one that ends in it (`target_model_step_idx`).
    """

    index: tuple[str, ...] = ("step_idx",)


@dataclass(frozen=True, slots=True)
class GpuJob:
    """A workflow that runs a pull request on a GPU.

    Somebody with write access asks for it by `name`. `inputs` give the workflow's inputs, each
    `input=what` with one of base, head (commits), request (an id for the run's name) and pull (the
    number); `ops` is the input that takes the names of ops, empty where there is none. `minutes`
    are the most that it takes. A pull request by people who may write that touches `paths` runs it
    without being asked.

    The workflow uploads an artifact `kernels-<request>` with what `specbot kernels compare -o`
    writes. A job of the repository's own has at least `kernels.json` in it, with
    `{"base": commit, "head": commit}`. Also in it: `junit`, the file with the tests' results, and
    `logprobs` and `logprobs_base`, the records of head and of base.

    The workflow `local` is none: a worker of SpecBot's own with a GPU runs the `kernels` of base
    and head. Nor is `device`: such a worker runs the device code that was changed on its CPU.
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
class CIConfig:
    """CI jobs. `aliases` are the short names that people write for a job: for each, the names that
    the job has or had, the first that a commit has counts."""

    # A dict has no hash, and configurations are keys of memos; they are still compared by it.
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Config:
    """All that a repository may say about itself; one field for each table of the file."""

    profile: str = "generic"
    paths: PathsConfig = field(default_factory=PathsConfig)
    title: TitleConfig = field(default_factory=TitleConfig)
    description: DescriptionConfig = field(default_factory=DescriptionConfig)
    branches: BranchesConfig = field(default_factory=BranchesConfig)
    rules: RulesConfig = field(default_factory=RulesConfig)
    semantics: SemanticsConfig = field(default_factory=SemanticsConfig)
    family: tuple[Family, ...] = ()
    hardware: tuple[Hardware, ...] = ()
    gpu_job: tuple[GpuJob, ...] = ()
    ci: CIConfig = field(default_factory=CIConfig)

    def is_test(self, path: str) -> bool:
        """Whether `path` is a test file."""
        return matches(path, self.paths.tests)

    def is_e2e(self, path: str) -> bool:
        """Whether `path` is an end-to-end test or one of its stored baselines."""
        return matches(path, self.paths.e2e)

    def hardware_of(self, path: str) -> str:
        """The hardware that `path` belongs to, empty where it is shared."""
        for kind in self.hardware:
            if any(mark in path for mark in kind.marks):
                return kind.name
        return ""


def matches(path: str, globs: tuple[str, ...]) -> bool:
    """Whether `path` matches one of `globs`; `*` and `?` stop at `/`, `**` does not."""
    return bool(globs) and _pattern(globs).fullmatch(path) is not None


@cache
def _pattern(globs: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(_regex_of, globs)))


def _regex_of(glob: str) -> str:
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    return "".join(_WILDCARDS.get(part, re.escape(part)) for part in parts)


def load(text: str | None, *, profile: str | None = None, tree: Tree | None = None) -> Config:
    """The configuration in `text` (TOML) over its profile.

    The profile is `profile`, else the one that the file names, else detected from `tree`. Raises
    `ConfigError` with the key that is wrong.
    """
    try:
        raw = tomllib.loads(text) if text else {}
    except tomllib.TOMLDecodeError as error:
        raise ConfigError("syntax", detail=str(error)) from error
    named = raw.pop("profile", None)
    if named is not None and not isinstance(named, str):
        raise ConfigError("type", key="profile", wanted="string")
    name = profile or named
    if not name:
        name = detect(tree) if tree else "generic"
    return override(_profile(name), raw, "")


def _profile(name: str) -> Config:
    if name not in PROFILES:
        raise ConfigError("profile", name=name, nearest=nearest_name(name, PROFILES))
    text = (_PROFILE_FOLDER / f"{name}.toml").read_text("utf-8")
    return replace(override(Config(), tomllib.loads(text), ""), profile=name)


def detect(tree: Tree) -> str:
    """The profile whose engine this tree is."""
    paths = tree.paths()
    for name, folder in _ENGINE_FOLDERS.items():
        if any(path.startswith(folder) for path in paths):
            return name
    return "generic"
