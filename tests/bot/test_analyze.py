"""`specbot analyze` on a small engine of our own: what it says about a change, and that each
sentence is true."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

WIDE = """
def draw_sample(logits, rows, metadata, shared):
    probs = softmax(logits / metadata.temperature)
    limits = expand_rows(metadata.top_p, metadata.top_k, rows)
    picked = draw_from_top(probs, limits.top_p, limits.top_k, seed=metadata.seed)
    shared["taken"][: rows.size] = picked.reshape([-1])
    shared["old_offsets"].fill_(0)
    return Picked(tokens=shared["taken"], counts=shared["counts"])
"""
NARROW = """
def _plain_sample(probs, rows, metadata, shared):
    limits = expand_rows(metadata.top_p, metadata.top_k, rows)
    picked = draw_from_top(probs, limits.top_p, limits.top_k, seed=metadata.seed)
    shared["taken"][: rows.size] = picked.reshape([-1])
    return Picked(tokens=shared["taken"], counts=shared["counts"])


def draw_sample(logits, rows, metadata, shared):
    probs = softmax(logits / metadata.temperature)
    shared["row_offsets"].fill_(0)
    if metadata.method == Method.NAIVE:
        return _plain_sample(probs, rows, metadata, shared)
    return verify_rows(probs, rows, metadata, shared)
"""
RUNNER = """
class Runner:
    def prepare(self, config):
        self.method_name = config.method
        self.shared["old_offsets"] = zeros([config.rows])
        self.verify = self.method_name is not None

    def insert(self, request):
        if self.method_name == "mtp":
            self.proposer.insert(request)
            self.shared["old_offsets"][request.row] = 0
