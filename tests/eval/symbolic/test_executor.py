"""The symbolic run, on small functions: the last position, counted from the index."""

import textwrap

import pytest

from checks.domain.indices.conventions import conventions
from checks.eval.symbolic.affine import Offset
from checks.eval.symbolic.executor import SymbolicExecutor
from checks.eval.symbolic.run import IndexNames
from checks.lang.source import parse

WATCH = IndexNames(("step_idx",))


def meanings(path: str, code: str, name: str) -> dict[tuple[str, str], Offset]:
    """(role, buffer) to the offset of the function `name`."""
    unit = parse(path, textwrap.dedent(code).encode())
    functions = {f.name: f for f in unit.functions}
    run = SymbolicExecutor(
        WATCH, lambda called, _path, _arity: functions.get(called), path.endswith(".py")
    )
    return {(c.role, c.buffer): c.offset for c in conventions(run.enter(functions[name]))}


def cuda(body: str, helpers: str = "") -> dict[tuple[str, str], Offset]:
    head = (
        "__global__ void k(long* hist, long* step_idx, const int* n, const long* out,"
        " const long* lens, int L, int m)"
    )
    return meanings("k.cu", f"{helpers}\n{head} {{ int b = threadIdx.x; {body} }}", "k")


WRITES = {
    "a count, forwards": (
        "step_idx[b] += n[b]; long base = step_idx[b] - n[b];"
        "for (int i = 0; i < n[b]; i++) hist[b * L + base + i] = out[i];",
        -1,
    ),
    "the last index, backwards": (
        "step_idx[b] += n[b];"
        "for (int i = 0; i < n[b]; i++) hist[b * L + step_idx[b] - i] = out[i];",
        0,
    ),
    "one token, before the index moves": (
        "hist[b * L + step_idx[b]] = out[b]; step_idx[b] += 1;",
        -1,
    ),
    "one token, after the index moved": ("step_idx[b]++; hist[b * L + step_idx[b]] = out[b];", 0),
    "through a local that a loop advances": (
        "long cur = step_idx[b]; for (int i = 0; i < n[b]; i++) { cur++; if (out[i] == 2) break; }"
        "long* row = &hist[b * L + lens[b]]; step_idx[b] = cur; long base = cur - m;"
        "for (int i = 0; i < m; i++) row[base + i] = out[i];",
        -1,
    ),
    "written before the local is stored": (
        "long cur = step_idx[b]; for (int i = 0; i < n[b]; i++) cur++;"
        "hist[b * L + cur] = out[b]; step_idx[b] = cur;",
        0,
    ),
    "only on one branch": (
        "if (n[b] > 0) { step_idx[b] += n[b]; hist[b * L + step_idx[b] - 1] = out[b]; }",
        -1,
    ),
    "a pointer that moves": (
        "long* p = hist + b * L; p += step_idx[b]; *p = out[b]; step_idx[b] += 1;",
        -1,
    ),
}


@pytest.mark.parametrize("code, const", WRITES.values(), ids=list(WRITES))
def test_a_writer(code, const):
    assert cuda(code)[("write", "hist")].const == const


READS = {
    "a window that ends before the index": (
        "const long* t = hist + b * L + (step_idx[b] - m);"
        "for (int j = 0; j < m; j++) if (t[j] == 2) return;",
        -1,
    ),
    "a window that ends at the index": (
        "const long* t = hist + b * L + (step_idx[b] + 1 - m);"
        "for (int j = 0; j < m; j++) if (t[j] == 2) return;",
        0,
    ),
    "a window over every size": (
        "for (int w = m; w >= 1; --w) { const long* t = hist + b * L + (step_idx[b] - w);"
        "for (int j = 0; j < w; j++) if (t[j] == 2) return; }",
        -1,
    ),
    "single tokens from the end": (
        "long s = step_idx[b]; long x = s >= 1 ? hist[b * L + s - 1] : -1;"
        "long y = s >= 2 ? hist[b * L + s - 2] : -1; if (x == y) return;",
        -1,
    ),
    "bounded by a condition": (
        "for (int i = m; i < L; i++) { int at = i - m - n[b]; if (at >= 0) continue;"
        "if (hist[b * L + step_idx[b] + at] == 2) return; }",
        -1,
    ),
    "through a helper": ("probe(hist + b * L + step_idx[b] - m, m);", -1),
    "a helper with a size in its template": (
        "if (m == 3) probe3<3>(hist + b * L + step_idx[b] - m);",
        -1,
    ),
}
HELPERS = """
__device__ void probe(const long* t, int n) { for (int j = 0; j < n; j++) if (t[j] == 2) return; }
template <int N> __device__ void probe3(const long* t) {
  for (int j = 0; j < N; j++) if (t[j] == 2) return;
}
"""


@pytest.mark.parametrize("code, const", READS.values(), ids=list(READS))
def test_a_reader(code, const):
    assert cuda(code, HELPERS)[("read", "hist")].const == const


def test_a_search_from_the_start_is_not_a_window():
    assert cuda("for (int i = 0; i < step_idx[b]; i++) if (hist[b * L + i] == 2) return;") == {}


def test_what_cannot_be_solved_is_not_claimed():
    assert cuda("long at = step_idx[b] / 2; hist[b * L + at] = out[b];") == {}
    assert cuda("hist[b * L + step_idx[b] - out[0] % 3] = 1;") == {}


def test_loads_stay_in_the_offset():
    found = cuda("if (hist[b * L + lens[b] + step_idx[b] - n[b] - 1] == 2) return;")
    assert found[("read", "hist")] == Offset(-1, (("lens", 1), ("n", -1)))


def test_a_block_copy_reads_a_window():
    code = """
    __global__ void k(const long* hist, const long* step_idx, int L, int m) {
      long at; long tail[8];
      GM2LM(step_idx + 1, &at, sizeof(long));
      GM2LM(hist + core_id() * L + at - m, tail, m * sizeof(long));
    }
    """
    assert meanings("k.xpu", code, "k")[("read", "hist")].const == -1


@pytest.mark.parametrize(
    ("window", "const"),
    [("cur - n : cur", -1), ("cur + 1 - n : cur + 1", 0), ("cur - n - 1 : cur - 1", -2)],
)
def test_a_python_reference(window, const):
    code = f"""
    def reference(hist, lens, step_idx, most):
        step_idx = step_idx.ravel()
        for b in range(hist.shape[0]):
            cur = int(step_idx[b])
            start = int(lens[b])
            row = hist[b, start:]
            for n in range(most, 0, -1):
                if cur < n:
                    continue
                tail = row[{window}]
    """
    assert meanings("tests/r.py", code, "reference")[("read", "hist")] == Offset(
        const, (("lens", 1),)
    )


def test_a_python_writer():
    code = """
    def commit(hist, step_idx, out, n):
        for b in range(len(out)):
            step_idx[b] += n
            hist[b, step_idx[b] - n : step_idx[b]] = out[b]
    """
    assert meanings("tests/r.py", code, "commit")[("write", "hist")].const == -1
