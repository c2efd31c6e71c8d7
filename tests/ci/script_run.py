"""The log of a script that starts one pytest for every file, in two shards at a time, and writes no
JUnit: written by hand in the form that such scripts print."""

from __future__ import annotations

SESSION = """\
Running pytest file: {path}
============================= test session starts ==============================
platform linux -- Python 3.10.13, pytest-8.3.2, pluggy-1.5.0 -- /usr/bin/python
cachedir: .pytest_cache
rootdir: /workspace/engine
configfile: tests/cov.ini
collecting ... collected {count} items

{body}"""
PASSED = """\
{path}::test_starts loading weights
PASSED
{path}::test_stops PASSED

============================== 2 passed in 3.10s ===============================
"""
INDEX_ERROR = """\
{path}::TestTokens::test_row output[1] = 4
FAILED
{path}::TestTokens::test_rest PASSED

=================================== FAILURES ===================================
_____________________________ TestTokens.test_row ______________________________

    def test_row(self):
        processor = make_processor()
>       processor.run(self.row)

{path}:29:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

>       first = row[0]
E       IndexError: list index out of range

engine/token_processor.py:12: IndexError
=========================== short test summary info ============================
FAILED {path}::TestTokens::test_row - IndexError: list index out of range
========================= 1 failed, 1 passed in 4.20s ==========================
"""
BASELINE = """\
{path}::test_logprobs FAILED

=================================== FAILURES ===================================
________________________________ test_logprobs _________________________________

>       assert diff < 1e-3, "logprobs differ from the baseline"
E       AssertionError: logprobs differ from the baseline
E       assert 0.25 < 0.001

{path}:41: AssertionError
=========================== short test summary info ============================
FAILED {path}::test_logprobs - AssertionError: logprobs differ from the baseline
============================== 1 failed in 9.11s ===============================
"""
RESET = """\
{path}::test_reward FAILED

=================================== FAILURES ===================================
_________________________________ test_reward __________________________________

>       response = client.post(url)
E       ConnectionResetError: [Errno 104] Connection reset by peer

{path}:17: ConnectionResetError
=========================== short test summary info ============================
FAILED {path}::test_reward - ConnectionResetError: [Errno 104] Connection reset by peer
============================== 1 failed in 61.00s ==============================
"""
CRASH = """\
{path}::test_small PASSED
{path}::test_large Fatal Python error: Segmentation fault

Current thread 0x00007f2a (most recent call first):
  File "/workspace/engine/ops.py", line 8 in gather
"""
NOT_COLLECTED = """\

==================================== ERRORS ====================================
_____________ ERROR collecting {path} _____________
ImportError while importing test module '/workspace/engine/{path}'.
Traceback:
{path}:3: in <module>
    from engine.ops import gather_all
E   ImportError: cannot import name 'gather_all' from 'engine.ops'
=========================== short test summary info ============================
ERROR {path}
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
=============================== 1 error in 0.91s ===============================
"""
SERVER_LOG = """\
---------------- /workspace/engine/server.log (last 100 lines) ----------------
Traceback (most recent call last):
  File "/workspace/engine/engine/worker.py", line 77, in load
    self.cache = allocate(size)
RuntimeError: cache does not fit: 9 blocks
---------------------------------------------------------------
"""
BANNER = """
==================== Test Failed: {path} ====================
>>> grep error in /workspace/engine/unittest_logs
{printed}=======================================================
"""


def one_file(path: str, body: str, printed: str = "") -> list[str]:
    """What the script prints for one file."""
    text = SESSION.format(path=path, count=2, body=body.format(path=path))
    if body != PASSED:
        text += BANNER.format(path=path, printed=printed)
    return text.split("\n")


def interleave(first: list[str], second: list[str], at_a_time: int = 7) -> list[str]:
    """The lines of two shards as they reach one log."""
    lines: list[str] = []
    while first or second:
        lines += first[:at_a_time] + second[:at_a_time]
        first, second = first[at_a_time:], second[at_a_time:]
    return lines


def log(*files: list[str], failed: list[str] = ()) -> str:
    """The log of the whole job, whose last step only tells that tests failed."""
    lines = [line for file in files for line in file]
    end = ["Unit tests failed (exit code 8)", "Failed test cases:", *failed]
    lines += [*end, "##[error]Process completed with exit code 8."]
    stamped = [
        f"2026-06-10T11:{n // 60 % 60:02}:{n % 60:02}.0000000Z {x}" for n, x in enumerate(lines)
    ]
    return "\n".join(stamped) + "\n"