"""
OP = """
#include "op.h"
__device__ int next_row(int row) {
  return row + 1;
  row = 0;
}
__global__ void verify_rows_kernel(const float *probs, int *out, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  out[row] = probs[row] > 0.5f;
}
void VerifyRows(const Tensor &probs, const Tensor &out, int rows) {
  verify_rows_kernel<<<1, 256, 0, stream>>>(probs.data<float>(), out.data<int>(), rows);
}
PD_BUILD_STATIC_OP(verify_rows).Inputs({"probs", "out"}).Attrs({"rows: int"}).SetKernelFn(PD_KERNEL(VerifyRows));
"""
BASE = {
    "engine/sample/sampler.py": WIDE,
    "engine/worker/runner.py": RUNNER,
    "engine/other.py": "def reset(shared):\n    shared['old_offsets'] = None\n",
    "custom_ops/verify_rows.cu": OP,
    "tests/test_sampler.py": "def test_it():\n    assert draw_sample\n",
}
CHANGED = {
    "engine/sample/sampler.py": NARROW,
    "engine/worker/runner.py": RUNNER.replace("method_name", "spec_method").replace(
        "old_offsets", "row_offsets"
    ),
    "tests/test_sampler.py": "def test_it():\n    assert draw_sample and _plain_sample\n",
}


@pytest.fixture
def changed(repo):
    repo.commit(BASE, "Draw rows (#11)")
    repo.commit(
        {"engine/sample/sampler.py": WIDE.replace("reshape([-1])", "reshape([-1] )")},
        "Fix the shape (#12)",
    )
    repo.commit({"engine/sample/sampler.py": WIDE}, "Back again (#13)")
    repo.commit(
        CHANGED,
        "Split sampling (#11) (#14)\n\n* take the plain path out\n  of the sampler\n* see #12\n",
    )
    return repo


def analysed(specbot, repo, *more: str) -> dict:
    done = specbot(
        "analyze",
        "--repo",
        str(repo.path),
        "--base",
        "HEAD~",
        "--head",
        "HEAD",
        "--format",
        "json",
        *more,
    )
    assert done.code == 0, done.err
    return json.loads(done.out)


def claims(data: dict, key: str) -> list[dict]:
    return [c for step in data["steps"] for c in step["claims"] if c["key"] == key]


def test_a_function_that_was_cut_is_named_with_its_part(specbot, changed):
    (claim,) = claims(analysed(specbot, changed), "extracted")
    assert claim["args"]["name"] == "draw_sample"
    assert claim["args"]["parts"] == ["_plain_sample"]
    assert [p["path"] for p in claim["places"]] == ["engine/sample/sampler.py"] * 2


def test_replaced_names_are_counted_and_what_still_has_the_old_one_too(specbot, changed):
    found = {
        (c["args"]["old"], c["args"]["new"]): c["args"]
        for c in claims(analysed(specbot, changed), "replaced")
    }
    offsets = found["old_offsets", "row_offsets"]
    assert (offsets["places"], offsets["left"], offsets["gone"]) == (2, [], False)
    method = found["method_name", "spec_method"]
    assert (method["places"], method["gone"]) == (3, True)


def test_every_changed_line_is_in_one_step(specbot, changed):
    data = analysed(specbot, changed)
    assert sum(s["added"] for s in data["steps"]) == sum(f["added"] for f in data["facts"]["files"])
    assert sum(s["removed"] for s in data["steps"]) == sum(
        f["removed"] for f in data["facts"]["files"]
    )


def test_the_sampler_matters_most_and_a_score_is_the_sum_of_its_parts(specbot, changed):
    files = analysed(specbot, changed)["files"]
    assert files[0]["path"] == "engine/sample/sampler.py"
    assert files[-1]["category"] == "test"
    for card in files:
        assert card["score"] == pytest.approx(sum(p["points"] for p in card["parts"]), abs=0.05)


def test_code_that_the_change_first_calls_is_looked_at(specbot, changed):
    risks = analysed(specbot, changed)["risks"]
    reached = {(r["rule"], r["location"]["path"]) for r in risks if r["reached"]}
    assert ("kernel.dead-code", "custom_ops/verify_rows.cu") in reached


def test_code_that_was_called_before_is_not(specbot, changed):
    text = NARROW.replace("[-1]", "[-1, 1]")
    changed.commit({"engine/sample/sampler.py": text}, "Another shape")
    assert not [r for r in analysed(specbot, changed)["risks"] if r["reached"]]


def test_motivation_is_quoted_with_broken_lines_joined(specbot, changed):
    assert analysed(specbot, changed)["motivation"] == ["take the plain path out of the sampler"]


def test_the_description_comes_before_the_commit(specbot, changed, tmp_path: Path):
    body = tmp_path / "body.md"
    body.write_text(
        "## Motivation\n<!-- say why -->\nPlain sampling needs no drafts.\n## Checklist\n- [x] tests pass\n"
    )
    data = analysed(specbot, changed, "--title", "Split", "--body-file", str(body))
    assert data["motivation"] == ["Plain sampling needs no drafts."]


def test_the_past_of_the_lines_that_went(specbot, changed):
    history = analysed(specbot, changed)["history"]
    references = {r["number"]: (r["commit"] or {}).get("subject") for r in history["references"]}
    assert references == {11: "Draw rows (#11)", 12: "Fix the shape (#12)"}
    wrote = {e["commit"]["pull"]: e for e in history["earlier"]}
    assert "draw_sample" in wrote[11]["symbols"]
    assert [f["pull"] for f in wrote[11]["fixes"]] == [12]


def test_the_same_patch_on_another_branch_is_told(specbot, changed):
    changed.git("branch", "picked", "HEAD~")
    changed.git("switch", "-q", "picked")
    changed.commit(CHANGED, "[Cherry-Pick] Split sampling (#15)")
    found = analysed(specbot, changed)["history"]["references"]
    assert [(r["number"], r["how"]) for r in found if r["how"] == "same-patch"] == [
        (14, "same-patch")
    ]


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("output", ["terminal", "markdown", "html"])
def test_two_runs_give_the_same_bytes(specbot, changed, output: str, language: str):
    args = (
        "analyze",
        "--repo",
        str(changed.path),
        "--base",
        "HEAD~",
        "--format",
        output,
        "--lang",
        language,
    )
    first, second = specbot(*args), specbot(*args)
    assert first.code == 0
    assert first.out == second.out
    assert "_plain_sample" in first.out


def test_a_page_is_one_file_and_nothing_in_it_runs(specbot, repo):
    repo.commit({"a.py": "def f():\n    return 1\n"}, "one")
    repo.commit(
        {"a.py": "def f():\n    return '</code><script>alert(1)</script>'\n"},
        "<script>alert(2)</script> `x`",
    )
    done = specbot(
        "analyze", "--repo", str(repo.path), "--base", "HEAD~", "--format", "html", "--lang", "en"
    )
    assert done.code == 0
    assert "<script" not in done.out
    assert "&lt;script&gt;alert(2)" in done.out
    assert not re.search(
        r"(?:src|href|url\()\s*=?\s*[\"']?(?:https?:)?//|<link rel=.?stylesheet|@import", done.out
    )


def test_nothing_changed(specbot, changed):
    done = specbot("analyze", "--repo", str(changed.path), "--base", "HEAD", "--lang", "en")
    assert done.code == 0
    assert "There is no difference" in done.out


def test_an_unknown_revision_is_the_persons_error(specbot, changed):
    done = specbot("analyze", "--repo", str(changed.path), "--base", "nowhere")
    assert (done.code, done.out) == (2, "")


def judged(specbot, repo, before: dict, after: dict, message: str = "Another way") -> dict:
    repo.commit(before, "As it was (#1)")
    repo.commit(after, message)
    return analysed(specbot, repo)


RENAMED = OP.replace("verify_rows", "pick_rows").replace("VerifyRows", "PickRows")
CALLED = "def step(probs, out):\n    verify_rows(probs, out, 1)\n    return out\n"


def test_an_op_under_another_name_is_no_new_op(specbot, repo):
    after = {
        "custom_ops/verify_rows.cu": RENAMED.replace(
            '{"probs", "out"}', '{"probs", "seeds", "out"}'
        ).replace(
            "void PickRows(const Tensor &probs, ",
            "void PickRows(const Tensor &probs, const Tensor &seeds, ",
        ),
        "engine/step.py": CALLED.replace("verify_rows", "pick_rows"),
    }
    data = judged(specbot, repo, {"custom_ops/verify_rows.cu": OP, "engine/step.py": CALLED}, after)
    (op,) = claims(data, "op-replaced")
    assert (op["args"]["old"], op["args"]["name"]) == ("verify_rows", "pick_rows")
    assert (op["args"]["gained"], op["args"]["lost"]) == (["seeds"], [])
    assert {(c["args"]["old"], c["args"]["name"]) for c in claims(data, "function-replaced")} >= {
        ("VerifyRows", "PickRows")
    }
    for key in ("op-added", "op-removed", "function-added", "function-removed"):
        assert not claims(data, key)
    assert data["steps"][0]["name"] == "pick_rows"


OVERLOADS = """
template <typename T>
__global__ void hold_back(T *logits, const int rows) {
    int row = threadIdx.x;
    if (row >= rows) return;
    logits[row] = -1e10;
}
template <>
__global__ void hold_back<half>(half *logits, const int rows) {
    int row = threadIdx.x;
    if (row >= rows) return;
    logits[row] = -1e4;
}
"""


def test_overloads_are_not_taken_for_each_other(specbot, repo):
    spaced = OVERLOADS.replace("    ", "  ")
    data = judged(specbot, repo, {"custom_ops/hold.cu": OVERLOADS}, {"custom_ops/hold.cu": spaced})
    told = {c["key"] for step in data["steps"] for c in step["claims"]}
    assert told == {"layout"}


OWNED = """
class Grammar:
    def mask_rows(self, logits, bitmask, rows):
        place = logits.place
        wide = as_float(logits)
        apply_bits(wide, bitmask.to(wide.device), indices=rows)
        return as_tensor(wide, place=place)
