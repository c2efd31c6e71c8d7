"""`specbot ci report` on saved runs: what it says, in every format, and that hostile or huge runs
do no harm."""

from __future__ import annotations

import gzip
import json
import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.comment_text import utf16_length
from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.reports.ci import LARGEST, CIView, comment, render
from bot.reports.ci.phrasing import advice
from checks.ci.folder import RUN, dump
from checks.ci.message_keys import Advice
from checks.ci.model import (
    Attempt,
    CIRun,
    Conclusion,
    Job,
    LogState,
    Past,
    Pull,
    Requirement,
    Revisions,
    Status,
    Where,
)
from checks.ci.report import (
    Category,
    Cause,
    CIReport,
    CoverageState,
    CoverageTotals,
    Evidence,
    FailedJob,
    Failure,
    FileCoverage,
    FlagCoverage,
    LogLine,
    PatchCoverage,
    Suggestion,
    Totals,
)
from checks.core.finding import Confidence, Location, Message

AT = datetime(2026, 5, 22, 13, 8, 27, tzinfo=UTC)
LOG = b"""2026-05-22T11:50:02.1Z ============================= test session starts ==============================
2026-05-22T11:50:02.2Z collected 3 items
2026-05-22T11:50:03.1Z =================================== FAILURES ===================================
2026-05-22T11:50:03.1Z __________________________________ test_pack ___________________________________
2026-05-22T11:50:03.1Z tests/test_words.py:7: in test_pack
2026-05-22T11:50:03.1Z     assert word == 5123
2026-05-22T11:50:03.2Z E   AssertionError: packed 3 instead of 5123
2026-05-22T11:50:03.3Z =========================== short test summary info ============================
2026-05-22T11:50:03.3Z FAILED tests/test_words.py::test_pack - AssertionError: packed 3 instead of 5123
2026-05-22T11:50:03.4Z ========================= 1 failed, 2 passed in 0.31s ==========================
"""


def job(name: str, conclusion: Conclusion = Conclusion.SUCCESS, **more: object) -> Job:
    more.setdefault("requirement", Requirement.REQUIRED)
    return Job(id=name, name=name, conclusion=conclusion, **more)  # type: ignore[arg-type]


def run_of(*jobs: Job, **more: object) -> CIRun:
    return CIRun(
        Pull("octo/engine", 7, "Pack words"), Revisions("a" * 40, "b" * 40), AT, jobs, **more
    )  # type: ignore[arg-type]


FAILED = job(
    "unit",
    Conclusion.FAILURE,
    started=datetime(2026, 5, 22, 11, 50, tzinfo=UTC),
    completed=datetime(2026, 5, 22, 13, 4, 40, tzinfo=UTC),
    log="logs/unit.log",
    log_state=LogState.PRESENT,
    log_url="https://example.org/log?a=1&b=(2)",
    attempt=2,
    attempts=(Attempt(1, Conclusion.FAILURE),),
)


@pytest.fixture
def saved(tmp_path: Path):
    """Saves a run in a folder of its own, with the log of `unit`."""

    def save(run: CIRun, name: str = "run") -> Path:
        folder = tmp_path / name
        (folder / "logs").mkdir(parents=True)
        (folder / RUN).write_text(dump(run), "utf-8")
        (folder / "logs/unit.log").write_bytes(LOG)
        return folder

    return save


def test_what_failed_and_its_log(specbot, saved):
    done = specbot("ci", "report", saved(run_of(FAILED, job("lint"))), "--format", "markdown")
    assert done.code == 0, done.err
    assert "1 required task has failed: `unit`." in done.out
    assert "Required: 1/2 passed" in done.out
    assert "| 3(1) | 2 | 1 | 1 | 0 | 0 | 0 |" in done.out
    assert (
        "`tests/test_words.py::test_pack` | `AssertionError: packed 3 instead of 5123`" in done.out
    )
    assert "[Log](https://example.org/log?a=1&b=%282%29)" in done.out
    assert "1h14m" in done.out
    assert "nothing is linked to the change" in done.out


def test_in_chinese(specbot, saved):
    done = specbot("ci", "report", saved(run_of(FAILED)), "--format", "markdown", "--lang", "zh")
    assert "有 1 个必选任务失败：`unit`。" in done.out
    assert "关键日志：" in done.out
    assert "1 小时 14 分" in done.out


@pytest.mark.parametrize("output", ["terminal", "markdown", "html", "json", "github"])
def test_the_same_run_gives_the_same_bytes(specbot, saved, output):
    folder = saved(run_of(FAILED, job("lint")))
    first, second = (specbot("ci", "report", folder, "--format", output) for _ in range(2))
    assert first.code == 0, first.err
    assert first.out == second.out
    assert "unit" in first.out


