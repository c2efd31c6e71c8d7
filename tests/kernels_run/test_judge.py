"""From a journal and outputs to statuses; the journal may be a lie."""

from __future__ import annotations

import json
import struct

from hypothesis import given
from hypothesis import strategies as st

from checks.kernelrun.events import MOST_SAMPLES, parse
from checks.kernelrun.judge import HarnessProcess, ProcessEnd, Standard, judge, merge_processes
from checks.kernelrun.model import WHOLE_OP, CaseStatus
from checks.kernelrun.tensors import Tensor

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=6,
)
EVENTS = [
    "start",
    "case",
    "begin",
    "done",
    "error",
    "lost",
    "unsupported",
    "import-failed",
    "no-device",
    "end",
    "roof",
    "size",
]
FIELDS = [
    "case",
    "how",
    "seconds",
    "error",
    "versions",
    "device",
    "tolerance",
    "bytes",
    "bytes_per_second",
]
LINES = st.builds(
    lambda event, fields: json.dumps({"event": event, **fields}),
    st.sampled_from(EVENTS) | JSON,
    st.dictionaries(
        st.sampled_from(FIELDS), JSON | st.just("a") | st.lists(st.floats(), max_size=3)
    ),
)


def ints(*values):
    return Tensor("I32", (len(values),), struct.pack(f"<{len(values)}i", *values))


def floats(*values):
    return Tensor("F32", (len(values),), struct.pack(f"<{len(values)}f", *values))


LAW = Standard(
    {"a": {}, "b": {"p": 0.5}},
    {"a": {"n": ints(1, 2)}, "b": {"p": floats(1, 2), "sure": Tensor("BOOL", (2,), b"\1\0")}},
)
FINE = ProcessEnd()
RIGHT = {"a": {"n": ints(1, 2)}, "b": {"p": floats(1.25, 99)}}
FULL = (
    '{"event": "begin", "case": "a"}\n{"event": "done", "case": "a", "how": "graph", "seconds": [1e-5]}\n'
    '{"event": "begin", "case": "b"}\n{"event": "done", "case": "b", "how": "graph", "seconds": [2e-5]}\n'
)


def judged(text, ending=FINE, outputs=RIGHT, law=LAW):
    return {c.name: c for c in judge("op", law, HarnessProcess(parse(text), ending, outputs))}


def said(case):
    return case.status, case.reason.key if case.reason else None


def test_right_outputs_are_ok():
    cases = judged(FULL)
    assert [said(c) for c in cases.values()] == [(CaseStatus.OK, None)] * 2
    assert cases["a"].times.median == 1e-5
    assert cases["b"].max_error == 0.25  # the second row is a close call


def test_each_way_of_being_wrong():
    for name, outputs, want in (
        ("a", {"a": {"n": ints(1, 3)}}, (CaseStatus.MISMATCH, "values")),
        ("a", {"a": {"n": ints(1, 2, 3)}}, (CaseStatus.MISMATCH, "form")),
        ("a", {"a": {"n": floats(1, 2)}}, (CaseStatus.MISMATCH, "form")),
        ("a", {"a": {}}, (CaseStatus.MISMATCH, "missing")),
        ("a", {}, (CaseStatus.ERROR, "no-output")),
        ("b", {"b": {"p": floats(1.75, 2)}}, (CaseStatus.MISMATCH, "values")),
        ("b", {"b": {"p": floats(float("nan"), 2)}}, (CaseStatus.NAN, "nan")),
    ):
        assert said(judged(FULL, outputs=RIGHT | outputs if outputs else {})[name]) == want


def test_a_process_that_ended_early():
    begun = FULL.splitlines(keepends=True)[:3]
    for ending, status, key in (
        (ProcessEnd(signal=11), CaseStatus.CRASHED, "signal"),
        (ProcessEnd(limit=60), CaseStatus.TIMEOUT, "timeout"),
        (ProcessEnd(code=0), CaseStatus.CRASHED, "exit"),
    ):
        cases = judged("".join(begun), ending)
        assert said(cases["a"]) == (CaseStatus.OK, None)
        assert said(cases["b"]) == (status, key)
        first = judged(begun[0], ending)
        assert said(first["a"]) == (status, key)
        assert said(first["b"]) == (status, "not-reached")
        nothing = judge("op", Standard({}, {}), HarnessProcess(parse(""), ending, {}))
        assert [(c.name, said(c)) for c in nothing] == [(WHOLE_OP, (status, key))]


