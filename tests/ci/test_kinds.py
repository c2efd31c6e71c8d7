"""A failure's kind by its one line, as the tools of engines, runners and accelerators say it."""

from __future__ import annotations

import pytest

from checks.ci.analyse import analyse
from checks.ci.report import Category
from tests.ci.runs import Files, job, run

KINDS = {
    Category.SIGNAL: (
        "Bus error (core dumped)",
        "Fatal Python error: Bus error",
        "..FFFatal Python error: Aborted",
        "tests/test_a.py .Fatal Python error: Aborted",
        "release.CommandError: Command returned non-success status: 139",
        "ERROR: Command './serve' returned code 137",
        "./entrypoint.sh: line 28:       7 Killed                  /app/bin/serve $ARGS",
        "[ERROR] Execution of goal test failed: The forked VM terminated without saying goodbye",
    ),
    Category.HOST_OOM: (
        "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=3720.0.",
        "srun: error: node107: task 0: Out Of Memory",
        "subprocess.CalledProcessError: Command '['cmake', '--build', '.']' returned non-zero exit status 137.",
    ),
    Category.DEPENDENCY: (
        "Error: Cannot install packages:",
        "* kit: Can't install dependency info",
    ),
    Category.LINT: (
        "Missing sign-off(s):",
        "clang-format.....................................Failed",
    ),
    Category.NETWORK: (
        "Error response from daemon: toomanyrequests: You have reached your pull rate limit.",
        "ERROR: failed to solve: manifest for org/img:tag not found: manifest unknown",
        "W: Failed to fetch https://archive.example.org/dists/x/InRelease  Connection timed out",
        "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: x",
        "botocore.exceptions.NoCredentialsError: Unable to locate credentials",
        "Error: Unable to download artifact(s): Artifact not found for name: wheel",
    ),
    Category.TIMEOUT: (
        "ERROR: Job failed: execution took longer than 1h0m0s seconds",
        "Cancelling nested steps due to timeout",
    ),
    Category.APPROVAL: (
        "1. You must have one engine RD (ann(an)) approval for modifying [Custom Op].",
        "缺少审批：请联系 ann 审批",
    ),
    Category.DEVICE_OOM: (
        "engine worker failed with OOM on device 0",
        "HIP error: out of memory",
        "RuntimeError: XPU out of memory. Tried to allocate 2.00 GiB",
    ),
    Category.DEVICE_ERROR: (
        "RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:3384, unhandled system error",
        "RuntimeError: [gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:4321",
        "EI0002: The wait execution of the Notify register times out.",
        "RuntimeError: EI0002: The wait execution of the Notify register times out.",
        "[ERROR] aclInit(nullptr) failed: 500000 (/ci/drafts/main.cpp:97)",
        "[ERROR] HCCL(3603,worker):2031-05-13-02:25:58.068.817 [op_base.cc:974][36][Init]failed.",
    ),
}
CASES = [(kind, line) for kind, lines in KINDS.items() for line in lines]


@pytest.mark.parametrize(("kind", "line"), CASES)
def test_a_line_has_its_kind_and_is_quoted(kind, line):
    log = "collecting\n" * 30 + f"{line}\n##[error]Process completed with exit code 1.\n"
    (failed,) = analyse(run(job("log", "job")), Files(log=log), None).failed
    assert (failed.main.category, failed.main.error) == (kind, line)