def test_what_never_started_and_what_runs(specbot, saved):
    past = tuple(
        Past(Where.BASE, "xpu", "c" * 40, AT, Conclusion.SUCCESS, seconds=s)
        for s in (600, 900, 1200)
    )
    started = datetime(2026, 5, 22, 13, 0, 27, tzinfo=UTC)
    run = run_of(
        job("docs", Conclusion.NONE, status=Status.EXPECTED),
        job("xpu", Conclusion.NONE, status=Status.IN_PROGRESS, started=started),
        history=past,
    )
    out = specbot("ci", "report", saved(run), "--format", "markdown").out
    assert "1 required check has never started: `docs`." in out
    assert "about 7m0s to go (median of 3 past runs)" in out


def test_an_approval_names_who_must_give_it(specbot, saved):
    folder = saved(
        run_of(job("Approval", Conclusion.FAILURE, log="logs/a.log", log_state=LogState.PRESENT))
    )
    who = "You must have one RD (ada or grace) approval for modifying custom_ops."
    (folder / "logs/a.log").write_text(f"***\n{who}\nThere are 1 approved errors.\n", "utf-8")
    done = specbot("ci", "report", folder, "--format", "markdown")
    assert f"`Approval` waits for an approval: `{who}`" in done.out


TWO_APPROVALS = (
    "0. You must have one engine RD (ada(adalove), grace-h(hopper)) approval for modifing "
    "[engine/spec engine/ops].1. You must have one RD (linus(lin)) approval for modifying [envs.py]."
)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_approval_that_one_line_asks_for_is_told(specbot, saved, language):
    folder = saved(
        run_of(job("Approval", Conclusion.FAILURE, log="logs/a.log", log_state=LogState.PRESENT))
    )
    text = f"{TWO_APPROVALS}\nThere are 2 approved errors.\n"
    (folder / "logs/a.log").write_text(text, "utf-8")
    done = specbot("ci", "report", folder, "--format", "markdown", "--lang", language)
    # A mention that a log makes is shown, and calls nobody: an invisible sign stands in it.
    shown = done.out.replace("@\u200b", "@")
    advised = [line for line in shown.splitlines() if re.match(r"\d\. .*@", line)]
    assert len(advised) == 2, shown
    comma = {"en": ", ", "zh": "、"}[language]
    assert f"@ada{comma}@grace-h" in advised[0] and "engine/ops" in advised[0]
    assert "@linus" in advised[1] and "envs.py" in advised[1] and "@ada" not in advised[1]


def test_unknown_requirements_are_not_called_optional(specbot, saved):
    run = run_of(
        job("unit", Conclusion.FAILURE, requirement=Requirement.UNKNOWN), required_known=False
    )
    out = specbot("ci", "report", saved(run), "--format", "markdown").out
    assert "which are required is not known: `unit`" in out
    assert "Optional" not in out


