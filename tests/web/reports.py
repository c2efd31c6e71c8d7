"""Reports of every tab, with a text of the test's choice wherever a stranger's can stand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from bot.i18n.catalog import LANGUAGES
from bot.reports import html
from bot.reports.ci import CIView
from bot.reports.kernelpairs import JudgedComparison, KernelReport
from bot.reports.pictures import Push, findings_over_pushes
from bot.web import tab_html
from checks.ci.analyse import analyse
from checks.ci.model import CIRun, Conclusion, Requirement, Status
from checks.ci.report import CIReport
from checks.kernelrun.comparison import compare
from checks.kernelrun.model import CaseStatus as Ran
from checks.kernelrun.model import (
    Confinement,
    KernelCase,
    KernelRunResult,
    Output,
    StatusReason,
    Times,
)
from checks.kernelrun.tensors import Tensor
from checks.logprobs.compare import ComparisonOutcome
from tests.ci.runs import NOW, Files, job, run
from tests.logprobs.simulated import Logits, compared, records, swap

PUSHES = tuple(
    Push(f"{n:040x}", bugs, 4 - n % 3, n % 2) for n, bugs in enumerate((4, 4, 2, 1, 0), 1)
)


def ci(text: str) -> CIReport:
    """A build that passed, a test that failed, one that runs, and one that waits."""
    log = f"=== FAILURES ===\nE   AssertionError: {text}\nFAILED tests/test_words.py::test_pack - {text}\n"

    def at(minutes: float) -> Any:
        return NOW - timedelta(minutes=90 - minutes)

    fine = {"conclusion": Conclusion.SUCCESS, "log": ""}
    jobs = (
        job("1", "build", queued=at(0), started=at(2), completed=at(30), **fine),
        job("2", f"unit {text}", queued=at(30), started=at(41), completed=at(62), summary=text),
        job("3", "lint", queued=at(0), started=at(1), completed=at(3), **fine),
        job(
            "4",
            "e2e",
            queued=at(30),
            started=at(70),
            status=Status.IN_PROGRESS,
            conclusion=Conclusion.NONE,
        ),
        job("5", "accuracy", queued=at(60), status=Status.QUEUED, conclusion=Conclusion.NONE),
    )
    return analyse(run(*jobs), Files(log=log))


def commits(text: str, repository: str, number: int, head: str) -> tuple[CIRun, ...]:
    """The runs of five commits, the last of them `head`: jobs come, break, and are mended."""
    latest = ci(text).run
    workflows = ("Build", "CE Compile Job", "Run FastDeploy Unit Tests and Coverage")
    runs = []
    for back in range(4, -1, -1):
        jobs = list(latest.jobs) if back == 0 else []
        for n in range(18):
            broke = n % 5 == back or (n == 7 and back < 3)
            conclusion = Conclusion.FAILURE if broke else Conclusion.SUCCESS
            if n % 6 == 5:
                conclusion = Conclusion.SKIPPED
            name = f"run_tests_{n} / logprob_test_{n}"
            done = {"conclusion": conclusion, "url": f"https://github.example/job/{n}"}
            requirement = Requirement.REQUIRED if n % 2 else Requirement.OPTIONAL
            jobs.append(
                job(f"x{n}", name, workflow=workflows[n % 3], requirement=requirement, **done)
            )
        commit = head if back == 0 else f"{back:x}" * 40
        runs.append(
            replace(
                latest,
                pull=replace(latest.pull, repo=repository, number=number),
                revisions=replace(latest.revisions, head=commit),
                collected=NOW - timedelta(hours=5 * back),
                jobs=tuple(jobs),
            )
        )
    return tuple(runs)


def kernels(text: str, bandwidth: float | None = 3e12) -> KernelReport:
    """One case as fast as before, one slower, one faster, one that crashes."""
    held = Confinement("bwrap", True, {"processes": 9})
    random = np.random.default_rng(7)

    def case(name: str, seconds: float, status: Ran = Ran.OK) -> KernelCase:
        tensor = Tensor("U8", (2,), b"\1\2")
        output = (Output("o", "U8", tensor.shape, tensor.digest, 0.5, 0.0),)
        reason = (
            None
            if status is Ran.OK
            else StatusReason("error", {"error": text, "kind": "RuntimeError"})
        )
        times = Times("graph", tuple(tuple(seconds * random.normal(1, 0.03, 25)) for _ in range(2)))
        return KernelCase("verify", name, status, reason, 0.0, output, times, bytes=40_000_000)

    def side(*cases: KernelCase) -> KernelRunResult:
        return KernelRunResult(
            {"torch": "2"}, {"gpu": "NVIDIA H100"}, "0" * 64, held, cases, {}, bandwidth
        )

    names = ("greedy, B=64", "top-p, B=64", text)
    base = [case(n, 2e-5) for n in names] + [case("mixed", 3e-5)]
    head = [case(n, 2e-5 * f) for n, f in zip(names, (1.0, 1.3, 0.8), strict=True)] + [
        case("mixed", 3e-5, Ran.ERROR)
    ]
    return KernelReport(
        "b" * 40,
        "a" * 40,
        (JudgedComparison("base", compare(side(*base), side(*head))),),
        (f"kernels/{text}.py",),
    )


def logprobs(text: str) -> ComparisonOutcome:
    """A little noise, with a large difference in one request."""
    random = np.random.default_rng(3)
    logits = Logits.random(random, requests=12)
    other = logits.noisy(random)
    other.values[0, 20:] += random.normal(0, 1, other.values[0, 20:].shape)
    base, head = (
        [swap(r, id=f"{r.id} {text}") for r in records(values, seed=seed)]
        for values, seed in ((logits, 0), (other, 1))
    )
    return compared(base, head)


def made(text: str) -> dict[str, tuple[tab_html.Bodies, str]]:
    """Bodies and verdict by kind."""
    report, pairs, outcome = ci(text), kernels(text), logprobs(text)
    return {
        "ci": (tab_html.ci_tab(CIView(report)), tab_html.ci_verdict(report)),
        "kernels": (tab_html.kernels_tab(pairs), tab_html.kernels_verdict(pairs)),
        "logprobs": (tab_html.logprobs_tab({"run-against-base": outcome}), str(outcome.verdict)),
        "history": (
            {
                name: html.body(findings_over_pushes(PUSHES, html.words_for(name)))
                for name in LANGUAGES
            },
            "",
        ),
    }
