"""The harness of the rule tests fails where a rule test is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Edit, Finding, Fix, Location, Message, Severity, Side
from tests.rules.harness import change_of, problems
from tests.rules.markdown import read_rule_file
from tests.rules.notes import RuleFileError

TAIL = "\n## Known misses\n\nNone is known.\n\n## Known false positives\n\nNone is known.\n"


class Toy:
    """Reports every line that holds BAD (with a fix that drops the word), WORSE in the base, and
    the title.
    """

    ID = "toy.bad"
    SUMMARY = "bad"

    def run(self, change: ChangeSet, config: Config) -> Iterator[Finding]:
        for path in change.head.paths():
            for number, line in enumerate((change.head.read(path) or b"").decode().split("\n"), 1):
                if "BAD" in line:
                    fix = Fix((Edit(path, number, number, (line.replace("BAD", "GOOD"),)),))
                    yield self._finding(Severity.BUG, Location(path, number), line, fix)
        for hit in change.base.find("WORSE"):
            yield self._finding(
                Severity.QUESTION, Location(hit.path, hit.line, side=Side.BASE), hit.text, None
            )
        if change.pull.known and "BAD" in change.pull.title:
            yield self._finding(Severity.CONVENTION, Location("", 0), change.pull.title, None)

    def _finding(self, severity: Severity, place: Location, line: str, fix: Fix | None) -> Finding:
        message = Message("bad", {"line": line})
        return Finding(self.ID, severity, Confidence.HIGH, place, message, subject=line, fix=fix)


def words(rule: str, message: Message) -> str:
    return f"bad line: {message.args['line']}"


def run(text: str) -> list[str]:
    return [p for case in read_rule_file(text + TAIL) for p in problems(case, Toy(), words)]


def block(info: str, *lines: str) -> str:
    return "\n".join((f"```{info}", *lines, "```", ""))


def case(*blocks: str, name: str = "a case") -> str:
    return f"## {name}\n\n" + "\n".join(blocks)


def test_the_expected_finding_passes() -> None:
    assert (
        run(
            case(
                block("cpp path=a.txt", 'int BAD;  // error: [toy.bad] "int BAD;"', "int x;  // ok")
            )
        )
        == []
    )
    assert run(case(block("python path=a.txt", 'BAD = 1  # bug: [toy.bad] "BAD" "bad line"'))) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('int x;  // error: [toy.bad] "x"', "missing      bug        a.txt:1  [toy.bad]"),
        ("int BAD;", "unexpected   bug        a.txt:1  [toy.bad] bad line: int BAD;"),
        ("int BAD;  // ok", "marked ok    bug        a.txt:1"),
        ('int BAD;  // question: [toy.bad] "BAD"', "wrong kind   question   a.txt:1"),
        ('int BAD;  // pedantic: [toy.bad] "BAD"', "wrong kind   pedantic   a.txt:1"),
        ('int BAD;  // error: [toy.bad] "another"', "wrong words  bug        a.txt:1"),
        ('int BAD;  // error: [toy.other] "BAD"', "missing      bug        a.txt:1  [toy.other]"),
        ('int BAD;  // todo-error: [toy.bad] "BAD"', "found now    bug        a.txt:1"),
        ('int x;  // todo-ok: [toy.bad] "BAD"', "quiet now    a.txt:1 [toy.bad]"),
    ],
)
def test_what_is_not_as_expected_is_said(line: str, problem: str) -> None:
    found = run(
        case(block("cpp path=a.txt", line), block("expect"))
        + case(block("text path=o", "x // ok"), name="b")
    )
    assert any(p.startswith(problem) for p in found), found


def test_a_finding_on_another_line_is_one_problem() -> None:
    found = run(case(block("cpp path=a.txt", 'int x;  // error: [toy.bad] "BAD"', "int BAD;")))
    assert len(found) == 1
    assert found[0].startswith("wrong line")
    assert "a.txt:2" in found[0]


def test_the_expectations_are_not_in_the_trees() -> None:
    text = case(
        block(
            "cpp path=a.txt",
            'int BAD;  // error: [toy.bad] "BAD"  // ok',
            "a \\  // ok",
            "// kept // ok",
        )
    )
    change = change_of(read_rule_file(text + TAIL)[0])
    assert change.head.read("a.txt") == b"int BAD;\na \\\n// kept\n"
    assert change.files == ()


def test_sides_make_added_changed_and_deleted_files() -> None:
    text = case(
        block("text path=new side=head", "1"),
        block("text path=old side=base", "1", "2"),
        block("text path=both side=base", "1", "2", "3"),
        block("text path=both side=head", "1", "3", "4 // ok"),
        block("text path=to side=head was=from", "1"),
        block("text path=from side=base", "1"),
        block("diff path=patched.txt", " a", "-b", "+c", "+d"),
    )
    change = change_of(read_rule_file(text + TAIL)[0])
    assert {
        f.path: (
            f.status,
            f.base_path,
            [(h.base_start, h.base_len, h.head_start, h.head_len) for h in f.hunks],
        )
        for f in change.files
    } == {
        "new": ("A", None, [(0, 0, 1, 1)]),
        "old": ("D", "old", [(1, 2, 0, 0)]),
        "both": ("M", "both", [(2, 1, 1, 0), (3, 0, 3, 1)]),
        "to": ("R", "from", []),
        "patched.txt": ("M", "patched.txt", [(2, 1, 2, 2)]),
    }


def test_the_base_the_whole_file_and_the_pull_request_can_be_expected() -> None:
    text = case(
        block("toml pull", 'title = "BAD"'),
        block("diff path=a.txt", '-x WORSE  # question: [toy.bad] "WORSE"', "+x"),
        block("text path=b", "WORSE"),
        block("expect", 'question toy.bad b:1@base "WORSE"', 'convention toy.bad pull "BAD"'),
    )
    assert run(text) == []


def test_fixes_are_compared() -> None:
    bad = block("cpp path=a.txt", "int x;", 'int BAD;  // error: [toy.bad] "BAD"')
    assert (
        run(case(bad, block("diff fixed path=a.txt", " int x;", "-int BAD;", "+int GOOD;"))) == []
    )
    assert run(case(bad, block("cpp fixed path=a.txt", "int x;", "int GOOD;"))) == []
    assert run(case(bad, block("diff fixed path=a.txt", "-int BAD;", "+int BEST;")))[0].startswith(
        "wrong fix"
    )
    assert run(case(bad, block("diff fixed path=a.txt", " int y;", "-int BAD;", "+int GOOD;")))[
        0
    ].startswith("wrong fix")
    assert run(case(bad, block("cpp fixed path=b.txt", "x")))[0].startswith("no fix")
    assert run(case(bad, block("diff fixed path=a.txt")))[0].startswith("wrong fix")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (case(block("ruby path=a.rb", "x // ok")) + TAIL, "line 3: cannot read the info string"),
        (case(block("cpp", "x // ok")) + TAIL, "cannot read the info string"),
        (case(block("cpp path=a.txt sides=head", "x // ok")) + TAIL, "cannot read the info string"),
        (case(block("cpp path=a.txt side=left", "x // ok")) + TAIL, "cannot read the info string"),
        (case(block("diff path=a.txt", "x")) + TAIL, "a line of a diff"),
        (case(block("toml pull", 'tilte = "x"')) + TAIL, "unknown key 'tilte'"),
        (case(block("toml pull", "title")) + TAIL, "not TOML"),
        (case(block("expect", "error somewhere")) + TAIL, "line 4: cannot read the expectation"),
        (case(block("expect", "error a.b c:1@left")) + TAIL, "no such side"),
        (case("```cpp path=a.txt", "x") + TAIL, "never closed"),
        (case(block("cpp path=a.txt", "x")) + TAIL, "expects nothing"),
        (case("words") + TAIL, "has no fenced block"),
        (case(block("cpp path=a.txt", "x // ok")), "last two sections"),
        (
            case(block("cpp path=a.txt", "x // ok"))
            + "## Known misses\n\n## Known false positives\nNone.\n",
            "is empty",
        ),
        (case(block("cpp path=a.txt", "x // ok")) * 2 + TAIL, "a second section"),
        (
            block("cpp path=a.txt", "x // ok") + case(block("cpp path=a.txt", "x // ok")) + TAIL,
            "before the first",
        ),
    ],
)
def test_a_file_that_breaks_the_rules_is_refused(text: str, problem: str) -> None:
    with pytest.raises(RuleFileError, match=problem):
        read_rule_file(text)


def test_todays_mistakes_are_cases_of_their_own() -> None:
    misses = "\n## Known misses\n\n### a name\n\n" + block(
        "cpp path=a.txt", "int bad; // todo-error: [toy.bad]"
    )
    wrong = "\n## Known false positives\n\n" + block(
        "cpp path=a.txt", 'int BAD; // todo-ok: [toy.bad] "BAD"'
    )
    cases = read_rule_file(case(block("cpp path=a.txt", "x // ok")) + misses + wrong)
    assert [c.name for c in cases] == ["a case", "Known misses: a name", "Known false positives"]
    assert [problems(c, Toy(), words) for c in cases] == [[], [], []]


def test_blocks_before_the_first_section_belong_to_every_case() -> None:
    text = block("cpp path=a.txt", "int x;") + case(block("cpp path=b.txt", "x // ok"))
    assert change_of(read_rule_file(text + TAIL)[0]).head.paths() == ("a.txt", "b.txt")


def test_a_longer_fence_holds_shorter_ones() -> None:
    text = case(
        "````markdown path=a.md", "```cpp", "int x;", "```", "````", block("text path=b", "x // ok")
    )
    assert change_of(read_rule_file(text + TAIL)[0]).head.read("a.md") == b"```cpp\nint x;\n```\n"