def test_since_the_last_report(specbot, saved):
    before = saved(
        run_of(job("unit"), job("lint", Conclusion.FAILURE), job("docs", Conclusion.FAILURE)),
        "before",
    )
    now = saved(run_of(FAILED, job("lint"), job("docs", Conclusion.FAILURE)), "now")
    out = specbot("ci", "report", now, "--since", before, "--format", "markdown").out
    assert "newly failed: `unit`" in out
    assert "failed before and passed now: `lint`" in out
    assert specbot("ci", "report", now, "--since", now).out.count("Nothing changed.") == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("[]", "wrong type"),
        ('{"version": 2}', "only version 1"),
        ('{"version": 1, "jbos": []}', "unknown key `jbos`"),
        (dump(run_of(job("x", log="../../etc/passwd"))), "leads out of the folder"),
    ],
)
def test_a_folder_that_is_no_run(specbot, tmp_path, text, says):
    (tmp_path / RUN).write_text(text)
    done = specbot("ci", "report", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert says in done.err and done.err.count("\n") == 1


def test_other_mistakes(specbot, saved, tmp_path):
    assert specbot("ci", "report", tmp_path / "nowhere").code == 2
    assert specbot("ci", "report", tmp_path).code == 2
    done = specbot("ci", "report", saved(run_of(FAILED)), "--base", "main")
    assert done.code == 2 and "`--repo`" in done.err


def test_a_link_out_of_the_folder_is_not_followed(specbot, saved, tmp_path):
    folder = saved(run_of(FAILED))
    (tmp_path / "secret").write_text(
        "FAILED tests/test_secret.py::test_it - AssertionError: hidden\n"
    )
    (folder / "logs/unit.log").unlink()
    (folder / "logs/unit.log").symlink_to(tmp_path / "secret")
    assert "hidden" not in specbot("ci", "report", folder, "--format", "json").out


def test_a_log_that_was_left_compressed(specbot, saved):
    folder = saved(run_of(FAILED))
    plain = specbot("ci", "report", folder, "--format", "json").out
    log = folder / "logs/unit.log"
    log.write_bytes(gzip.compress(LOG))
    assert specbot("ci", "report", folder, "--format", "json").out == plain
    log.write_bytes(gzip.compress(LOG + random.Random(1).randbytes(1 << 16))[:-200])
    cut_off = specbot("ci", "report", folder, "--format", "json").out
    assert "packed 3 instead of 5123" in cut_off


def test_a_compressed_log_without_end_is_not_read(specbot, saved, monkeypatch):
    monkeypatch.setattr("bot.ci.gzipped.LARGEST_LOG", 1 << 20)
    folder = saved(run_of(FAILED))
    (folder / "logs/unit.log").write_bytes(gzip.compress(LOG + b"\n" * (4 << 20)))
    done = specbot("ci", "report", folder, "--format", "json")
    assert done.code == 0 and "packed 3" not in done.out


HOSTILE = "@team <script>alert(1)</script> ![x](http://evil) ``` | `<!-- \x1b[31m ghp_0123456789abcdefghijABCDEFGHIJ012345 "


@pytest.mark.parametrize("output", ["terminal", "markdown", "html", "json", "github"])
def test_hostile_text_stays_text_and_tokens_are_taken_out(specbot, saved, output):
    folder = saved(
        run_of(
            job(
                "unit " + HOSTILE,
                Conclusion.FAILURE,
                log="logs/unit.log",
                log_state=LogState.PRESENT,
            )
        )
    )
    (folder / "logs/unit.log").write_text(LOG.decode().replace("packed 3", HOSTILE))
    out = specbot("ci", "report", folder, "--format", output).out
    assert "ghp_" not in out
    assert "\x1b" not in out
    if output == "html":
        assert "<script" not in out
    if output in ("markdown", "github"):
        outside = re.sub(r"```text\n.*?\n```|`+[^`]*`+", "", out, flags=re.S)
        assert "<script" not in outside and "@team" not in outside and "](http" not in outside


def big(count: int, text: str, seed: int = 0) -> CIReport:
    failures = tuple(
        Failure(
            Category.TEST_FAILURE,
            Cause.UNKNOWN,
            Confidence.LOW,
            Message("root-unknown", {"error": f"{text}{n}"}),
            test=f"tests/test_{n}.py::{text[:200]}",
            error=text,
            evidence=(Evidence(Message("reason-junit", {"test": text}), Location("a.py", n)),),
            related=(Location(f"a/{text[:40]}{n}.py", n),),
        )
        for n in range(count)
    )
    lines = tuple(LogLine(n + 1, text) for n in range(10))
    jobs = tuple(job(f"job {n} {text[:300]}", Conclusion.FAILURE) for n in range(max(1, count)))
    failed = tuple(FailedJob(j, failures[0], failures, lines) for j in jobs) if failures else ()
    totals = Totals(len(jobs), 0, len(jobs), 0, 0, 0, seed, len(jobs), 0)
    files = tuple(
        FileCoverage(f"f{n}.py", CoverageState.MEASURED, 9, 9, 3, (1, 2, 3, 7, 9, 11))
        for n in range(count)
    )
    flags = (
        FlagCoverage("gpu", 90, 30, carried_forward=True),
        FlagCoverage("xpu", 0, 0, missing=True),
    )
    return CIReport(run_of(*jobs), totals, failed, coverage=PatchCoverage(files, flags))


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 60), st.text(max_size=1200), st.sampled_from(["zh", "en"]))
def test_a_comment_fits_whatever_the_input(count, text, language):
    body = comment(CIView(big(count, text)), language)
    assert utf16_length(body) <= LARGEST
    fences = [line for line in body.split("\n") if re.match(r"`{3,}", line)]
    assert len(fences) % 2 == 0


def visible(body: str) -> str:
    """What is read without opening anything."""
    innermost = re.compile(r"<details>(?:(?!<details>).)*?</details>", re.S)
    while innermost.search(body):
        body = innermost.sub("", body)
    return body


@pytest.mark.parametrize("language", ["en", "zh"])
def test_ten_failed_tasks_are_read_in_six_kilobytes(language):
    errors = [f"AssertionError: op_{n} packed {n} where {n * 257} is expected" for n in range(10)]
    whole = big(10, "RuntimeError: no")
    failed = []
    for entry, error in zip(whole.failed, errors, strict=True):
        root = Message("root-unknown", {"error": error})
        failure = replace(entry.failures[0], error=error, root=root)
        failed.append(FailedJob(entry.job, failure, (failure,), entry.lines))
    body = comment(CIView(replace(whole, failed=tuple(failed))), language)
    assert all(error.split(":")[1].split()[0] in body for error in errors)
    assert len(visible(body).encode()) <= 6 * 1024


