"""From the text of `tests/rules/<rule id>.md` to the cases it holds."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from typing import Any

from tests.rules.notes import Expected, RuleFileError, expect_line, split_notes

MISSES, FALSE_POSITIVES = "Known misses", "Known false positives"
LANGUAGES = frozenset({"cuda", "cpp", "python", "diff", "toml", "text", "markdown"})


@dataclass
class Files:
    """The two trees of a case, and the changes of name between them (head path -> base path)."""

    base: dict[str, str] = field(default_factory=dict)
    head: dict[str, str] = field(default_factory=dict)
    was: dict[str, str] = field(default_factory=dict)


@dataclass
class Case:
    """One section. `fixed` maps a path to the block that shows it after the fix: (is a diff,
    text).
    """

    name: str
    line: int
    files: Files = field(default_factory=Files)
    config: str | None = None
    pull: dict[str, Any] | None = None
    observations: list[dict[str, Any]] = field(default_factory=list)
    expected: list[Expected] = field(default_factory=list)
    quiet: set[tuple[str, str, int]] = field(default_factory=set)
    fixed: dict[str, tuple[bool, str]] = field(default_factory=dict)

    @property
    def asserts_something(self) -> bool:
        return bool(self.expected or self.quiet or self.fixed)


@dataclass(frozen=True)
class Fence:
    info: str
    text: str
    line: int


def read_rule_file(text: str) -> list[Case]:
    """The cases of a rule test. Raises `RuleFileError` where the file breaks one of the rules of
    its README.
    """
    common = Case("", 1)
    sections: list[tuple[str, Case, bool]] = []
    prose: dict[str, bool] = {}
    for item in _items(text):
        if isinstance(item, Fence):
            _add(item, sections[-1][1] if sections else common)
            prose[_top(sections)] = True
            continue
        line, words = item
        heading = re.fullmatch(r"(##|###) (.+)", words)
        if heading is None:
            prose[_top(sections)] = prose.get(_top(sections), False) or bool(words.strip())
            continue
        name = heading[2].strip()
        if heading[1] == "###":
            name = f"{_top(sections)}: {name}"
        sections.append(
            (_top(sections) if heading[1] == "###" else name, Case(name, line), heading[1] == "##")
        )
    if common.asserts_something:
        raise RuleFileError(1, "expectations stand before the first `##` section")
    _check_sections(sections, prose)
    cases = [_with_common(c, common) for _, c, _ in sections if _has_content(c)]
    if not any(c.asserts_something for c in cases):
        raise RuleFileError(1, "the file as a whole expects nothing")
    return cases


def _has_content(case: Case) -> bool:
    files = case.files.base or case.files.head
    return bool(files or case.pull or case.observations or case.asserts_something)


def _top(sections: list[tuple[str, Case, bool]]) -> str:
    return sections[-1][0] if sections else ""


def _check_sections(sections: list[tuple[str, Case, bool]], prose: dict[str, bool]) -> None:
    tops = [(name, case) for name, case, is_top in sections if is_top]
    if [name for name, _ in tops[-2:]] != [MISSES, FALSE_POSITIVES]:
        raise RuleFileError(
            1, f"the last two sections must be `## {MISSES}` and `## {FALSE_POSITIVES}`"
        )
    seen: set[str] = set()
    for _, case, _ in sections:
        if case.name in seen:
            raise RuleFileError(case.line, f"a second section is called {case.name!r}")
        seen.add(case.name)
    for name, case in tops:
        if not prose.get(name):
            raise RuleFileError(case.line, f"section {name!r} is empty")
    for top, case, is_top in sections:
        if not _has_content(case) and (not is_top or top not in (MISSES, FALSE_POSITIVES)):
            raise RuleFileError(case.line, f"section {case.name!r} has no fenced block")


def _with_common(case: Case, common: Case) -> Case:
    files = Files(
        common.files.base | case.files.base,
        common.files.head | case.files.head,
        common.files.was | case.files.was,
    )
    config = common.config if case.config is None else case.config
    return replace(
        case, files=files, config=config, pull=case.pull if case.pull is not None else common.pull
    )


def _items(text: str) -> list[Fence | tuple[int, str]]:
    """Fenced blocks, and every line outside them with its number. A longer fence may hold shorter
    ones.
    """
    items: list[Fence | tuple[int, str]] = []
    mark, info, start, inside = "", "", 0, list[str]()
    for number, line in enumerate(text.split("\n"), 1):
        fence = re.fullmatch(r"(`{3,})\s*(.*)", line)
        if not mark and fence:
            mark, info, start, inside = fence[1], fence[2].strip(), number, []
        elif mark and fence and len(fence[1]) >= len(mark) and not fence[2].strip():
            items.append(Fence(info, "".join(f"{t}\n" for t in inside), start))
            mark = ""
        elif mark:
            inside.append(line)
        else:
            items.append((number, line))
    if mark:
        raise RuleFileError(start, "the fenced block is never closed")
    return items


def _add(fence: Fence, case: Case) -> None:
    words = fence.info.split()
    match words:
        case ["toml", "config"]:
            if case.config is not None:
                raise RuleFileError(fence.line, "a second `toml config` block")
            case.config = fence.text
        case ["toml", "pull"]:
            case.pull = _pull(fence)
        case ["toml", "observations"]:
            case.observations = tomllib.loads(fence.text)["observation"]
        case ["expect"]:
            case.expected += [
                expect_line(t, n) for n, t in enumerate(fence.text.split("\n"), fence.line + 1) if t
            ]
        case [language, *rest] if language in LANGUAGES and rest:
            _add_file(fence, case, language, rest)
        case _:
            raise RuleFileError(fence.line, f"cannot read the info string {fence.info!r}")


def _pull(fence: Fence) -> dict[str, Any]:
    try:
        pull = tomllib.loads(fence.text)
    except tomllib.TOMLDecodeError as error:
        raise RuleFileError(fence.line, f"not TOML: {error}") from error
    unknown = sorted(set(pull) - {"title", "body", "labels", "target_branch", "known"})
    if unknown:
        raise RuleFileError(fence.line, f"unknown key {unknown[0]!r} of the pull request")
    return pull


def _add_file(fence: Fence, case: Case, language: str, rest: list[str]) -> None:
    fixed = rest[0] == "fixed"
    options = dict(_option(fence, word) for word in rest[fixed:])
    path = options.pop("path", "")
    side, was = options.pop("side", ""), options.pop("was", "")
    if not path or options or side not in ("", "base", "head") or (fixed and (side or was)):
        raise RuleFileError(fence.line, f"cannot read the info string {fence.info!r}")
    if fixed:
        case.fixed[path] = (language == "diff", fence.text)
        return
    if language == "diff" and not path.endswith((".diff", ".patch")):
        if side:
            raise RuleFileError(fence.line, "a diff gives both sides")
        _add_diff(fence, case, path)
    else:
        # The two sides of one text have the same expectations, counted once: on the head.
        counted = side or "head"
        for name in (side,) if side else ("base", "head"):
            _put(case, name, path, _strip(fence, case, path, name, name == counted))
    if was:
        case.files.was[path] = was


def _option(fence: Fence, word: str) -> tuple[str, str]:
    key, equals, value = word.partition("=")
    if not equals or not value:
        raise RuleFileError(fence.line, f"cannot read {word!r} of the info string {fence.info!r}")
    return key, value


def _put(case: Case, side: str, path: str, text: str) -> None:
    files = case.files.base if side == "base" else case.files.head
    files[path] = text


def _strip(fence: Fence, case: Case, path: str, side: str, count: bool) -> str:
    """The text of a block without its expectation comments, which are added to the case if they
    `count`."""
    lines = fence.text.split("\n")
    kept = []
    for number, line in enumerate(lines, 1):
        code, notes = split_notes(line, fence.line + number)
        kept.append(code)
        if count:
            _note(case, notes, path, number, side)
    return "\n".join(kept)


def _add_diff(fence: Fence, case: Case, path: str) -> None:
    """A whole file written as a diff: ` ` in both trees, `-` in the base, `+` in the head; notes
    count on the head, those of `-` lines on the base."""
    sides: dict[str, list[str]] = {"base": [], "head": []}
    for offset, line in enumerate(fence.text.split("\n")[:-1], 1):
        code, notes = split_notes(line, fence.line + offset)
        mark, rest = (code[:1] or " "), code[1:]
        if mark not in " +-":
            raise RuleFileError(
                fence.line + offset, "a line of a diff starts with a space, `+` or `-`"
            )
        for side in {" ": ("base", "head"), "-": ("base",), "+": ("head",)}[mark]:
            sides[side].append(rest)
        side = "base" if mark == "-" else "head"
        _note(case, notes, path, len(sides[side]), side)
    for side, lines in sides.items():
        if lines:
            _put(case, side, path, "".join(f"{line}\n" for line in lines))


def _note(case: Case, notes: list[Expected | None], path: str, line: int, side: str) -> None:
    for note in notes:
        if note is None:
            case.quiet.add((side, path, line))
        else:
            case.expected.append(replace(note, path=path, line=line, side=side))
