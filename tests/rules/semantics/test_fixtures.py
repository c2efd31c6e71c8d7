"""What a test fills of an array, counted from its index: -1 where that is a count, 0 where it is
the last position."""

import textwrap

import pytest

from checks.eval.symbolic.affine import Offset
from checks.eval.symbolic.run import IndexNames
from checks.lang.source import parse
from checks.rules.semantics._fixture_fill import FillExtent, fill_extent
from checks.rules.semantics._fixtures import fixture_uses

PARAMS = ("hist", "lens", "step_idx")
BASE = Offset(-1, (("lens", 1),))


def fill(code: str, base: Offset = BASE) -> FillExtent | None:
    unit = parse("tests/test_op.py", textwrap.dedent(code).encode())
    (use,) = fixture_uses(unit, frozenset({"op"}), IndexNames(("step_idx",)))
    return fill_extent(use, PARAMS, "hist", "step_idx", base)


LOCAL = """
def test_it():
    hist = np.{array}
    lens = np.full((2, 1), 8)
    step_idx = np.zeros((2, 1))
    for b in range(2):
        made = 5
        hist[b, 8 : 8 + made] = 1
        step_idx[b] = {index}
    op(hist, lens, step_idx)
"""


@pytest.mark.parametrize(("index", "last"), [("made", -1), ("made - 1", 0), ("made + 1", -2)])
def test_a_slice_against_the_index(index, last):
    found = fill(LOCAL.format(index=index, array="zeros((2, 64))"))
    assert (found.last, found.guessed, found.where.line) == (last, False, 9)


def test_an_array_with_no_filler_says_nothing():
    assert fill(LOCAL.format(index="made", array="random.randint(0, 9, (2, 64))")) is None


def test_a_dict_from_a_helper_and_a_copy_of_it():
    code = """
    def make(n=6):
        hist = np.full((2, 64), -1)
        hist[:, :n] = 7
        step_idx = np.full((2, 1), n - 1)
        return {"hist": hist, "lens": np.zeros((2, 1)), "step_idx": step_idx}

    def to_gpu(arrays):
        out = {}
        for k, v in arrays.items():
            out[k] = paddle.to_tensor(v)
        return out

    class TestIt:
        def test_it(self):
            data = to_gpu(make())
            self.op(data["hist"], data["lens"], step_idx=data["step_idx"])
    """
    assert fill(code).last == 0


def test_set_up_runs_before_the_test():
    code = """
    class TestIt(unittest.TestCase):
        def setUp(self):
            self.hist = paddle.full(shape=[2, 64], fill_value=-1).cpu()
            self.lens = paddle.zeros([2, 1])
            self.step_idx = paddle.full(shape=[2, 1], fill_value=0)
            row = np.array([10, 9, 8, 7])
            self.hist[:, : row.shape[0]] = row
            self.step_idx[:] = 3

        def test_it(self):
            op(self.hist, self.lens, self.step_idx)
    """
    assert fill(code).last == 0


@pytest.mark.parametrize(
    ("tokens", "index", "last"), [("7, 8, 9, 1, 2, 0, 0", 2, -1), ("7, 8, 9, 1, 2", 1, 0)]
)
def test_a_literal_is_read_by_its_padding_and_only_guessed(tokens, index, last):
    code = f"""
    def test_it():
        hist = paddle.to_tensor([[{tokens}]])
        lens = paddle.to_tensor([[3]])
        step_idx = paddle.to_tensor([{index}])
        op(hist, lens, step_idx)
    """
    found = fill(code)
    assert (found.last, found.guessed) == (last, True)


def test_one_element_is_only_a_guess():
    code = """
    def test_it():
        hist = np.zeros((1, 64))
        lens = np.zeros((1, 1))
        step_idx = np.full((1, 1), 4)
        hist[0, 2] = 99
        op(hist, lens, step_idx)
    """
    assert fill(code).guessed
