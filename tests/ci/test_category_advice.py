"""What to do by a failure's category: the sentence fits what the log's own words name."""

from __future__ import annotations

import pytest

from bot.i18n.catalog import Catalog
from bot.i18n.escape import Markdown
from bot.reports.ci.phrasing import advice
from checks.ci.analyse import analyse
from checks.ci.category_advice import command_for
from checks.ci.message_keys import Advice
from checks.ci.report import Suggestion
from checks.core.finding import Message
from tests.ci.runs import Files, job, run

CASES = (
    # A device: what serializes its own launches, and none for a device without such a setting.
    (
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        Advice.DEVICE,
        {"setting": "CUDA_LAUNCH_BLOCKING=1"},
    ),
    (
        "Memory access fault by GPU node-3 (Agent handle: 0x55d0) on address 0x7f00.",
        Advice.DEVICE,
        {"setting": "AMD_SERIALIZE_KERNEL=3"},
    ),
    (
        "RuntimeError: ACL stream synchronize failed, error code:507018",
        Advice.DEVICE,
        {"setting": "ASCEND_LAUNCH_BLOCKING=1", "code": "507018"},
    ),
    (
        "RuntimeError: Native API failed. Native API returns: 40 (UR_RESULT_ERROR_DEVICE_LOST)",
        Advice.DEVICE,
        {"setting": "", "code": "UR_RESULT_ERROR_DEVICE_LOST"},
    ),
    # A card, a driver and a build that do not fit, wherever that was noticed.
    (
        "RuntimeError: CUDA error: no kernel image is available for execution on the device",
        Advice.DRIVER,
        {},
    ),
    (
        "RuntimeError: CUDA driver version is insufficient for CUDA runtime version",
        Advice.DRIVER,
        {},
    ),
    (
        "triton.runtime.errors.OutOfResources: out of resource: shared memory, "
        "Required: 131072, Hardware limit: 101376. Reducing block sizes may help.",
        Advice.KERNEL_RESOURCES,
        {"asked": "131072", "has": "101376"},
    ),
    (
        'hip_code.cpp:12: guarantee(false && "hipErrorNoBinaryForGpu: no binary was found")',
        Advice.DRIVER,
        {},
    ),
    ("hipHostMalloc: Returned hipErrorNoDevice :", Advice.NO_DEVICE, {"runner": "gpu-3"}),
    (
        "##[error]File was unable to be removed Error: EACCES: permission denied, unlink '/w/a'",
        Advice.LEFT_FILES,
        {"runner": "gpu-3"},
    ),
    ("RuntimeError: No CUDA GPUs are available", Advice.NO_DEVICE, {"runner": "gpu-3"}),
    (
        "docker: Error response from daemon: Bind for 0.0.0.0:8000 failed: port is already allocated",
        Advice.HELD,
        {"runner": "gpu-3"},
    ),
    (
        "Gloo connectFullMesh failed with [../gloo/transport/tcp/pair.cc:144] no error",
        Advice.COMMUNICATION,
        {"library": "gloo"},
    ),
    (
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroup.cpp:94, ncclSystemError",
        Advice.COMMUNICATION,
        {"library": "nccl", "code": "ncclSystemError"},
    ),
    # A network: an address without anything there, a certificate, a checksum.
    (
        "curl: (22) The requested URL returned error: 404",
        Advice.ADDRESS,
        {"url": ""},
    ),
    (
        "fatal: unable to access 'https://git.example.org/a/b/': server certificate verification "
        "failed. CAfile: none CRLfile: none",
        Advice.CERTIFICATE,
        {"host": "git.example.org"},
    ),
    (
        "E: Failed to fetch http://deb.example.org/pool/x_1_amd64.deb  Hash Sum mismatch",
        Advice.CHECKSUM,
        {"url": "http://deb.example.org/pool/x_1_amd64.deb"},
    ),
    (
        "toomanyrequests: You have reached your pull rate limit: https://www.docker.com/limits",
        Advice.RATE_LIMIT,
        {"url": "", "host": "docker.com"},
    ),
    (
        "Error: Failed to CreateArtifact: (409) Conflict: an artifact with this name already "
        "exists on the workflow run",
        Advice.ARTIFACT_TWICE,
        {},
    ),
    (
        "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://a.example/b",
        Advice.NO_RIGHT,
        {},
    ),
    # Signals.
    ("run.sh: line 9:   77 Killed                  python train.py", Advice.KILLED, {}),
    ("Fatal Python error: Segmentation fault", Advice.SIGNAL, {"signal": "SIGSEGV"}),
    (
        "subprocess.CalledProcessError: Command '['./serve']' died with <Signals.SIGKILL: 9>.",
        Advice.KILLED,
        {"signal": "SIGKILL"},
    ),
    (
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -11) local_rank: 1",
        Advice.SIGNAL,
        {"signal": "SIGSEGV"},
    ),
    # A file that is missing, and an error whose message goes on in the next line.
    (
        "src/pack.cu:3:10: fatal error: cutlass/gemm.h: No such file or directory",
        Advice.MISSING_FILE,
        {"file": "cutlass/gemm.h"},
    ),
    (
        "ImportError: libfoo.so.2: cannot open shared object file: No such file or directory",
        Advice.MISSING_FILE,
        {"file": "libfoo.so.2"},
    ),
    (
        "CMake Error at cmake/Find.cmake:12 (message):\n\n  The toolkit was not found.",
        Advice.FIX_BUILD,
        {"error": "CMake Error at cmake/Find.cmake:12 (message): The toolkit was not found."},
    ),
    (
        "thread 'store::tests::keeps_order' (41) panicked at src/store.rs:8:5:\n"
        "assertion `left == right` failed",
        Advice.RUN_TEST,
        {"command": "cargo test store::tests::keeps_order"},
    ),
    # git: what is missing is not what does not merge.
    ("fatal: couldn't find remote ref refs/heads/old", Advice.GIT_REFERENCE, {}),
    ("error: could not apply 1a2b3c4... words", Advice.GIT, {}),
    # Packages by the words of other managers.
    (
        "  x No solution found when resolving dependencies:\n"
        "  `-> Because there is no version of pack==9.1 and you require pack==9.1, we can conclude "
        "that your requirements are unsatisfiable.",
        Advice.PACKAGE,
        {"package": "pack==9.1"},
    ),
    (
        "Encountered problems while solving:\n  - nothing provides requested words 2.1",
        Advice.PACKAGE,
        {"package": "words 2.1"},
    ),
    (
        "The following packages have unmet dependencies:\n"
        " libpack-dev : Depends: libpack2 (= 2.1) but it is not installable\n"
        "E: Unable to correct problems, you have held broken packages.",
        Advice.PACKAGE,
        {"package": "libpack2 (= 2.1)", "pinned": "libpack-dev"},
    ),
    (
        "sbatch: error: Batch job submission failed: Invalid partition name specified",
        Advice.SCHEDULER,
        {},
    ),
    (
        "RuntimeError: The engine could not start. See the root cause above.",
        Advice.OTHER_PROCESS,
        {},
    ),
)


