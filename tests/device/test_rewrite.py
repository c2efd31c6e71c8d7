"""CUDA's extensions to plain C++: what is written, and that lines stay where they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels.emulator.rewrite import rewrite
from kernels.emulator.rewrite.text import closing, mask


def test_a_launch_keeps_its_arguments() -> None:
    text = rewrite("scale<float, (2 > 1)><<<dim3(n), 64, 0, stream>>>(out, f(a, b), NULL);")
    assert "::emulator::Launch(dim3(n), 64, 0, stream).run(" in text
    assert "scale<float, (2 > 1)>(emulator_arguments...)" in text
    assert text.endswith(", out, f(a, b), nullptr);")


def test_a_launch_of_a_pointer() -> None:
    text = rewrite("(*kernel)<<<1, 2>>>();")
    assert "{ (*kernel)(emulator_arguments...); });" in text


def test_launches_over_lines_and_in_macros() -> None:
    text = "#define GO(T) \\\n  k<T> \\\n    <<<1, 32>>>(a, \\\n b)\nint x;\n"
    out = rewrite(text)
    assert out.count("\n") == text.count("\n")
    *macro, last = out.splitlines()
    assert last == "int x;"
    assert all(line.endswith("\\") for line in macro[:-1])
    assert "\\" not in "".join(line.removesuffix("\\") for line in macro)


def test_comments_and_strings_are_no_code() -> None:
    text = '// k<<<1, 2>>>(a)\nconst char* s = "k<<<1, 2>>>(a) __shared__ int x;";\n'
    assert rewrite(text) == text


@pytest.mark.parametrize(
    ("declaration", "names"),
    [
        ("__shared__ int a;", ["a"]),
        ("static __shared__ float b[4][32];", ["b"]),
        ("__shared__ typename Reduce<T, 3>::Temp c;", ["c"]),
        ("__shared__ bool d, e[2];", ["d", "e"]),
        ("__shared__ alignas(16) char f[8];", ["f"]),
        ("alignas(16) __shared__ char g[8];", ["g"]),
        ("__shared__ union { int i; float f; } h;", ["h"]),
    ],
)
def test_shared_declarations(declaration: str, names: list[str]) -> None:
    out = rewrite("void k() {\n  " + declaration + "\n}\n")
    assert "__shared__" not in out
    assert "static" not in out.replace("static_cast", "")
    for name in names:
        assert f"auto& {name} = ::emulator::shared_memory<" in out


@pytest.mark.parametrize(
    "before",
    ["#if (defined(FLAG))\n  call();\n#endif\n", "#define TWO(a) f(a); \\\n  g(a)\n", "done:\n"],
)
def test_a_shared_declaration_after_a_directive_or_label(before: str) -> None:
    text = "void k() {\n" + before + "__shared__ float __attribute((aligned(16))) a[4];\n}\n"
    out = rewrite(text)
    assert out.startswith("void k() {\n" + before + "struct emulator_shared_")
    assert out.count("\n") == text.count("\n")


def test_a_macro_for_a_shared_declaration() -> None:
    out = rewrite("#define BUFFER(T, name, n) __shared__ T name[n]\n")
    assert "struct emulator_shared_##name { T name[n]; }; auto& name = " in out


def test_dynamic_shared_memory_of_the_whole_file() -> None:
    out = rewrite("namespace ops { extern __shared__ float4 all[]; }\nvoid k() { all[0] = x; }")
    assert "namespace ops { static const ::emulator::DynamicShared<float4> all; }" in out
    with pytest.raises(ValueError, match="outside of a function"):
        rewrite("__shared__ int count;\nvoid k() {}")


def test_device_code_is_that_of_one_gpu() -> None:
    text = "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800\nint __CUDA_ARCH_LIST__;\n#endif"
    assert rewrite(text).count("EMULATED_CUDA_ARCH") == 2
    assert "__CUDA_ARCH_LIST__" in rewrite(text)


def test_a_launch_of_a_table() -> None:
    assert "{ table[i + 1](emulator_arguments...); });" in rewrite(
        "x = 1; table[i + 1]<<<1, 2>>>();"
    )


def test_dynamic_shared_memory() -> None:
    out = rewrite("void k() { extern __shared__ __align__(16) unsigned char bytes[]; }")
    assert "unsigned char* bytes = static_cast<unsigned char*>(::emulator::dynamic" in out


def test_dynamic_shared_memory_that_is_read_as_something_else() -> None:
    declared = "extern __shared__ unsigned char bytes[];"
    taken = "auto& all = reinterpret_cast<\n  Storage<4, int>&>(\n  bytes);"
    out = rewrite(f"void k() {{ {declared} {taken} f(bytes); g(&others, bytes); }}")
    assert "Storage<4, int>&>(\n  *bytes);" in out
    assert "f(bytes); g(&others, bytes);" in out


def test_ptx_with_a_meaning() -> None:
    out = rewrite('asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(64));')
    assert out == "::emulator::wait_for_block((id), (64), 0, {__FILE__, __LINE__});"


def test_ptx_without_one_is_refused_by_name() -> None:
    out = rewrite('asm volatile("mma.sync.aligned.m16n8k16 {%0}, %1;" : "=r"(a) : "r"(b));')
    assert 'error("PTX: mma.sync.aligned.m16n8k16' in out


def test_an_access_of_global_memory_copies_bits_of_one_type() -> None:
    out = rewrite('asm volatile("ld.global.nc.b64 %0,[%1];" : "=l"(tmp) : "l"(p + j) : "memory");')
    assert "static_assert(" in out
    assert "sizeof((tmp)) == 8" in out
    assert out.endswith("(tmp) = (*((p + j))); } while (0);")
    out = rewrite(
        'asm("st.global.L1::no_allocate.v2.s32 [%0], {%1, %2};" ::"l"(p), "r"(x), "r"(y));'
    )
    assert 'error("PTX: st.global.L1no_allocate.v2.s32' in out


def test_operands_in_parentheses_with_colons() -> None:
    out = rewrite('asm("st.release.gpu.b32 [%1], %0;" ::"r"(a ? b : c), "l"(p));')
    assert out == "*((p)) = (a ? b : c);"


_PIECES = st.sampled_from(
    [
        "a",
        "b<c>",
        "<<<1, 2>>>(x)",
        "__shared__ int s;",
        "{",
        "}",
        "(",
        ")",
        ";",
        "\n",
        "//x\n",
        '"q"',
        "asm(",
    ]
)


def test_a_member_template_of_a_call() -> None:
    assert rewrite("Scan<T, N>(memory)\n  .Sum<4>(a, b);") == (
        "Scan<T, N>(memory)\n  .template Sum<4>(a, b);"
    )
    for text in ("f().template g<int>(x);", "if (a) b < c > (d);", "t.data<int>();"):
        assert rewrite(text) == text


def test_a_function_template_specialised_for_some_types() -> None:
    out = rewrite(
        "template <typename T, typename U, int n>\nvoid put(T* to, U* from) {}\n"
        "template <int n>\ninline void put<float,\n half>(float* to, half* from) {}"
    )
    assert "std::is_same_v<emulator_type_0, float>" in out
    assert "inline void put\n(float* to, half* from) {}" in out
    for text in ("template <int n> void f(int x);", "template <> void f<int>(int x) {}"):
        assert rewrite(text) == text


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_any_text_is_rewritten_or_refused(text: str) -> None:
    try:
        out = rewrite(text)
    except (ValueError, IndexError):
        return
    assert out.count("\n") >= text.count("\n")


@given(st.text(alphabet="ab\"'/*\n\\R( )", max_size=40))
def test_a_mask_keeps_every_position(text: str) -> None:
    masked = mask(text)
    assert len(masked) == len(text)
    assert [i for i, c in enumerate(masked) if c == "\n"] == [
        i for i, c in enumerate(text) if c == "\n"
    ]


@given(st.integers(0, 6))
def test_brackets_close_where_they_were_opened(depth: int) -> None:
    text = "(" * depth + "[x]{y}" + ")" * depth
    for index in range(depth):
        assert closing(text, index) == len(text) - 1 - index
