"""Patch coverage: what was executed, what was not, and what nobody knows."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.ci import coverage_files
from checks.ci.analyse import analyse
from checks.ci.coverage_files import CoverageError, LineCoverage
from checks.ci.message_keys import CoverageReason, Note
from checks.ci.model import Conclusion, CoverageFile, Requirement
from checks.ci.report import CoverageState
from checks.core.config import load
from tests.ci.runs import Files, change, job, run

CONFIG = load('profile = "generic"\n')
BEFORE = "def f(x):\n    return x\n"
AFTER = "def f(x):\n    if x > 1:\n        return 2\n    return x\n\n\ndef g():\n    return 1\n"


def cobertura(files, sources=("/home/ci/engine",)):
    classes = "".join(
        f'<class name="c" filename="{name}"><methods/><lines>'
        + "".join(f'<line number="{n}" hits="{h}"/>' for n, h in lines.items())
        + "</lines></class>"
        for name, lines in files.items()
    )
    roots = "".join(f"<source>{s}</source>" for s in sources)
    packages = f"<packages><package><classes>{classes}</classes></package></packages>"
    return f'<?xml version="1.0"?><coverage><sources>{roots}</sources>{packages}</coverage>'


def lcov(files):
    return "".join(
        f"TN:\nSF:{name}\n" + "".join(f"DA:{n},{h}\n" for n, h in lines.items()) + "end_of_record\n"
        for name, lines in files.items()
    )


HITS = {1: 1, 2: 1, 3: 0, 4: 1, 7: 1, 8: 0}


def patch(linked, reports, *jobs, **files):
    report = analyse(run(*jobs, coverage=tuple(reports)), Files(**files), linked, config=CONFIG)
    assert report.coverage is not None
    return report.coverage


def one(linked, reports, *jobs, **files):
    (found,) = patch(linked, reports, *jobs, **files).files
    return found


PYTHON = change({"engine/f.py": BEFORE}, {"engine/f.py": AFTER})


@pytest.mark.parametrize(
    "text",
    [
        cobertura({"engine/f.py": HITS}),
        cobertura({"f.py": HITS}, ("/home/ci/engine/engine",)),
        lcov({"/home/ci/engine/engine/f.py": HITS}),
        lcov({"engine/f.py": HITS}),
    ],
)
def test_executed_and_missing_lines_of_the_change(text):
    found = one(PYTHON, [CoverageFile("c", "head", "unit")], c=text)
    assert found.state is CoverageState.MEASURED
    assert (found.executable, found.covered, found.missing) == (4, 2, (3, 8))


def branching(*lines, name="engine/f.py"):
    """Cobertura as coverage.py writes it, from (number, hits, taken, branches, missing)."""
    elements = []
    for number, hits, taken, branches, missing in lines:
        element = f'<line number="{number}" hits="{hits}"'
        if branches:
            percent = 100 * taken // branches
            element += f' branch="true" condition-coverage="{percent}% ({taken}/{branches})"'
        if missing:
            element += f' missing-branches="{missing}"'
        elements.append(f"{element}/>")
    classes = f'<class filename="{name}"><methods/><lines>{"".join(elements)}</lines></class>'
    return (
        f"<coverage><packages><package><classes>{classes}</classes></package></packages></coverage>"
    )


# Line 2 of AFTER branches: its condition was never true.
PARTIAL = branching((1, 1, 0, 0, ""), (2, 1, 1, 2, "3"), (3, 0, 0, 0, ""), (4, 1, 0, 0, ""))
WAYS = "DA:1,1\nDA:2,1\nBRDA:2,0,0,0\nBRDA:2,0,1,1\nDA:3,0\nDA:4,1\n"


@pytest.mark.parametrize("text", [PARTIAL, f"SF:engine/f.py\n{WAYS}end_of_record\n"])
def test_a_line_that_went_only_some_of_its_ways_is_partial(text):
    found = patch(PYTHON, [CoverageFile("c", "head", "unit")], c=text)
    (file,) = found.files
    assert (file.executable, file.covered, file.missing, file.partial) == (2, 0, (3,), (2,))
    assert (file.branches, file.percent) == (1, 0)
    totals = found.totals
    assert (totals.files, totals.lines, totals.branches) == (1, 4, 1)
    assert (totals.hits, totals.misses, totals.partials) == (2, 1, 1)
    assert found.project == 50


def test_two_reports_that_go_one_way_each_go_both():
    other = branching((2, 1, 1, 2, "4"), (3, 1, 0, 0, ""))
    reports = [CoverageFile("a", "head", "cpu"), CoverageFile("b", "head", "gpu")]
    both = patch(PYTHON, reports, a=PARTIAL, b=other)
    assert (both.files[0].covered, both.files[0].missing, both.files[0].partial) == (2, (), ())
    assert [flag.patch_percent for flag in both.flags] == [0, 50]
    same_way = patch(PYTHON, reports, a=PARTIAL, b=PARTIAL)
    assert same_way.files[0].partial == (2,)


def test_a_report_without_branches_says_nothing_about_them():
    reports = [CoverageFile("a", "head", "cpu"), CoverageFile("b", "head", "gpu")]
    found = patch(PYTHON, reports, a=PARTIAL, b=lcov({"engine/f.py": {2: 9, 3: 1}}))
    assert (found.files[0].missing, found.files[0].partial) == ((), (2,))


def test_a_line_that_led_nowhere_is_missing():
    raised = branching((2, 1, 0, 2, "3,4"))
    found = one(PYTHON, [CoverageFile("c", "head", "unit")], c=raised)
    assert (found.missing, found.partial) == ((2,), ())


# What coverage.py 7.17 writes of AFTER with `--branch` after `f(0)`.
COVERAGE_PY_XML = """<coverage version="7.17.3" branches-valid="2"><packages><package><classes>
<class name="__init__.py" filename="engine/__init__.py"><methods/><lines/></class>
<class name="f.py" filename="engine/f.py"><methods/><lines>
<line number="1" hits="1"/>
<line number="2" hits="1" branch="true" condition-coverage="50% (1/2)" missing-branches="3"/>
<line number="3" hits="0"/>
<line number="4" hits="1"/>
<line number="7" hits="1"/>
<line number="8" hits="0"/>
</lines></class></classes></package></packages></coverage>"""
COVERAGE_PY_LCOV = """SF:engine/__init__.py
end_of_record
SF:engine/f.py
DA:1,1
DA:2,1
DA:3,0
DA:4,1
DA:7,1
DA:8,0
FN:1,4,f
FNDA:1,f
BRDA:2,0,jump to line 3,0
BRDA:2,0,jump to line 4,1
end_of_record
"""


@pytest.mark.parametrize("text", [COVERAGE_PY_XML, COVERAGE_PY_LCOV])
def test_coverage_py_s_own_reports(text):
    found = patch(PYTHON, [CoverageFile("c", "head")], c=text)
    (file,) = found.files
    assert (file.executable, file.missing, file.partial) == (4, (3, 8), (2,))
    assert (found.totals.files, found.totals.partials) == (1, 1)


def test_names_of_ways_of_two_formats_are_not_compared():
    reports = [CoverageFile("a", "head", "xml"), CoverageFile("b", "head", "lcov")]
    found = patch(PYTHON, reports, a=COVERAGE_PY_XML, b=COVERAGE_PY_LCOV)
    assert found.files[0].partial == (2,)


def test_a_line_is_executed_where_any_report_says_so():
    reports = [CoverageFile("a", "head", "cpu"), CoverageFile("b", "merge", "gpu")]
    found = patch(PYTHON, reports, a=lcov({"engine/f.py": HITS}), b=lcov({"engine/f.py": {3: 2}}))
    assert found.notes[0].key == Note.COVERAGE_OTHER_COMMIT
    both = patch(
        PYTHON,
        [reports[0], CoverageFile("b", "head", "gpu")],
        a=lcov({"engine/f.py": HITS}),
        b=lcov({"engine/f.py": {3: 2}}),
    )
    assert both.files[0].missing == (8,) and both.percent == 75
    assert [(f.flag, f.lines, f.covered) for f in both.flags] == [("cpu", 6, 4), ("gpu", 1, 1)]


def test_device_code_is_unknown_and_never_covered():
    kernel = "import triton\n\n\n@triton.jit\ndef k(p):\n    p += 1\n"
    linked = change({}, {"csrc/a.cu": "int a;\n", "engine/k.py": kernel})
    found = patch(
        linked, [CoverageFile("c", "head")], c=lcov({"engine/k.py": {1: 1, 4: 1, 5: 1, 6: 1}})
    )
    assert {f.path: (f.state, f.reason) for f in found.files} == {
        "csrc/a.cu": (CoverageState.UNKNOWN, CoverageReason.DEVICE),
        "engine/k.py": (CoverageState.UNKNOWN, CoverageReason.DEVICE),
    }
    assert not found.complete
    assert found.executable == 1


def test_only_device_code_has_no_percentage():
    found = patch(
        change({}, {"a.cu": "int a;\n"}), [CoverageFile("c", "head")], c=lcov({"engine/f.py": HITS})
    )
    assert (found.percent, found.complete) == (None, False)


@pytest.mark.parametrize(
    ("reports", "reason"),
    [
        ([CoverageFile("c", "old", "unit", carried_forward=True)], CoverageReason.CARRIED),
        ([CoverageFile("c", "old", "unit")], CoverageReason.NO_REPORT),
        ([CoverageFile("d", "head", "unit")], CoverageReason.NOT_IN_REPORT),
        (
            [CoverageFile("c", "head", "unit"), CoverageFile("", "head", "gpu", job="1")],
            CoverageReason.JOB_DIED,
        ),
        (
            [CoverageFile("c", "head", "unit"), CoverageFile("", "head", "gpu", job="2")],
            CoverageReason.NO_REPORT,
        ),
    ],
)
def test_what_is_not_known_is_said(reports, reason):
    jobs = (
        job("1", log=""),
        job("2", log="", conclusion=Conclusion.SUCCESS, requirement=Requirement.OPTIONAL),
    )
    files = {"c": lcov({"engine/f.py": HITS}), "d": lcov({"engine/other.py": {1: 1}})}
    found = one(PYTHON, reports, *jobs, **files)
    assert (found.state, found.reason) == (CoverageState.UNKNOWN, reason)


def test_project_before_and_after_only_with_the_same_flags():
    def reports(flag):
        return [CoverageFile("c", "head", "unit"), CoverageFile("b", "base", flag)]

    files = {"c": lcov({"engine/f.py": HITS}), "b": lcov({"engine/f.py": {1: 1, 2: 1}})}
    same = patch(PYTHON, reports("unit"), **files)
    assert (round(same.project, 1), same.base_project) == (66.7, 100.0)
    assert patch(PYTHON, reports("gpu"), **files).base_project is None


def test_a_flag_that_only_the_base_has_is_carried_forward():
    """Its lines count for the project, and leave open what it would have said about the change."""
    reports = [
        CoverageFile("c", "head", "unit"),
        *(CoverageFile(n, "base", f) for n, f in (("u", "unit"), ("g", "gpu"))),
    ]
    lines = {"c": {1: 1, 2: 1, 3: 0}, "u": {1: 1, 2: 1}, "g": {1: 1, 9: 0}}
    files = {name: lcov({"engine/f.py": hits}) for name, hits in lines.items()}
    found = patch(PYTHON, reports, **files)
    assert [(f.flag, f.carried_forward, f.missing) for f in found.flags] == [
        ("unit", False, False),
        ("gpu", True, False),
    ]
    assert (found.project, round(found.base_project, 1)) == (50.0, 66.7)
    unit, gpu = found.flags
    assert (round(unit.base), round(unit.percent), gpu.base) == (100, 67, None)
    assert (found.totals.files, found.base_totals.lines) == (1, 3)
    assert (found.files[0].state, found.files[0].reason) == (
        CoverageState.UNKNOWN,
        CoverageReason.CARRIED,
    )
    elsewhere = patch(PYTHON, reports, **files | {"g": lcov({"engine/other.py": {1: 1}})})
    assert elsewhere.files[0].state is CoverageState.MEASURED
    came = patch(PYTHON, [*reports, CoverageFile("g", "head", "gpu")], **files)
    assert not any(f.carried_forward for f in came.flags)
    assert came.files[0].state is CoverageState.MEASURED


def test_tests_and_documents_are_not_counted():
    linked = change({}, {"tests/test_f.py": "A = 1\n", "README.md": "x\n", "engine/f.py": BEFORE})
    assert [
        f.path
        for f in patch(linked, [CoverageFile("c", "head")], c=lcov({"engine/f.py": {1: 1}})).files
    ] == ["engine/f.py"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "<coverage><packages>",
        "SF:a.py\nDA:1,1\n",
        '<!DOCTYPE x [<!ENTITY a "b">]><coverage>&a;</coverage>',
    ],
)
def test_half_a_report_is_none(text):
    with pytest.raises(CoverageError):
        coverage_files.read(Files(c=text).open("c"))
    found = patch(PYTHON, [CoverageFile("c", "head")], c=text)
    assert [n.key for n in found.notes] == [Note.COVERAGE_BROKEN]
    assert found.files[0].state is CoverageState.UNKNOWN


@settings(max_examples=30, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,5}\.py", fullmatch=True),
        st.dictionaries(st.integers(1, 99), st.integers(0, 9), min_size=1),
        max_size=3,
    )
)
def test_both_formats_say_the_same(files):
    xml, info = (
        coverage_files.read(Files(c=text).open("c")) if text else {}
        for text in (cobertura(files, ("",)), lcov(files))
    )
    as_lines = {
        name: {number: LineCoverage(hits) for number, hits in lines.items()}
        for name, lines in files.items()
    }
    assert xml == info == as_lines


def test_the_numbers_are_diff_cover_s(tmp_path):
    def git(*args):
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *args],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    git("init", "-q", "-b", "main")
    (tmp_path / "f.py").write_text(BEFORE)
    git("add", ".")
    git("commit", "-qm", "before")
    git("checkout", "-qb", "change")
    (tmp_path / "f.py").write_text(AFTER)
    git("commit", "-qam", "after")
    (tmp_path / "coverage.xml").write_text(cobertura({"f.py": HITS}, (str(tmp_path),)))
    told = subprocess.run(
        [sys.executable, "-m", "diff_cover.diff_cover_tool", "coverage.xml", "--compare-branch", "main"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = one(
        change({"f.py": BEFORE}, {"f.py": AFTER}),
        [CoverageFile("c", "head")],
        c=cobertura({"f.py": HITS}, ("",)),
    )
    assert f"f.py ({100 * found.covered / found.executable:.1f}%): Missing lines 3,8" in told.stdout