def suggested(log: str) -> list[Message]:
    main = analyse(run(job()), Files(log=log + "\n")).failed[0].main
    return [suggestion.message for suggestion in main.suggestions]


@pytest.mark.parametrize(("log", "key", "args"), CASES)
def test_the_advice_fits_the_words_of_the_log(log, key, args):
    found = {said.key: said.args for said in suggested(log)}
    assert key in found
    assert {name: found[key][name] for name in args} == args


def test_a_card_that_was_lost_is_looked_at_on_its_machine():
    said = suggested("RuntimeError: level_zero backend failed: 20 (UR_RESULT_ERROR_DEVICE_LOST)")
    assert [message.key for message in said] == [Advice.DEVICE, Advice.CHECK_RUNNER]


def test_an_address_of_another_request_is_not_named():
    far = "\n".join(f"step {number}" for number in range(12))
    log = f"Downloading https://files.example.org/a.whl\n{far}\ntoomanyrequests: too many pulls"
    (said,) = suggested(log)
    assert (said.key, said.args) == (Advice.RATE_LIMIT, {"url": "", "host": ""})


def test_a_limit_has_its_unit():
    (said,) = suggested(
        "[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, "
        "OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600014 milliseconds before timing out."
    )
    assert (said.key, said.args) == (Advice.HANG, {"limit": "600000 ms"})


def test_a_test_is_run_by_its_own_framework():
    assert command_for("TestWords.test_pack") == "python -m pytest -k 'TestWords and test_pack'"
    assert command_for("PackTest.Words/3") == "--gtest_filter='PackTest.Words/3'"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("key", [Advice.COMMUNICATION, Advice.DEVICE, Advice.NO_DEVICE])
def test_what_the_log_does_not_name_leaves_no_gap(language, key):
    args = {"code": "", "command": "", "setting": "", "library": "gloo", "error": "e", "runner": ""}
    (said,) = advice([Suggestion(Message(key, args))], Catalog(language, Markdown()))
    assert "``" not in said and "  " not in said and "{%" not in said and "()" not in said
