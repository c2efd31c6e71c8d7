"""`python -m checks.new FAMILY.NAME`: the files of a new rule, ready to be filled in.

It writes the rule, its words and its test, registers the rule, and says what to do next. The new
rule runs as it is, so that `pytest tests/rules -k FAMILY.NAME` is green before anything was thought
about. Nothing that exists is overwritten.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCAFFOLD = ROOT / "templates" / "new_rule"
_ID = re.compile(r"([a-z]+)\.([a-z][a-z0-9]*(?:-[a-z0-9]+)*)")


@dataclass(frozen=True, slots=True)
class NewRule:
    """The id of a rule, and the places where its parts stand."""

    family: str
    name: str

    @property
    def id(self) -> str:
        return f"{self.family}.{self.name}"

    @property
    def module(self) -> str:
        return self.name.replace("-", "_")

    @property
    def files(self) -> dict[str, Path]:
        """The scaffold's file -> the file that is made of it."""
        return {
            "rule.py.txt": ROOT / "checks" / "rules" / self.family / f"{self.module}.py",
            "words.toml.txt": ROOT / "templates" / "rules" / f"{self.id}.toml",
            "test.md.txt": ROOT / "tests" / "rules" / f"{self.id}.md",
        }


def parse_id(text: str) -> NewRule:
    """The rule that `text` names. Raises `ValueError` with a sentence where it names none."""
    match = _ID.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no rule id: write family.name, as in protocol.small-buffer")
    rule = NewRule(match[1], match[2])
    families = sorted(p.name for p in (ROOT / "checks" / "rules").iterdir() if p.is_dir())
    if rule.family not in families:
        known = ", ".join(name for name in families if not name.startswith("_"))
        raise ValueError(f"there is no family {rule.family!r}: it is one of {known}")
    for path in rule.files.values():
        if path.exists():
            raise ValueError(f"{path.relative_to(ROOT)} exists already")
    return rule


def register(rule: NewRule, source: str) -> str:
    """The text of the family's `__init__.py` with `rule` imported and at the end of its `RULES`."""
    source = _append(rf"^from checks\.rules\.{rule.family} import \(", rule.module, source)
    return _append(r"^RULES: .* = \(", rule.module, source)


def _append(opening: str, name: str, source: str) -> str:
    """`source` with `name` at the end of the list in brackets that begins with `opening`."""
    brackets = re.search(rf"({opening})([^)]*)\)", source, re.MULTILINE)
    if brackets is None:
        raise ValueError("the family's __init__.py does not list its rules as the others do")
    names = [*re.findall(r"\w+", brackets[2]), name]
    lines = "".join(f"    {listed},\n" for listed in names)
    return f"{source[: brackets.start()]}{brackets[1]}\n{lines}){source[brackets.end() :]}"


def main() -> int:
    """Write the files; 2 with one sentence where that cannot be."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python -m checks.new FAMILY.NAME\n")
        return 2
    try:
        rule = parse_id(sys.argv[1])
        family = ROOT / "checks" / "rules" / rule.family / "__init__.py"
        registered = register(rule, family.read_text("utf-8"))
    except ValueError as error:
        sys.stderr.write(f"checks.new: {error}\n")
        return 2
    for scaffold, path in rule.files.items():
        text = (SCAFFOLD / scaffold).read_text("utf-8")
        path.write_text(text.replace("@ID@", rule.id), "utf-8")
        sys.stdout.write(f"wrote {path.relative_to(ROOT)}\n")
    family.write_text(registered, "utf-8")
    sys.stdout.write((SCAFFOLD / "next.txt").read_text("utf-8").replace("@ID@", rule.id))
    return 0


if __name__ == "__main__":
    sys.exit(main())