"""
FREE = """
class Grammar:
    ready = True


def mask_rows(logits, bitmask, rows):
    if on_device(logits):
        return masked_there(logits, bitmask)
    place = logits.place
    wide = as_float(logits)
    apply_bits(wide, bitmask.to(wide.device), indices=rows)
    return as_tensor(wide, place=place)
"""


def test_a_method_that_became_a_function_is_told_once(specbot, repo):
    data = judged(specbot, repo, {"engine/grammar.py": OWNED}, {"engine/grammar.py": FREE})
    (claim,) = claims(data, "function-replaced")
    assert (claim["args"]["old"], claim["args"]["name"]) == ("Grammar.mask_rows", "mask_rows")
    assert not claims(data, "function-added") + claims(data, "function-removed")


def test_functions_that_only_share_a_name_are_two(specbot, repo):
    other = "class Grammar:\n    ready = True\n\n\ndef mask_rows(table):\n    return [row for row in table if row]\n"
    data = judged(specbot, repo, {"engine/grammar.py": OWNED}, {"engine/grammar.py": other})
    assert [c["args"]["name"] for c in claims(data, "function-added")] == ["mask_rows"]
    assert [c["args"]["name"] for c in claims(data, "function-removed")] == ["Grammar.mask_rows"]
    assert not claims(data, "calls")


def test_a_caller_does_not_count_self(specbot, repo):
    before = {"engine/box.py": "class Box:\n    def put(self, old, rows):\n        return rows\n"}
    after = {"engine/box.py": "class Box:\n    def put(self, new, rows):\n        return rows\n"}
    (claim,) = claims(judged(specbot, repo, before, after), "parameter-replaced")
    assert (claim["args"]["old"], claim["args"]["new"], claim["args"]["position"]) == (
        "old",
        "new",
        1,
    )


@pytest.mark.parametrize(("param", "touched"), [("seed=0", []), ("seed", ["developers"])])
def test_a_parameter_with_a_default_touches_no_caller(
    specbot, repo, param: str, touched: list[str]
):
    before, after = (
        "def draw(rows):\n    return rows\n",
        f"def draw(rows, {param}):\n    return rows, seed\n",
    )
    data = judged(specbot, repo, {"engine/draw.py": before}, {"engine/draw.py": after})
    assert [i["who"] for i in data["impacts"]] == touched


def test_a_title_alone_is_no_motivation(specbot, repo):
    before, after = {"engine/a.py": "A = 1\n"}, {"engine/a.py": "A = 2\n"}
    assert judged(specbot, repo, before, after, "Fix the number of rows")["motivation"] == []


def test_fixed_as_an_adjective_is_no_fix(specbot, repo):
    repo.commit({"engine/draw.py": "def draw(rows):\n    return rows\n"}, "Draw (#1)")
    for n, subject in enumerate(
        ("Draw less than a fixed count", "[Bot] Fixed the order", "Fix a hang"), 2
    ):
        repo.commit(
            {"engine/draw.py": f"def draw(rows):\n    return rows\n\n\nA = {n}\n"},
            f"{subject} (#{n})",
        )
    repo.commit(
        {"engine/draw.py": "def draw(rows):\n    return list(rows)\n\n\nA = 4\n"}, "Copy (#5)"
    )
    (earlier,) = analysed(specbot, repo)["history"]["earlier"]
    assert [f["pull"] for f in earlier["fixes"]] == [4, 3]


def test_two_methods_of_one_name_are_two_steps_by_name(specbot, repo):
    text = "class A:\n    def run(self):\n        return 1\n\n\nclass B:\n    def run(self):\n        return 1\n"
    repo.commit({"engine/runs.py": text}, "one")
    repo.commit(
        {
            "engine/runs.py": text.replace("        return 1\n", "", 1).replace(
                "self):\n\n", "self): ...\n\n", 1
            )
        },
        "two",
    )
    done = specbot(
        "analyze",
        "--repo",
        str(repo.path),
        "--base",
        "HEAD~",
        "--format",
        "markdown",
        "--lang",
        "en",
    )
    assert "### `A.run`" in done.out


def test_a_hunk_goes_to_its_own_class_where_another_has_the_method_too(specbot, repo):
    one = "class One:\n    def forward_rows(self, rows):\n        shown = 1\n        return rows\n"
    two = "class Two:\n    def forward_rows(self, rows):\n        if self.ready:\n            return rows\n"
    repo.commit({"engine/runs.py": f"{one}\n\n{two}"}, "one")
    after = (
        one.replace("shown = 1", "shown = 2"),
        two.replace("self.ready", "self.ready and self.wanted"),
    )
    repo.commit({"engine/runs.py": "\n\n".join(after)}, "two")
    made = [(s["name"], s["added"], s["removed"]) for s in analysed(specbot, repo)["steps"]]
    assert sorted(made) == [("One.forward_rows", 1, 1), ("Two.forward_rows", 1, 1)]


def test_a_line_that_went_beside_its_like_replaces_no_name(specbot, repo):
    one, two = "old_rows = as_tensor([1, 2])\n", "all_rows = as_tensor([3, 4])\n"
    before = {"engine/rows.py": f"{one}{two}draw(old_rows, seed=1)\n"}
    after = {"engine/rows.py": "all_rows = as_tensor([1, 2, 3, 4])\ndraw(all_rows, seed=1)\n"}
    found = claims(judged(specbot, repo, before, after), "replaced")
    assert [(c["args"]["old"], c["places"]) for c in found if c["args"]["places"] > 1] == []


HELPED = """
def expand_rows(rows):
    return rows


