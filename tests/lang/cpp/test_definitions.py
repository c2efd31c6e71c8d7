"""What a C++ file defines: functions, constants, types, ops, bindings."""

from __future__ import annotations

import pytest

from checks.lang.cpp.parse import parse_cpp
from checks.lang.ir.expr import Binary, Call, Const, Expr, Name, Unary, Unknown
from checks.lang.ir.source_file import Class, Constant, Import, Member, Op, Param, SourceFile

K, ONE = Name("K"), Const(1)


def parsed(source: str) -> SourceFile:
    unit = parse_cpp("f.cu", source.encode())
    assert unit.broken == ()
    return unit


@pytest.mark.parametrize(
    ("source", "qualname", "marks", "returns"),
    [
        ("int f() {}", "f", (), "int"),
        ("static inline const T* f() {}", "f", ("static", "inline"), "const T*"),
        ("__global__ void __launch_bounds__(32) f() {}", "f", ("__global__",), "void"),
        (
            "template <typename T, int N>\n__device__ __forceinline__ T f() {}",
            "f",
            ("template<typename T, int N>", "__device__", "__forceinline__"),
            "T",
        ),
        ('extern "C" int f() {}', "f", ('extern "C"',), "int"),
        ('extern "C" {\nint f() {}\n}', "f", ('extern "C"',), "int"),
        ("namespace a::b { namespace { void f() {} } }", "a::b::f", (), "void"),
        ("struct S { void f() const {} };", "S::f", (), "void"),
        ("namespace a { class S { public: S() : x(1) {} }; }", "a::S::S", (), ""),
        ("void n::S<T>::f() {}", "n::S<T>::f", (), "void"),
        ("template <> void f<int>() {}", "f", ("template<>",), "void"),
        ("auto f(int a) -> int* {}", "f", (), "int*"),
        ("bool S::operator<(S b) {}", "S::operator<", (), "bool"),
        ("MY_EXPORT int* f() {}", "f", (), "int*"),
    ],
)
def test_function(source: str, qualname: str, marks: tuple[str, ...], returns: str) -> None:
    (function,) = parsed(source).functions
    assert (function.qualname, function.marks, function.returns) == (qualname, marks, returns)
    assert function.name == qualname.rsplit("::", 1)[-1]
    assert function.clean


def test_owner_is_the_class() -> None:
    inside, outside = parsed("struct S { void f() {} };\nvoid n::S::g() {}").functions
    assert (inside.owner, outside.owner) == ("S", "n::S")


def test_parameters() -> None:
    source = (
        "v"
        "oid f(const paddle::Tensor& a, int64_t *b, const int c[2], T* __restrict__ d, int e = 3,\n"
        "       float, Ts... rest) {}"
    )
    (function,) = parsed(source).functions
    assert function.params == (
        Param("a", "const paddle::Tensor&", line=1),
        Param("b", "int64_t *", line=1),
        Param("c", "const int[2]", line=1),
        Param("d", "T* __restrict__", line=1),
        Param("e", "int", Const(3), line=1),
        Param("", "float", line=2),
        Param("rest", "Ts...", kind="args", line=2),
    )
    (nothing,) = parsed("int f(void) {}").functions
    assert nothing.params == ()


def test_a_template_is_part_of_its_function() -> None:
    (function,) = parsed("int a;\ntemplate <int N>\nvoid f() {\n}\n").functions
    assert (function.start_line, function.end_line) == (2, 4)


def test_functions_in_conditionals_are_all_there() -> None:
    unit = parsed("#ifdef A\nvoid f() {}\n#else\nvoid f(int a) {}\n#endif\n")
    assert [len(f.params) for f in unit.functions] == [0, 1]


def test_a_conditional_that_cuts_a_statement_costs_one_arm() -> None:
    source = (
        b"void f() {\n  g(a,\n#ifdef A\n    b(c, d),\n#else\n    e,\n"
        b"#endif\n    h);\n}\nvoid i() {}\n"
    )
    unit = parse_cpp("f.cu", source)
    f, i = unit.functions
    assert (f.name, f.broken, i.clean) == ("f", ((6, 6),), True)
    (stmt,) = f.body
    assert "Name(line=4, id='b')" in repr(stmt)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("#define K 20", Constant("K", Const(20), "f.cu", 1, "define")),
        (
            "#define K (1 << 8)  // width",
            Constant("K", Binary("<<", ONE, Const(8)), "f.cu", 1, "define"),
        ),
        ("#define K", Constant("K", None, "f.cu", 1, "define")),
        ("#define K -9", Constant("K", Unary("-", Const(9)), "f.cu", 1, "define")),
        ('#define K "a"', Constant("K", Const("a"), "f.cu", 1, "define")),
        (
            "#define K(x) \\\n  (x + 1)",
            Constant("K", Binary("+", Name("x"), ONE), "f.cu", 1, "define", params=("x",)),
        ),
        (
            "#define K(x) do { x; } while (0)",
            Constant("K", Unknown("do { x; } while (0)"), "f.cu", 1, "define", params=("x",)),
        ),
        (
            "constexpr int K = 2 * 4;",
            Constant(
                "K", Binary("*", Const(2), Const(4)), "f.cu", 1, "constexpr", type="constexpr int"
            ),
        ),
        ("static const int K = 1;", Constant("K", ONE, "f.cu", 1, "const", type="const int")),
        (
            "struct S { static constexpr int K = 1; };",
            Constant("K", ONE, "f.cu", 1, "constexpr", "S", type="constexpr int"),
        ),
        ("using K = int64_t;", Constant("K", None, "f.cu", 1, "alias", type="int64_t")),
        ("typedef unsigned int K;", Constant("K", None, "f.cu", 1, "alias", type="unsigned int")),
        ("void f() {\n#define K 3\n}", Constant("K", Const(3), "f.cu", 2, "define")),
    ],
)
def test_constant(source: str, expected: Constant) -> None:
    assert parsed(source).constants == (expected,)


