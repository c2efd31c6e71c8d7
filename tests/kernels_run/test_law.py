"""Which files judge: the harness, the references and what they import; and whose are taken."""

from __future__ import annotations

from checks.kernelrun.trusted_files import digest, edited, ops, trusted_files, with_harness_of

FILES = {
    "kernels/__init__.py": b"OPS = ()",
    "kernels/_random.py": b"import torch",
    "kernels/_logits.py": b"from . import _random",
    "kernels/_device.py": b"",
    "kernels/a/__init__.py": b"from .reference import law",
    "kernels/a/reference.py": b"from .._logits import x\nfrom kernels.a.layout import y\nfrom .strategy import Z",
    "kernels/a/layout.py": b"",
    "kernels/a/strategy.py": b"",
    "kernels/a/triton.py": b"from .._device import k",
    "kernels/cases/__init__.py": b"",
    "kernels/cases/_case.py": b"",
    "kernels/cases/a.py": b"",
    "kernels/run/__main__.py": b"",
    "kernels/bench/measure.py": b"",
}


def test_what_judges():
    judged = {
        "kernels/__init__.py",
        "kernels/_device.py",
        "kernels/a/__init__.py",
        "kernels/a/triton.py",
    }
    assert set(trusted_files(FILES)) == FILES.keys() - judged
    assert ops(FILES) == ("a",)


def test_edits_of_what_judges_are_named():
    assert edited(FILES, FILES) == ()
    assert edited(FILES, FILES | {"kernels/a/triton.py": b"x", "kernels/_device.py": b"x"}) == ()
    for path in (
        "kernels/a/reference.py",
        "kernels/_random.py",
        "kernels/a/layout.py",
        "kernels/cases/a.py",
    ):
        assert edited(FILES, FILES | {path: b"other"})[0] == path
    assert edited(FILES, FILES | {"kernels/cases/b.py": b""}) == ("kernels/cases/b.py",)
    without = {path: data for path, data in FILES.items() if path != "kernels/run/__main__.py"}
    assert edited(FILES, without) == ("kernels/run/__main__.py",)


def test_the_harness_of_one_over_the_ops_of_the_other():
    head = {path: b"head" for path in FILES} | {
        "kernels/cases/extra.py": b"head",
        "kernels/a/new.py": b"head",
    }
    made = with_harness_of(FILES, head)
    assert made["kernels/a/triton.py"] == made["kernels/a/new.py"] == b"head"
    assert made["kernels/cases/a.py"] == FILES["kernels/cases/a.py"]
    assert made["kernels/bench/measure.py"] == FILES["kernels/bench/measure.py"]
    assert "kernels/cases/extra.py" not in made


def test_the_digest_follows_the_law_alone():
    assert digest(FILES) == digest(dict(reversed(FILES.items())))
    assert digest(FILES) == digest(FILES | {"kernels/a/triton.py": b"x"})
    assert digest(FILES) != digest(FILES | {"kernels/a/strategy.py": b"x"})


def test_a_reference_that_does_not_parse_still_judges():
    assert "kernels/a/reference.py" in trusted_files(FILES | {"kernels/a/reference.py": b"def ("})
    for source in (b"\0", b"(" * 100_000, b"-" * 100_000 + b"1", b"a" + b".b" * 100_000):
        assert "kernels/a/reference.py" in trusted_files(FILES | {"kernels/a/reference.py": source})
