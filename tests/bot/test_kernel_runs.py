"""`specbot kernels` as a person runs it: real processes, real git, kernels that are wrong, die,
hang or look around.

The processes import torch, which takes seconds: that is why few tests hold many mistakes each.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bot.cli.main import main
from bot.kernels import confine, package
from checks.kernelrun.tensors import Tensor, read, write

# Looked for and not imported: other tests choose the interpreter before they import triton.
if find_spec("torch") is None or find_spec("triton") is None:
    pytest.skip("torch and triton are not installed", allow_module_level=True)

SCHEMA = json.loads(
    (Path(confine.__file__).parents[1] / "reports/schema/kernelrun-1.json").read_text("utf-8")
)
SECRET = "ghs_notForTheCodeUnderTest"

# What a pull request appends to an op. Each wraps the function that is there, whatever it looks
# like.
WRONG_RANK_THEN_CRASH = """
import os, signal, socket
_packed = pack_message

def pack_message(**given):
    found = sorted(name for name, value in os.environ.items() if "TOKEN" in name or "SECRET" in value)
    if found:
        raise RuntimeError(f"found {found}")
    try:
        socket.create_connection(("127.0.0.1", PORT), timeout=2).close()
    except OSError:
        pass
    if "preempted" in given:
        os.kill(os.getpid(), signal.SIGSEGV)
    return _packed(**given | {"logprob_ranks": given["logprob_ranks"] + 1})
"""
NAN = """
_accepted = accept

def accept(*args, **given):
    done = _accepted(*args, **given)
    if done.logits is not None:
        done.logits[0, 0] = float("nan")
    return done
"""
HANG = """
def output_schedule(*args, **given):
    import time
    time.sleep(3600)
"""
WRONG_TOKEN = """
_accepted = accept

def accept(*args, **given):
    done = _accepted(*args, **given)
    done.token_ids[0] += 1
    return done