def test_a_lost_device_ends_the_rest():
    cases = judged(
        '{"event": "begin", "case": "a"}\n{"event": "lost", "case": "a", "error": "illegal"}\n',
        ProcessEnd(code=4),
    )
    assert said(cases["a"]) == (CaseStatus.CRASHED, "lost")
    assert said(cases["b"]) == (CaseStatus.CRASHED, "not-reached")


def test_broken_imports_and_errors():
    cases = judged('{"event": "import-failed", "error": "SyntaxError: no"}')
    assert [said(c) for c in cases.values()] == [(CaseStatus.ERROR, "import")] * 2
    raised = '{"event": "error", "case": "a", "error": "TypeError: no"}'
    assert judged(raised)["a"].reason.args == {"error": "TypeError: no"}
    failed = Standard(LAW.cases, LAW.expected, {"a": "ValueError: x"})
    assert said(judged(FULL, law=failed)["a"]) == (CaseStatus.ERROR, "reference")


def test_a_process_cannot_add_or_drop_cases():
    text = (
        FULL
        + '{"event": "case", "case": "mine", "tolerance": {}}\n{"event": "done", "case": "mine"}\n'
    )
    assert judged(text).keys() == {"a", "b"}
    assert said(judged(FULL.splitlines()[0] + "\n" + FULL.splitlines()[1])["b"]) == (
        CaseStatus.CRASHED,
        "exit",
    )


@given(st.lists(LINES | st.text(max_size=20), max_size=8))
def test_no_journal_breaks_the_judge(lines):
    journal = parse("\n".join(lines))
    assert all(isinstance(v, str) for v in journal.versions.values())
    assert all(0 < s < 1e6 for a in journal.attempts.values() for s in a.seconds)
    cases = judge("op", LAW, HarnessProcess(journal, ProcessEnd(), RIGHT))
    assert all(isinstance(c.status, CaseStatus) for c in cases)


def test_numbers_that_no_float_holds_are_left_out():
    device = {
        "large": 10**400,
        "nan": float("nan"),
        "inf": float("inf"),
        "small": 10**300,
        "on": True,
        "name": "x",
    }
    start, case = (
        {"event": "start", "device": device},
        {"event": "case", "case": "a", "tolerance": device},
    )
    journal = parse(f"{json.dumps(start)}\n{json.dumps(case)}")
    assert journal.device == {"small": 10**300, "on": True, "name": "x"}
    assert journal.cases == {"a": {"small": 1e300}}


def test_samples_are_bounded():
    text = json.dumps({"event": "done", "case": "a", "seconds": [1.0] * 5000})
    assert len(parse(text).attempts["a"].seconds) == MOST_SAMPLES


def test_two_processes_are_one_result():
    good = judge("op", LAW, HarnessProcess(parse(FULL), ProcessEnd(), RIGHT))
    bad = judge(
        "op", LAW, HarnessProcess(parse(FULL), ProcessEnd(), RIGHT | {"a": {"n": ints(1, 3)}})
    )
    a, b = merge_processes([good, bad])
    assert said(a) == (CaseStatus.MISMATCH, "values")
    assert not a.repeatable
    assert a.times.processes == ((1e-5,), (1e-5,))
    assert (said(b), b.repeatable) == ((CaseStatus.OK, None), True)


def test_bytes_and_bandwidth_come_from_the_law_alone_and_nonsense_is_left_out():
    told = parse(
        '{"event": "roof", "bytes_per_second": 3e12}\n{"event": "size", "case": "a", "bytes": 40}\n'
        '{"event": "size", "case": "b", "bytes": -1}\n{"event": "size", "case": "c", "bytes": true}\n'
    )
    assert (told.bandwidth, told.sizes) == (3e12, {"a": 40})
    law = Standard(LAW.cases, LAW.expected, sizes=told.sizes)
    cases = judged(FULL + '{"event": "size", "case": "b", "bytes": 9}', law=law)
    assert (cases["a"].bytes, cases["b"].bytes) == (40, None)
    assert next(merge_processes([(cases["a"],), (cases["a"],)])).bytes == 40
    assert parse('{"event": "roof", "bytes_per_second": "fast"}').bandwidth is None
