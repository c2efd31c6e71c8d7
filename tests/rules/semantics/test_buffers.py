"""Call sites followed to the buffer that is passed, by the object that holds it."""

import pytest

from checks.core.change import ChangeSet
from checks.core.config import load
from checks.core.finding import Side
from checks.core.tree import MemoryTree
from checks.domain.indices.buffers import Buffers
from checks.domain.indices.op_index import OpIndex
from checks.eval.symbolic.run import IndexNames

OP = """
__global__ void take_kernel(const long* ids, const long* step_idx, long* out, int L) {
  out[0] = ids[threadIdx.x * L + step_idx[threadIdx.x]];
}
void Take(const paddle::Tensor& ids, const paddle::Tensor& step_idx, const paddle::Tensor& out) {
  take_kernel<<<1, 8>>>(ids.data<long>(), step_idx.data<long>(), const_cast<long*>(out.data<long>()), 64);
}
PD_BUILD_STATIC_OP(take)
    .Inputs({"ids", "step_idx", "out"})
    .Outputs({"out_"})
    .SetKernelFn(PD_KERNEL(Take));
"""
RUNNER = """
class Runner:
    def execute(self):
        data = RoundData(
            ids=self.share_inputs["token_ids_all"],
            step_idx=(self.share_inputs["step_idx"] if self.speculative else None),
        )
        finish(data)
"""


def product(**files: str) -> Buffers:
    tree = MemoryTree({"custom_ops/gpu_ops/take.cu": OP, **files})
    config = load(None, profile="fastdeploy")
    return Buffers(OpIndex(ChangeSet(tree, tree, ()), Side.HEAD, config, IndexNames(("step_idx",))))


def keys(
    call: str, before: str = "", head: str = "def finish(share_inputs, data: RoundData):"
) -> dict[str, str]:
    code = f"from engine.ops.gpu import take\n{head}\n    {before or 'pass'}\n    {call}\n"
    buffers = product(
        **{"fastdeploy/finish.py": code, "fastdeploy/worker/gpu_model_runner.py": RUNNER}
    )
    (site,) = buffers.of("take")
    (facts,) = buffers.library.facts("take")
    assert site.runs(facts)
    return site.keys(facts)


@pytest.mark.parametrize(
    ("ids", "before", "key"),
    [
        ('share_inputs["token_ids_all"]', "", "share_inputs.token_ids_all"),
        ('self.model_inputs["pre_ids"].cuda()', "", "model_inputs.pre_ids"),
        ("share_inputs.pre_ids", "", "share_inputs.pre_ids"),
        ("data.ids", "", "share_inputs.token_ids_all"),
        ("kept", 'kept = share_inputs["token_ids_all"]', "share_inputs.token_ids_all"),
        ("kept.clone()", "kept = data.ids", "share_inputs.token_ids_all"),
    ],
)
def test_an_argument_is_followed_to_what_holds_it(ids, before, key):
    found = keys(f"take({ids}, data.step_idx, out=share_inputs['out'])  # step_idx", before)
    assert found == {"ids": key, "step_idx": "share_inputs.step_idx", "out": "share_inputs.out"}


def test_a_class_that_is_made_without_fields_is_a_plain_holder():
    head = "def finish(share_inputs: Batch, data: RoundData):"
    found = keys('take(share_inputs["ids"], data.step_idx, o)', "kept = Batch(1)", head)
    assert found["ids"] == "share_inputs.ids"


def test_a_variable_set_on_two_paths_is_followed_where_both_agree():
    before = "if ready:\n        kept = data.ids\n    else:\n        kept = data.missing"
    assert keys("take(kept, data.step_idx, o)", before)["ids"] == "share_inputs.token_ids_all"


def test_what_cannot_be_followed_has_no_name():
    assert "ids" not in keys("take(build(), data.step_idx, out)")


def test_two_holders_are_two_buffers():
    one = keys('take(self.model_inputs["pre_ids"], data.step_idx, o)')["ids"]
    other = keys('take(self.share_inputs["pre_ids"], data.step_idx, o)')["ids"]
    assert one != other


def test_two_arms_of_one_choice_are_exclusive():
    code = """
from engine.ops.gpu import take


def spec(share_inputs):
    take(share_inputs["a"], share_inputs["step_idx"], o)


def plain(share_inputs):
    take(share_inputs["a"], share_inputs["step_idx"], o)


def both(share_inputs):
    take(share_inputs["a"], share_inputs["step_idx"], o)


def step(share_inputs, speculative):
    if speculative:
        spec(share_inputs)
    else:
        plain(share_inputs)
    both(share_inputs)
"""
    buffers = product(**{"fastdeploy/step.py": code})
    spec, plain, both = buffers.of("take")
    assert buffers.exclusive(spec, plain)
    assert not buffers.exclusive(spec, both)
