"""Whatever the bytes are, parsing and lowering end, in time, and say what they skipped."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from checks.lang.cpp.parse import parse_cpp
from checks.lang.ir.expr import Expr, Node, walk
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Stmt, guarded_statements

SAMPLE = b"""#include "a.h"
#define K 20 /* width */
struct msg { long type; int text[K * (3 + 1)]; };
template <typename T, int N>
__global__ void __launch_bounds__(N) pack(const T* __restrict__ in, int* out, int n) {
  __shared__ int s[N];
  for (int i = threadIdx.x; i < n && out; i += blockDim.x) {
    if (in[i] < 0) continue; else out[i++] = (int)in[i] | (K << 8);
    switch (n) { case 1: { s[0] = -9; break; } default: s[1] += in[i] ? 1 : 2; }
  }
#ifdef DEBUG
  printf("%d \\"x\\"\\n", n);
#else
  while (n-- > 0) { out->x.y[n] = static_cast<int>(in[n]); }
#endif
}
void launch(const paddle::Tensor& a, cudaStream_t stream) {
  PD_CHECK(a.shape()[0] == K, "bad");
  CHECK_PTR(ctx, int, n, p);
  DISPATCH(a.type(), [&] { pack<T, 32><<<1, 32, 0, stream>>>(a.data<T>(), nullptr, 3); });
  DISPATCH_N(n, N, { do { x = y = N; } while (0); });
  auto [b, c] = std::make_pair(1'000, 'x');
  const char* text = R"(raw " text)"; // end
}
PD_BUILD_STATIC_OP(pack).Inputs({"a", "b" "c"}).SetKernelFn(PD_KERNEL(launch));
PYBIND11_MODULE(m, m) { m.def("launch", &launch, py::arg("a") = 1); }
"""


def expressions(stmt: Stmt) -> Iterator[Expr]:
    for name in stmt.__dataclass_fields__:
        value = getattr(stmt, name)
        if isinstance(value, Node):
            yield value  # type: ignore[misc]


def exercise(data: bytes) -> SourceFile:
    """Everything there is to ask of a unit, walked to its leaves."""
    unit = parse_cpp("f.cu", data)
    last = len(unit.lines)
    for function in unit.functions:
        assert 1 <= function.start_line <= function.end_line <= max(last, 1)
        assert function.clean == (not function.broken)
        for one in guarded_statements(function.body):
            assert function.start_line <= one.stmt.line <= one.stmt.end_line <= function.end_line
            for expr in expressions(one.stmt):
                assert all(0 <= e.line <= max(last, 1) for e in walk(expr))
    for constant in unit.constants:
        if constant.value is not None:
            list(walk(constant.value))
    return unit


def test_the_sample_is_read_in_full() -> None:
    unit = exercise(SAMPLE)
    assert unit.broken == ()
    assert [f.name for f in unit.functions] == ["pack", "launch", "PYBIND11_MODULE"]
    assert "Opaque" not in repr([f.body for f in unit.functions])


@given(
    st.lists(
        st.tuples(st.integers(0, len(SAMPLE)), st.integers(0, 40), st.binary(max_size=6)),
        max_size=4,
    )
)
@settings(max_examples=150, deadline=None)
@example([(0, len(SAMPLE), b"")])
def test_mutations(edits: list[tuple[int, int, bytes]]) -> None:
    data = SAMPLE
    for position, cut, put in edits:
        data = data[:position] + put + data[position + cut :]
    exercise(data)


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes(data: bytes) -> None:
    exercise(data)


@given(st.integers(0, len(SAMPLE)))
@settings(deadline=None)
def test_a_file_that_ends_early(end: int) -> None:
    exercise(SAMPLE[:end])


MANY = 3000


@pytest.mark.parametrize(
    "inside",
    [
        "x = " + "(" * MANY + "1" + ")" * MANY + ";",
        "x = " + "-" * 1 + "~" * MANY + "1;",
        "x = " + " + ".join(["a"] * MANY) + ";",
        "x = " + " + (a".join([""] * MANY) + ")" * MANY + ";",
        "x = a" + ".b" * MANY + ";",
        "x = " + "f(" * MANY + ")" * MANY + ";",
        "x = a" + "[0]" * MANY + ";",
        "x = " + "a ? b : " * MANY + "c;",
        "x = " + "{" * MANY + "}" * MANY + ";",
        "out" + " << a" * MANY + ";",
        "x = " * MANY + "1;",
        "a" + ", a" * MANY + ";",
        "{" * MANY + "}" * MANY,
        "if (a) " * MANY + ";",
        "if (a) ; " + "else if (a) ; " * MANY,
        "for (;;) " * MANY + ";",
        "switch (x) {" + "".join(f"case {i}: f();" for i in range(MANY)) + "}",
        "f([&] {" * 300 + "});" * 300,
        "int " + "*" * MANY + "x;",
        "int x" + "[1]" * MANY + ";",
        "DISPATCH(a, {" * 300 + "f();" + "})" * 300,
        "T<" * MANY + ">" * MANY + " x;",
    ],
)
def test_nesting_does_not_exhaust_the_stack(inside: str) -> None:
    limit = sys.getrecursionlimit()
    exercise(f"void f() {{ {inside} }}\nvoid g() {{ a = 1; }}\n".encode())
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(
    "source",
    [
        "namespace a {" * MANY + "int f() {}" + "}" * MANY,
        "struct a {" * 400 + "int x;" + "};" * 400,
        "#ifdef A\n" * MANY + "int a;\n" + "#endif\n" * MANY,
        "#define A " + "(" * MANY + "1" + ")" * MANY,
        "enum { " + ", ".join(f"e{i}" for i in range(MANY)) + "};",
        "enum { a = K, " + ", ".join(f"e{i}" for i in range(MANY)) + "};",
    ],
)
def test_nesting_at_file_level(source: str) -> None:
    exercise(source.encode())


def test_work_grows_with_size() -> None:
    def lines(times: int) -> int:
        """How many lines of Python the analysis runs."""
        count = 0

        def trace(frame: FrameType, event: str, argument: object) -> Callable[..., object]:
            nonlocal count
            count += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            for function in parse_cpp("f.cu", SAMPLE * times).functions:
                function.lower()
        finally:
            sys.settrace(before)
        return count

    lines(1)  # what is made once
    # Ten times the size; quadratic growth would be a hundred times.
    assert lines(20) < 15 * lines(2)
