"""The cases and the harness on the kernels as they are: every op is right by its own reference."""

from __future__ import annotations

import pytest

from bot.kernels import package
from checks.kernelrun import trusted_files
from checks.kernelrun.events import parse
from checks.kernelrun.judge import HarnessProcess, ProcessEnd, Standard, judge
from checks.kernelrun.model import CaseStatus
from checks.kernelrun.tensors import read
from kernels import OPS
from kernels.run.__main__ import main
from tests.kernels.conftest import HAS_GPU  # chooses the interpreter where there is no GPU


def test_every_op_has_cases():
    assert trusted_files.ops(package.installed()) == tuple(sorted(OPS))


@pytest.mark.parametrize("op", OPS)
def test_an_op_is_right_by_its_reference(op, tmp_path):
    assert (
        main([op, "--device", "cuda" if HAS_GPU else "cpu", "--reference", "-o", str(tmp_path)])
        == 0
    )
    journal = parse((tmp_path / "events.jsonl").read_text("utf-8"))
    expected, outputs = (
        {path.stem: read(path.read_bytes()) for path in (tmp_path / side).iterdir()}
        for side in ("reference", "outputs")
    )
    cases = judge(
        op,
        Standard(journal.cases, expected, journal.reference_failures),
        HarnessProcess(journal, ProcessEnd(), outputs),
    )
    assert len(cases) >= 2
    assert {
        c.reason for c in cases if c.status not in (CaseStatus.OK, CaseStatus.UNSUPPORTED)
    } == set()
    assert {c.status for c in cases} & {CaseStatus.OK}
    # A case whose rows are all close calls would compare nothing.
    for case in cases:
        sure = expected.get(case.name, {}).get("sure")
        assert sure is None or sure.array().mean() >= 0.5
