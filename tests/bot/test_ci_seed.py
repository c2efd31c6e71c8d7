"""The bundled example's first push: its real tests are run, and the CI report must say what each
failure comes from."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from bot.cli.main import main
from checks.ci.folder import RUN, dump, load
from checks.ci.model import CIRun, Conclusion, Job, LogState, Pull, Requirement, Revisions
from checks.logprobs.jsonl import write
from tests.example.build import build
from tests.logprobs.simulated import Logits, records, swap

STALE = {
    "tests/output/test_process_batch_output.py::TestProcessBatchOutput::test_speculative_decoding_use_logprobs",
    "tests/output/test_process_batch_output.py::TestProcessBatchOutput::test_preempted_slot_does_not_stop_the_others",
    "tests/output/test_token_processor.py::test_speculative_logprob_target_batch",
    "tests/output/test_token_processor.py::test_speculative_logprob_draft_batch",
}
BASELINE = "tests/e2e/test_mtp_logprob_baseline.py::test_mtp_top_logprobs_match_baseline"
SERVING = "tests/pooling/test_reward_serving.py::test_reward_serving_answers_every_step"


@dataclass(frozen=True)
class Saved:
    """A run's folder, and the repository that it is of."""

    folder: Path
    repo: Path


@pytest.fixture(scope="module")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """The example's tests, run as its CI would, beside an approval that nobody has given yet."""
    root = tmp_path_factory.mktemp("seed")
    made, folder = build(root / "repo"), root / "run"
    (folder / "logs").mkdir(parents=True)
    (folder / "junit").mkdir()
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    command = [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    with (folder / "logs/1.log").open("wb") as log:
        command.append(f"--junitxml={folder / 'junit/1.xml'}")
        done = subprocess.run(
            command, cwd=made.repo, env=env, stdout=log, stderr=log, timeout=120, check=False
        )
    assert done.returncode == 1
    at = datetime(2026, 5, 22, 13, 8, 27, tzinfo=UTC)
    needed = {
        "requirement": Requirement.REQUIRED,
        "conclusion": Conclusion.FAILURE,
        "started": at,
        "completed": at,
    }
    unit = Job(
        "1", "unit", **needed, log="logs/1.log", log_state=LogState.PRESENT, junit=("junit/1.xml",)
    )  # type: ignore[arg-type]
    approval = Job("2", "Approval", **needed, runner="small-1")  # type: ignore[arg-type]
    run = CIRun(
        Pull("octo/lantern", 7, made.title), Revisions(made.head, made.base), at, (unit, approval)
    )
    (folder / RUN).write_text(dump(run), "utf-8")
    return Saved(folder, made.repo)


def written(seed: Saved, out: Path, *options: str) -> str:
    args = [
        "ci",
        "report",
        str(seed.folder),
        "--repo",
        str(seed.repo),
        "--lang",
        "en",
        "-o",
        str(out),
        *options,
    ]
    assert main(args) == 0
    return out.read_text("utf-8")


@pytest.fixture(scope="module")
def report(seed: Saved, tmp_path_factory: pytest.TempPathFactory) -> dict:
    return json.loads(written(seed, tmp_path_factory.mktemp("out") / "o", "--format", "json"))


def failures(report: dict, job: str = "unit") -> dict[str, dict]:
    (found,) = (f for f in report["failed"] if f["job"]["name"] == job)
    return {f["test"]: f for f in found["failures"]}


def test_every_failure_is_there(report):
    assert set(failures(report)) == {*STALE, BASELINE, SERVING}


SENDER = "custom_ops/gpu_ops/speculate_decoding/speculate_save_output_with_topk.cc"


def places(locations: list[dict]) -> set[tuple[str, int]]:
    return {(place["path"], place["start_line"]) for place in locations}


def test_stale_fixtures_fail_as_predicted(report, seed):
    lines = (seed.repo / "lantern/output/token_processor.py").read_text().splitlines()
    (widened,) = [n for n, line in enumerate(lines, 1) if "actual_topk = packed_meta1" in line]
    assert {p["test"]: p["outcome"] for p in report["predictions"]} == dict.fromkeys(
        STALE, "confirmed"
    )
    for test in STALE:
        found = failures(report)[test]
        assert (found["cause"], found["confidence"]) == ("this-pr", "high")
        assert found["root"]["key"] == "root-predicted"
        assert ("lantern/output/token_processor.py", widened) in places(found["related"])
        assert SENDER in {path for path, _ in places(found["related"])}
        assert found["error"] == "IndexError: list index out of range"
        fixtures = {
            f"{s['location']['path']}:{s['location']['start_line']}"
            for s in found["suggestions"]
            if s["location"]
        }
        assert any(place.startswith(test.split("::")[0]) for place in fixtures)


def test_the_baseline_differs_because_of_this_change(report):
    found = failures(report)[BASELINE]
    assert (found["category"], found["cause"], found["rerun"]) == (
        "numerical-mismatch",
        "this-pr",
        "samples",
    )
    assert found["root"]["key"] == "root-baseline"


def test_the_reset_connection_is_a_consequence_of_the_servers_own_error(report):
    found = failures(report)[SERVING]
    assert (found["cause"], found["confidence"], found["rerun"]) == (
        "consequence",
        "high",
        "with-cause",
    )
    assert found["error"] == "ConnectionResetError: [Errno 104] Connection reset by peer"
    assert found["root"]["args"]["first"] == "IndexError: list index out of range"
    first = next(e for e in found["evidence"] if e["message"]["key"] == "reason-first")
    assert (first["location"]["path"], first["location"]["start_line"]) == (
        "lantern/output/token_processor.py",
        144,
    )
    frame = next(e for e in found["evidence"] if e["message"]["key"].startswith("reason-frame"))
    assert frame["location"]["path"] == "lantern/output/token_processor.py"


def test_junit_alone_tells_the_servers_error_where_it_keeps_the_output(seed, tmp_path):
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    file = tmp_path / "run/junit.xml"
    options = [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-o",
        "junit_logging=all",
        f"--junitxml={file}",
    ]
    command = [sys.executable, "-B", "-m", "pytest", *options, SERVING]
    subprocess.run(command, cwd=seed.repo, env=env, capture_output=True, timeout=120, check=False)
    unit = Job("1", "unit", conclusion=Conclusion.FAILURE, junit=("junit.xml",))
    saved = load((seed.folder / RUN).read_bytes())
    (tmp_path / "run" / RUN).write_text(dump(replace(saved, jobs=(unit,))), "utf-8")
    text = written(Saved(tmp_path / "run", seed.repo), tmp_path / "o", "--format", "json")
    (found,) = failures(json.loads(text)).values()
    assert (found["cause"], found["root"]["args"]["first"]) == (
        "consequence",
        "IndexError: list index out of range",
    )


def test_an_approval_waits_for_a_person_though_there_is_no_log(report):
    (found,) = failures(report, "Approval").values()
    assert (found["category"], found["cause"], found["rerun"]) == (
        "approval-needed",
        "needs-a-person",
        "no",
    )


def test_the_report_says_it(seed, tmp_path):
    text = written(seed, tmp_path / "o", "--format", "markdown")
    assert "2 required tasks have failed: `unit`, `Approval`." in text
    assert "`Approval` wait" in text
    assert "follows from `IndexError: list index out of range`" in text
    assert text.count("confirmed: `") == len(STALE)
    assert "write `3 | ((K + 1) << 8)`" in text


def test_what_a_maintainer_needs_first_stands_open(seed, tmp_path):
    text = written(seed, tmp_path / "o", "--format", "markdown")
    shown = text
    while "<details>" in shown:
        shown = re.sub(r"<details>(?:(?!<details>).)*?</details>", "", shown, flags=re.DOTALL)
    assert len(shown.encode()) < 6_000 < len(text.encode())
    # The first thing to do about each failure, before the second of any.
    todo = shown.partition("What to do:")[2]
    assert all(f"{number}. " in todo for number in range(1, len(STALE) + 1))
    assert "write `3 | ((K + 1) << 8)`" in todo and "Besides:" not in shown
    assert f"{len(STALE)} confirmed, 0 refuted" in shown
    for folded in ("Evidence:", "Key lines of the log:", "confirmed: `"):
        assert folded in text and folded not in shown


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records at five columns, at three, and at three with ranks that are off by one."""
    folder = tmp_path_factory.mktemp("records")
    logits = Logits.random(np.random.default_rng(1), 8, 10, 30)
    narrow = records(logits, k=3)
    kinds = {
        "base": records(logits),
        "head": narrow,
        "broken": [swap(r, ranks=r.ranks + 1) for r in narrow],
    }
    for name, made in kinds.items():
        (folder / name).write_bytes(b"".join(write(r) for r in made))
    return folder


@pytest.mark.parametrize(
    ("head", "root", "verdict"),
    [
        ("head", "root-baseline-safe", "columns-only"),
        ("broken", "root-baseline-compared", "regression"),
    ],
)
def test_records_say_what_the_difference_is(seed, recorded, tmp_path, head, root, verdict):
    options = ("--records", str(recorded / "base"), str(recorded / head), "--format")
    found = failures(json.loads(written(seed, tmp_path / "o", *options, "json")))[BASELINE]
    assert (found["root"]["key"], found["root"]["args"]["verdict"]) == (root, verdict)
    assert (found["cause"], found["confidence"]) == ("this-pr", "high")
    advice = [s["message"]["key"] for s in found["suggestions"]]
    assert ("advice-record-anew" in advice) == (verdict == "columns-only")
    assert f"compare as `{verdict}`" in written(seed, tmp_path / "o", *options, "markdown")


def test_records_need_a_repository(seed, recorded, specbot):
    done = specbot("ci", "report", seed.folder, "--records", recorded / "base", recorded / "head")
    assert done.code == 2 and "`--repo`" in done.err