def test_enumerators_count_on() -> None:
    unit = parsed("enum class E : int { A, B = 4, C, D = K, F, G = -1, H };")
    values: dict[str, Expr | None] = {c.name: c.value for c in unit.constants}
    assert values == {
        "A": Const(0),
        "B": Const(4),
        "C": Const(5),
        "D": K,
        "F": Binary("+", K, ONE),
        "G": Unary("-", ONE),
        "H": Const(0),
    }
    assert {(c.kind, c.owner, c.type) for c in unit.constants} == {("enum", "E", "int")}


def test_struct_members() -> None:
    source = (
        "struct msg {\n  long mtype;\n  int text[K * 2 + 1][3], *p;\n"
        "  struct part q;\n  void f();\n};"
    )
    (struct,) = parsed(source).structs
    size = Binary("+", Binary("*", K, Const(2)), ONE)
    assert struct.members == (
        Member("mtype", "long", (), 2),
        Member("text", "int", (size, Const(3)), 3),
        Member("p", "int *", (), 3),
        Member("q", "part", (), 4),
    )
    assert (struct.name, struct.start_line, struct.end_line) == ("msg", 1, 6)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("typedef struct { int a; } S;", ["S"]),
        ("struct S { struct { int b; } in; int a; };", ["S", "S::in"]),
        ("union S { int a; float b; };", ["S"]),
        ("class S { void f(); };", []),
    ],
)
def test_struct_names(source: str, names: list[str]) -> None:
    assert [s.name for s in parsed(source).structs] == names


def test_classes_have_bases() -> None:
    unit = parsed("class A : public n::B, private C<int> { int f() { return 1; } };")
    assert unit.classes == (Class("A", ("n::B", "C<int>"), "f.cu", 1, 1),)


def test_declarations() -> None:
    unit = parsed("int f(int a,\n      float b = 1.0);\nstruct S { static void g(); };")
    assert [(d.name, d.returns, d.line, d.end_line) for d in unit.declarations] == [
        ("f", "int", 1, 2),
        ("g", "void", 3, 3),
    ]
    assert [p.name for p in unit.declarations[0].params] == ["a", "b"]


def test_includes() -> None:
    unit = parsed('#include <a/b.h>\n#ifdef GPU\n#include "c.h"\n#endif\n')
    assert unit.imports == (
        Import("a/b.h", "", "", 1),
        Import("c.h", "", "", 3, "#ifdef GPU"),
    )


OP = """PD_BUILD_STATIC_OP(step)
    .Inputs({"a", paddle::Optional("b"), paddle::Vec("c"),
             "d" "e"})
    .Outputs({"a_out"})
    .Attrs({"width: int", "name: std::string"})
    .SetInplaceMap({{"a", "a_out"}})
    .SetKernelFn(PD_KERNEL(Step))
    .SetInferShapeFn(PD_INFER_SHAPE(StepShape));
"""


def test_op() -> None:
    (op,) = parsed(f"int a;\n{OP}").ops
    assert op == Op(
        "step",
        "f.cu",
        2,
        9,
        ("a", "b", "c", "de"),
        ("a_out",),
        ("width: int", "name: std::string"),
        (("a", "a_out"),),
        "Step",
        "PD_BUILD_STATIC_OP",
    )


def test_ops_behind_a_conditional_and_in_a_macro() -> None:
    unit = parsed(
        "#ifndef PD_BUILD_STATIC_OP\n"
        "#define PD_BUILD_STATIC_OP(n) PD_BUILD_OP(static_op_##n)\n#endif\n"
        '#ifdef A\nPD_BUILD_OP(a).SetInplaceMap({{"x", "y"}, {"z", "w"}});\n#endif\n'
    )
    (op,) = unit.ops
    assert (op.name, op.inplace) == ("a", (("x", "y"), ("z", "w")))


def test_bindings() -> None:
    source = (
        "PYBIND11_MODULE(m, m) {\n"
        '  m.def("a", &n::F, py::arg("x"), py::arg("y") = 3,\n'
        '        "what it does");\n'
        '  m.def("b", static_cast<int (*)(int)>(&G));\n'
        '  m.def("c", [](int x) { return x; }, py::arg("x").noconvert());\n'
        '  py::class_<C>(m, "C").def(py::init<>()).def("go", &C::go);\n'
        "}\n"
    )
    assert [
        (b.name, b.function, b.args, b.path, b.line, b.end_line) for b in parsed(source).bindings
    ] == [
        ("a", "n::F", ("x", "y"), "f.cu", 2, 3),
        ("b", "G", (), "f.cu", 4, 4),
        ("c", "", ("x",), "f.cu", 5, 5),
        ("go", "C::go", (), "f.cu", 6, 6),
    ]


def test_text_and_lines_are_gits() -> None:
    unit = parse_cpp("f.cu", b"int a;\r\n\x0cint b;\xe2\x80\xa8\r\nint f() {\r\n}\r\n")
    assert len(unit.lines) == 4
    assert unit.text(1) == "int a;\r"
    assert (unit.functions[0].start_line, unit.functions[0].end_line) == (3, 4)


def test_calls_in_a_body_do_not_need_the_body_before() -> None:
    unit = parsed("void f() { g(); }")
    assert "body" not in vars(unit.functions[0])
    (stmt,) = unit.functions[0].body
    assert getattr(stmt, "value", None) == Call(Name("g"))
