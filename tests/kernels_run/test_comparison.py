"""Base against head: what counts as worse; and `results.json` read back as it was written."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.kernelrun.comparison import compare
from checks.kernelrun.files import RunFileError, from_json, to_json
from checks.kernelrun.model import (
    WHOLE_OP,
    CaseStatus,
    Confinement,
    KernelCase,
    KernelRunResult,
    Output,
    StatusReason,
    Times,
)
from checks.kernelrun.tensors import Tensor

HARNESS = "0" * 64


def run(*cases, tensors=None, **device):
    held = Confinement("none", False, {"processes": 9})
    return KernelRunResult(
        {"torch": "2"}, {"gpu": "X", **device}, HARNESS, held, cases, tensors or {}
    )


def case(status=CaseStatus.OK, name="a", how="graph", seconds=1e-5, data=b"\1\2", dtype="U8"):
    tensor = Tensor(dtype, (len(data),), data)
    outputs = (Output("o", dtype, tensor.shape, tensor.digest, 0.5, 0.0),)
    reason = None if status is CaseStatus.OK else StatusReason("signal", {"signal": 11})
    return KernelCase("op", name, status, reason, 0.0, outputs, Times(how, ((seconds,) * 9,)))


@pytest.mark.parametrize(("before", "after"), list(product(CaseStatus, repeat=2)))
def test_worse_is_a_later_status(before, after):
    (pair,) = compare(run(case(before)), run(case(after))).pairs
    broken = {CaseStatus.ERROR, CaseStatus.TIMEOUT, CaseStatus.CRASHED}
    order = [CaseStatus.OK, CaseStatus.UNSUPPORTED, CaseStatus.MISMATCH, CaseStatus.NAN]
    rank = {s: i for i, s in enumerate(order)} | dict.fromkeys(broken, 4)
    assert pair.worse == (rank[after] > rank[before])


def test_slower_and_absent_are_worse():
    assert compare(run(case()), run(case(seconds=2e-5))).worse
    assert not compare(run(case()), run(case(seconds=0.5e-5))).worse
    assert compare(run(case()), run()).worse
    assert not compare(run(), run(case())).worse
    assert compare(run(), run(case(CaseStatus.NAN))).worse


def test_a_wrong_answer_has_no_speed():
    assert compare(run(case()), run(case(seconds=2e-5))).pairs[0].ratio.value == pytest.approx(2)
    for before, after in ((CaseStatus.OK, CaseStatus.MISMATCH), (CaseStatus.NAN, CaseStatus.NAN)):
        assert compare(run(case(before)), run(case(after, seconds=2e-5))).pairs[0].ratio is None


def test_an_op_that_cannot_be_imported_stands_for_its_cases():
    broken = KernelCase("op", WHOLE_OP, CaseStatus.ERROR, StatusReason("import", {"error": "x"}))
    found = compare(run(case(name="a"), case(name="b")), run(broken))
    assert {p.name for p in found.worse} == {"a", "b", WHOLE_OP}


def test_changed_bits_are_sized():
    old, new = Tensor("U8", (2,), b"\1\2"), Tensor("U8", (2,), b"\1\7")
    base, head = (
        run(case(data=old.data), tensors={"op/a/o": old}),
        run(case(data=new.data), tensors={"op/a/o": new}),
    )
    (pair,) = compare(base, head).pairs
    (change,) = pair.changes
    assert (pair.bit_equal, change.output, change.differing, change.elements, change.largest) == (
        False,
        "o",
        1,
        2,
        5.0,
    )
    assert not pair.worse
    (other,) = compare(base, run(case(data=b"\1\2\3\4"))).pairs[0].changes
    assert other.differing is None
    assert compare(base, base).pairs[0].bit_equal
    # A file of tensors that are not what `results.json` says.
    for shape in ((1,), (3,)):
        lie = run(case(data=new.data), tensors={"op/a/o": Tensor("U8", shape, b"\7" * shape[0])})
        assert compare(base, lie).pairs[0].changes[0].differing is None


def test_another_device_is_not_compared():
    found = compare(run(case()), run(case(), cuda="13"))
    assert (found.apart, found.pairs) == (("cuda",), ())


def written(value):
    def told(reason):
        return (
            None
            if reason is None
            else {"key": reason.key, "args": dict(reason.args), "zh": "", "en": ""}
        )

    return json.loads(json.dumps(to_json(value, told)))


def test_results_are_read_back():
    value = run(case(), case(CaseStatus.CRASHED, "b"), tensors={})
    assert from_json(written(value), {}) == value
    measured = replace(value, cases=(replace(case(), bytes=40),), bandwidth=3e12)
    assert from_json(written(measured), {}) == measured


@pytest.mark.parametrize("junk", [0, -1, 10**400, float("nan"), float("inf"), "x", None, True])
def test_a_bandwidth_or_size_that_no_device_has_is_refused(junk):
    data = written(run(case()))
    with pytest.raises(RunFileError):
        from_json(data | {"copy_bandwidth": junk}, {})
    data["cases"][0]["bytes"] = junk
    with pytest.raises(RunFileError):
        from_json(data, {})


PLACES = [
    ("schema",), ("versions",), ("device",), ("harness",), ("confinement",), ("confinement", "tool"), ("cases",),
    ("cases", 0), ("cases", 0, "status"), ("cases", 0, "reason"), ("cases", 0, "times"), ("cases", 0, "outputs"),
    ("cases", 0, "times", "processes"), ("cases", 0, "times", "processes", 0), ("cases", 0, "outputs", 0, "shape"),
    ("cases", 0, "outputs", 0, "tolerance"), ("cases", 0, "max_error"), ("cases", 0, "repeatable"),
]  # fmt: skip
JUNK = st.sampled_from([None, True, 7, 10**400, -1.5, "x", [], [None], [[]], {}, {"x": []}])


@pytest.mark.parametrize("name", ["tolerance", "max_error"])
def test_integers_that_no_float_holds_are_refused(name):
    data = written(run(case()))
    data["cases"][0]["outputs"][0][name] = 10**400
    with pytest.raises(RunFileError):
        from_json(data, {})


@given(st.sampled_from(PLACES), JUNK)
def test_other_json_is_refused_or_read(place, junk):
    data = copy.deepcopy(written(run(case())))
    at = data
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = junk
    try:
        value = from_json(data, {})
    except RunFileError as error:
        assert error.where
    else:
        compare(value, value)


@given(st.sampled_from([p for p in PLACES if isinstance(p[-1], str)]))
def test_missing_fields_are_refused(place):
    data = copy.deepcopy(written(run(case())))
    at = data
    for step in place[:-1]:
        at = at[step]
    del at[place[-1]]
    with pytest.raises(RunFileError):
        from_json(data, {})