"""
MARKS_ITS_OWN_HOMEWORK = """
CASES = tuple(Case(case.name, case.build, case.reference, case.reference, case.defined) for case in CASES)
"""


def commit(repo, **added):
    """A commit of this checkout's kernels with code appended to some files: `accept` is
    `accept/__init__.py`."""
    files = dict(package.installed())
    for name, text in added.items():
        path = (
            f"kernels/{name.replace('__', '/')}.py"
            if "__" in name
            else f"kernels/{name}/__init__.py"
        )
        files[path] += text.encode()
    return repo.commit(files)


def results(judged, side):
    return {
        f"{c['op']}/{c['case']}": (c[side]["status"], (c[side]["reason"] or {}).get("en"))
        for c in judged["cases"]
    }


def test_a_result_for_everything_that_goes_wrong(repo, specbot, monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    monkeypatch.setenv("INNOCENT", SECRET)
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0)
        message = WRONG_RANK_THEN_CRASH.replace("SECRET", SECRET).replace(
            "PORT", str(server.getsockname()[1])
        )
        base, head = commit(repo), commit(repo, message=message, accept=NAN, schedule=HANG)
        options = (
            "--ops",
            "accept,message",
            "schedule",
            "--device",
            "cpu",
            "--timeout",
            "15",
            "-o",
            tmp_path / "out",
        )
        done = specbot(
            "kernels", "compare", "--repo", repo.path, "--base", base, "--head", head, *options
        )
        reached = connected(server)
    assert done.code == 1, done.err
    data = json.loads((tmp_path / "out" / "kernels.json").read_text("utf-8"))
    (judged,) = data["judged"]
    held = confine.confinement("cpu").tool
    assert data["worse"]
    assert data["edited"] == []
    assert set(results(judged, "base").values()) == {("ok", None)}
    found = results(judged, "head")
    status, why = found["message/top-k"]
    assert status == "mismatch"
    assert why.startswith("output ranks differs from the reference in ")
    assert "by up to 1 (tolerance 0)" in why
    assert found["message/guarded"] == ("crashed", "crashed: signal 11")
    assert found["accept/index-map"] == ("ok", None)
    assert found["accept/copied-logits"] == ("nan", "nan in output logits")
    assert found["schedule/output-rows"] == ("timeout", "timed out after 15 s")
    assert found["schedule/gather"] == (
        "timeout",
        "not reached: the process ended in case output-rows",
    )
    assert judged["confinement"]["tool"] == held
    assert "network: off" in done.out if held != "none" else "network: NOT confined" in done.out
    assert reached == (held == "none")
    assert "its times mean nothing" in done.out
    assert "`message/guarded`, head: crashed: signal 11" in done.out
    assert SECRET not in done.out
    for side in ("base", "head"):
        Draft202012Validator(SCHEMA).validate(stored(tmp_path / "out" / "under-base" / side))


def test_it_cannot_mark_its_own_homework(repo, specbot):
    base, head = (
        commit(repo),
        commit(repo, accept=WRONG_TOKEN, cases__accept=MARKS_ITS_OWN_HOMEWORK),
    )
    where = (
        "--repo",
        repo.path,
        "--base",
        base,
        "--head",
        head,
        "--device",
        "cpu",
        "--ops",
        "accept",
    )
    done = specbot("kernels", "compare", *where, "--format", "json")
    assert done.code == 1, done.err
    data = json.loads(done.out)
    assert data["edited"] == ["kernels/cases/accept.py"]
    under_base, under_head = data["judged"]
    assert (under_base["harness_of"], under_head["harness_of"]) == ("base", "head")
    assert {status for status, _ in results(under_base, "head").values()} == {"mismatch"}
    assert {status for status, _ in results(under_base, "base").values()} == {"ok"}
    assert {status for status, _ in results(under_head, "head").values()} == {"ok"}
    # Under its own cases the op is not even called.
    assert not any(case["bit_equal"] for case in under_base["cases"])
    assert all(case["bit_equal"] for case in under_head["cases"])


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The results of `accept` in this checkout."""
    folder = tmp_path_factory.mktemp("ran")
    os.environ.pop("LC_ALL", None)
    assert (
        main(
            [
                "kernels",
                "run",
                "--device",
                "cpu",
                "--ops",
                "accept",
                "-o",
                str(folder),
                "--lang",
                "en",
            ]
        )
        == 0
    )
    return folder


def stored(folder):
    return json.loads((folder / "results.json").read_text("utf-8"))


def copied(ran, folder, change):
    """A copy of the results with their JSON changed."""
    shutil.copytree(ran, folder)
    data = stored(folder)
    change(data)
    (folder / "results.json").write_text(json.dumps(data), encoding="utf-8")
    return folder


def test_results_are_what_the_schema_says(ran):
    data = stored(ran)
    Draft202012Validator(SCHEMA).validate(data)
    tensors = read((ran / "outputs.safetensors").read_bytes())
    assert {c["status"] for c in data["cases"]} == {"ok"}
    named = {f"accept/{c['case']}/{o['name']}": o for c in data["cases"] for o in c["outputs"]}
    assert named.keys() == tensors.keys()
    for name, output in named.items():
        tensor = tensors[name]
        assert (output["dtype"], output["shape"], output["sha256"]) == (
            tensor.dtype,
            [*tensor.shape],
            tensor.digest,
        )


def test_diff_of_equal_results(ran, specbot):
    done = specbot("kernels", "diff", ran, ran)
    assert (done.code, done.err) == (0, "")
    assert "No case got worse (of 2)." in done.out


def test_diff_needs_no_torch(ran, specbot, monkeypatch):
    monkeypatch.setattr("bot.packaging.find_spec", lambda name: None if name == "torch" else name)
    assert specbot("kernels", "diff", ran, ran).code == 0
    assert "pip install 'specbot[kernels]'" in specbot("kernels", "run", "-o", ran).err