def test_what_matters_least_goes_first():
    body = comment(CIView(big(60, "x" * 400)), "en")
    assert "60 required tasks have failed" in body
    assert "what matters least was shortened" in body


def test_coverage_is_never_whole_where_something_is_not_known(specbot):
    files = (
        FileCoverage("a.py", CoverageState.MEASURED, 4, 4, 4),
        FileCoverage("k.cu", CoverageState.UNKNOWN, 9, reason="device-code"),
    )
    report = CIReport(
        run_of(job("unit")), Totals(1, 1, 0, 0, 0, 0, 0, 1, 1), coverage=PatchCoverage(files)
    )
    body = comment(CIView(report), "en")
    assert "4 of 4 executable lines of the change" in body
    assert "the coverage of 1 file is not known" in body
    assert "device code, which no coverage tool sees" in body


def test_coverage_has_codecov_s_table():
    files = (
        FileCoverage(
            "a.py", CoverageState.MEASURED, 20, 19, 15, (3, 5, 6), partial=(9,), branches=4
        ),
        FileCoverage("b.py", CoverageState.MEASURED, 2, 1, 0, (), partial=(7,), branches=1),
    )
    flags = (
        FlagCoverage("GPU", 60, 43, patch_lines=20, patch_covered=15, base=70.0),
        FlagCoverage("XPU", 0, 0, missing=True),
    )
    patch = PatchCoverage(
        files,
        flags,
        project=71.6667,
        base_project=70.0,
        totals=CoverageTotals(4, 60, 12, 43, 14, 3),
        base_totals=CoverageTotals(3, 50, 10, 35, 15, 0),
    )
    report = CIReport(run_of(job("unit")), Totals(1, 1, 0, 0, 0, 0, 0, 1, 1), coverage=patch)
    body = comment(CIView(report), "en")
    plain = body.replace("\\", "")
    assert "15 of 20 executable lines of the change (75.0%) were run in full" in plain
    assert "3 were not run, 2 went only some of their branches" in plain
    assert "| `a.py` | 78.9% | 15/19 | 4 | `3, 5-6` | `9` |" in body
    assert "| `b.py` | 0.0% | 0/1 | 1 | none | `7` |" in body
    assert "| Coverage | 70.00% | 71.67% | +1.67 |" in body
    assert "| Misses | 15 | 14 | -1 |" in body
    assert "| `GPU` | 43/60 | 71.67% | 75.00% | +1.67 |" in body
    assert "not uploaded by this run" in body
    chinese = comment(CIView(report), "zh")
    assert "3 行未执行，2 行只走了部分分支" in chinese and "整个项目与各标记的覆盖率" in chinese


def test_what_is_strong_is_so_in_every_output():
    report = CIReport(run_of(job("unit")), Totals(1, 1, 0, 0, 0, 0, 0, 1, 1))
    assert "**May be merged**:" in render(CIView(report), "markdown", "en")
    assert "<b>May be merged</b>:" in render(CIView(report), "html", "en")
    assert "**" not in render(CIView(report), "terminal", "en")


def test_one_thing_to_do_is_said_once_with_all_its_places():
    places = (Location("a.py", 9), Location("b.py", 3, 5), Location("a.py", 2), Location("a.py", 9))
    found = [Suggestion(Message(Advice.LOOK_AT_FILE), at) for at in places]
    told = (*found, Suggestion(Message(Advice.NEVER_RERUN)))
    first, second = advice(told, Catalog("en", Markdown()))
    assert first == "look at `a.py:2/9`, `b.py:3-5`" and "rerun" in second


def test_every_sentence_of_the_analysis_has_its_words():
    import tomllib

    from bot.i18n.catalog import TEMPLATES
    from checks.ci.message_keys import KEYS

    words = tomllib.loads((TEMPLATES / "words/ci.toml").read_text("utf-8"))
    assert not set(KEYS) - set(words)
    kinds = {"category": Category, "cause": Cause, "state": Conclusion}
    for prefix, kind in kinds.items():
        assert not {f"{prefix}-{k}" for k in kind} - set(words)


def test_json_is_whole(specbot, saved):
    data = json.loads(specbot("ci", "report", saved(run_of(FAILED)), "--format", "json").out)
    (failed,) = data["failed"]
    assert failed["failures"][0]["error"] == "AssertionError: packed 3 instead of 5123"
    assert data["version"] == 1
