"""The mask keeps every position and every line, and touches nothing but what the grammar cannot
read.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checks.lang.cpp.conditionals import resolve
from checks.lang.cpp.mask import mask
from checks.lang.cpp.scan import comments, scan

# Pieces of C++ whose order does not matter: any of them may follow any other.
_PIECES = [
    b"int f(int x) { return x << 3; }",
    b"// a comment",
    b'const char* s = "MY_INLINE /* no comment */";',
    b"MY_INLINE void g();",
    b"__global__ void __launch_bounds__(256, 2) k(int n) {}",
    b"DISPATCH(a, [&] { run(); })",
    b"DISPATCH_TYPE(dtype, T, { run<T>(); });",
    b"CHECK_PTR(ctx, int, n * 2, p);",
    b"INSTANTIATE(float, 1)",
    b"#define X(a) \\\r\n  a + 1",
    b"#ifdef Q\nif (a)\n#endif\nb();",
    b"/* MY_INLINE\n two lines */",
    b"\xff\xfe\x00",
    b"\xef\xbb\xbf",
    b"(",
    b"}",
    b"'",
    b'"',
    b'R"x(',
    b"\\",
]
_sources = st.lists(st.sampled_from(_PIECES) | st.binary(max_size=8), max_size=12).map(b"\n".join)


@given(_sources)
def test_length_and_lines_stay(source: bytes) -> None:
    code = mask(source).code
    assert len(code) == len(source)
    assert [i for i, b in enumerate(code) if b == 10] == [
        i for i, b in enumerate(source) if b == 10
    ]


@given(_sources)
def test_a_byte_is_kept_blanked_or_made_part_of_a_name(source: bytes) -> None:
    for before, after in zip(source, mask(source).code, strict=True):
        kept_or_blank = after in (before, 32)
        as_name = chr(after).lower() == chr(before) or (after == 95 and before in b" \t\r*&")
        assert kept_or_blank or as_name


@given(st.lists(st.sampled_from(["int a = 1;", "f(x, {1, 2});", "a[i] <<= b;", "T<A> t;", "{ }"])))
def test_plain_code_is_left_alone(lines: list[str]) -> None:
    source = "\n".join(lines).encode()
    assert mask(source).code == source


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("__global__ void __launch_bounds__(N) k();", "__global__ void                      k();"),
        ("SOME_INLINE int f();", "            int f();"),
        ("int f(__global_ptr__ const T* x);", "int f(               const T* x);"),
        ("class MY_DECL A : public B {};", "class         A : public B {};"),
        ("class A final {};",) * 2,
        ("SHARED std::string f();", "       std::string f();"),
        ("struct __align__(16) S {};", "struct               S {};"),
        ("D(a, { b; })", "D(a, { b; })"),
        ("DISPATCH(a, N, { b; })", "               { b; } "),
        ("DISPATCH(a, N, k<<<g, s>>>(b, c);)", "               k<<<g, s>>>(b, c); "),
        ("DISPATCH(switch (x) {})", "         switch (x) {} "),
        ("CHECK_PTR(c, unsigned int, n);", "CHECK_PTR(c, Unsigned_int, n);"),
        ("CHECK_PTR(c, half const*, n * m);", "CHECK_PTR(c, Half_const_, n * m);"),
        ("for (;;)\n#pragma unroll\n  f();", "for (;;)\n              \n  f();"),
        ("int a;\nMY_NAMESPACE_BEGIN\nint b;", "int a;\n                  \nint b;"),
        ("enum E {\nLAST_ONE\n};",) * 2,
        ("struct MY_ALIGN(8) A {};", "struct             A {};"),
        ("UNROLL_IT for (;;) {}", "          for (;;) {}"),
        ("auto x = typename T::Y{};", "auto x =          T::Y{};"),
        ("template <typename T> int f();", "template <typename T> int f();"),
        ("template <typename T, typename U = int> int f();",) * 2,
        ("template class A<int>;", "         class A<int>;"),
        ("MAKE(int)\nint a;", "         \nint a;"),
        ("#define MAKE(int) SOME_INLINE int x;",) * 2,
        ('f("SOME_INLINE int");',) * 2,
        ("int a; // SOME_INLINE", "int a;               "),
        ("#define MINE __device__\nMINE int f();", "#define MINE __device__\n     int f();"),
        ("auto f = [] __device__(int a) {};", "auto f = []           (int a) {};"),
        ("PD_BUILD_OP(a)\n    .Inputs({});",) * 2,
        ("\ufeffint a;", "   int a;"),
    ],
)
def test_what_is_masked(source: str, code: str) -> None:
    assert mask(source.encode()).code.decode() == code


def test_a_block_remembers_its_macro() -> None:
    source = b"DISPATCH(a, N, { b; })"
    assert mask(source).blocks == {source.index(b"{"): (0, len(source))}


def test_comments_merge_when_they_belong_together() -> None:
    source = (
        b"// one\n// two\n\n// three\nint a;  // trailing\n"
        b"        // goes on\n/* block\n * more */\n"
        b'const char* s = "// none";  // last'
    )
    found = comments(source, scan(source).comments)
    assert [(c.text, c.line, c.end_line) for c in found] == [
        ("one\ntwo", 1, 2),
        ("three", 4, 4),
        ("trailing\ngoes on", 5, 6),
        ("block\nmore", 7, 8),
        ("last", 9, 9),
    ]


def test_a_digit_separator_is_no_quote() -> None:
    source = b"int a = 1'000; // x"
    assert [source[a:b] for a, b in scan(source).comments] == [b"// x"]


@pytest.mark.parametrize(
    ("source", "resolved", "gone"),
    [
        ("#ifdef A\nif (x)\n#endif\nf();", "        \nif (x)\n      \nf();", []),
        ("f(a,\n#if A\nb);\n#else\nccc, d);\n#endif", None, ["b);"]),
        ("#ifdef A\na();\n#else\nb();\n#endif", "#ifdef A\na();\n#else\nb();\n#endif", []),
    ],
)
def test_conditionals_that_cut(source: str, resolved: str | None, gone: list[str]) -> None:
    data = source.encode()
    code, spans = resolve(data, scan(data).quiet)
    assert len(code) == len(data)
    assert [source[a:b].strip() for a, b in spans] == gone
    if resolved is not None:
        assert code.decode() == resolved