def test_diff_names_what_changed(ran, specbot, tmp_path):
    name = "accept/copied-logits/logits"
    folder = tmp_path / "head"
    tensors = read((ran / "outputs.safetensors").read_bytes())
    logits = tensors[name]
    assert logits.dtype == "BF16"
    changed = Tensor(logits.dtype, logits.shape, bytes([logits.data[0] ^ 1]) + logits.data[1:])

    def other_bytes(data):
        output = next(o for c in data["cases"] for o in c["outputs"] if o["name"] == "logits")
        output["sha256"] = changed.digest

    copied(ran, folder, other_bytes)
    (folder / "outputs.safetensors").write_bytes(write(tensors | {name: changed}))
    done = specbot("kernels", "diff", ran, folder, "--lang", "en")
    assert done.code == 0
    said = " ".join(done.out.split())
    assert "`accept/copied-logits`: output logits differs between base and head in 1 of" in said
    zh = specbot("kernels", "diff", ran, folder, "--lang", "zh", "--format", "markdown")
    assert "`accept/copied-logits`：输出 logits 的" in zh.out


def test_other_devices_are_not_compared(ran, specbot, tmp_path):
    folder = copied(ran, tmp_path / "head", lambda data: data["device"].update(cpu="riscv64"))
    done = specbot("kernels", "diff", ran, folder)
    assert done.code == 2
    assert "Not comparable: the two sides ran on different devices (`cpu`)" in done.out
    assert "accept/index-map" not in done.out


def slower(data):
    for case in data["cases"]:
        case["times"] = {
            "how": "graph",
            "median_s": 1.2e-5,
            "iqr_s": 0,
            "processes": [[1.2e-5 + i * 1e-9 for i in range(20)]],
        }
    data["device"].pop("interpreter")


def quick(data):
    slower(data)
    for case in data["cases"]:
        case["times"]["processes"] = [[s / 1.2 for s in case["times"]["processes"][0]]]


def test_slower_is_worse(ran, specbot, tmp_path):
    base, head = copied(ran, tmp_path / "base", quick), copied(ran, tmp_path / "head", slower)
    done = specbot("kernels", "diff", base, head)
    assert done.code == 1
    assert "2 of 2 cases got worse" in done.out
    assert "slower" in done.out
    back = specbot("kernels", "diff", head, base)
    assert back.code == 0
    assert "faster" in back.out


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "results.json").unlink(), "cannot be read"),
        (lambda f: (f / "results.json").write_text("{"), "holds no results of a kernel run"),
        (
            lambda f: (f / "results.json").write_text('{"schema": 99}'),
            "holds no results of a kernel run",
        ),
        (
            lambda f: (f / "outputs.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{"),
            "is not a whole safetensors file",
        ),
        (lambda f: (f / "outputs.safetensors").unlink(), "cannot be read"),
    ],
)
def test_spoiled_results_are_one_sentence(ran, specbot, tmp_path, spoil, said):
    folder = copied(ran, tmp_path / "head", lambda data: None)
    spoil(folder)
    done = specbot("kernels", "diff", ran, folder)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1


def test_wrong_arguments(repo, specbot, tmp_path):
    base = repo.commit({"README.md": "no kernels\n"})
    done = specbot("kernels", "compare", "--repo", repo.path, "--base", base, "--head", base)
    assert (done.code, "has no `kernels/cases`" in done.err) == (2, True)
    done = specbot("kernels", "run", "--ops", "accpet", "-o", tmp_path / "x")
    assert (done.code, "There are no cases for an op `accpet`" in done.err) == (2, True)
    done = specbot("kernels", "run", "-o", repo.path / "README.md")
    assert (done.code, "cannot be written" in done.err) == (2, True)
    assert specbot("kernels", "run", "--timeout", "0", "-o", tmp_path / "x").code == 2
    assert specbot("kernels").code == 2


def connected(server):
    """Whether somebody connected to a listening socket."""
    try:
        server.accept()
    except BlockingIOError:
        return False
    return True