def unpack_rows(rows):
    return rows


def draw(rows):
    rows = expand_rows(rows)
    return unpack_rows(rows)
"""


def test_the_calls_that_went_are_told_without_those_of_the_helper(specbot, repo):
    helper = "def prepared(rows):\n    return expand_rows(rows)\n\n\ndef draw(rows):\n    return prepared(rows)\n"
    after = HELPED.partition("def draw")[0] + helper
    (claim,) = claims(
        judged(specbot, repo, {"engine/draw.py": HELPED}, {"engine/draw.py": after}), "calls"
    )
    assert claim["args"]["lost"] == ["unpack_rows"]


def test_what_a_clone_lacks_of_the_past_is_said(specbot, repo):
    for n in (1, 2, 3):
        repo.commit({"engine/rows.py": f"A = 0\nB = {n}\nC = 0\nD = {n}\n"}, f"Count to {n} (#{n})")
    first = repo.git("rev-parse", "HEAD~2:engine/rows.py")
    (repo.path / ".git" / "objects" / first[:2] / first[2:]).unlink()
    assert analysed(specbot, repo)["history"]["unread"] == ["engine/rows.py"]
    done = specbot(
        "analyze", "--repo", str(repo.path), "--base", "HEAD~", "--head", "HEAD", "--lang", "en"
    )
    assert "this clone lacks what" in done.out
