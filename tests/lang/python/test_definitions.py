"""What a Python file defines, and where."""

from __future__ import annotations

from checks.lang.ir.expr import Attr, Binary, Const, Name
from checks.lang.ir.source_file import Param
from checks.lang.python.parse import parse_python

SOURCE = b'''\
# One block
# of two lines.
import a.b as m
from enum import IntEnum
from ..pkg import K as LIMIT, other

if platform.is_cuda():
    from ops.gpu import pack
elif platform.is_xpu():
    from ops.xpu import pack
else:
    from ops.cpu import pack
try:
    import fast
except ImportError:
    fast = None

WIDTH = 4  # trailing
LOW, HIGH = 1, WIDTH
LEFT = RIGHT = 7
SIZE: int = WIDTH * 2
SIZE += 1
TEXT = "# not a comment"


class Flag(IntEnum):
    FIRST = 3
    SECOND = FIRST + 1


class Deeper(Flag):
    THIRD = 5


@dataclass
class Request:
    seed: int
    top_k: int = 20

    @property
    @cached("x")
    def width(self, first, /, second: int = WIDTH, *rest, only: str = "a", **more) -> int:
        """How wide."""
        import late

        def inner():
            return 1

        return inner()


async def serve():
    local = 3
'''

UNIT = parse_python("pkg/m.py", SOURCE)


def constant(name: str, owner: str = "") -> tuple[object, str, int]:
    (found,) = [c for c in UNIT.constants if (c.name, c.owner) == (name, owner)]
    return found.value, found.kind, found.line


def test_constants() -> None:
    assert constant("WIDTH") == (Const(4), "assign", 18)
    assert constant("LOW")[0] == Const(1)
    assert constant("HIGH")[0] == Name("WIDTH")
    assert constant("RIGHT")[0] == Const(7)
    assert constant("FIRST", "Flag") == (Const(3), "enum", 27)
    assert constant("THIRD", "Deeper")[1] == "enum"
    assert constant("top_k", "Request")[:2] == (Const(20), "field")
    assert constant("seed", "Request")[0] is None
    assert not [c for c in UNIT.constants if c.name == "local"]


def test_a_constant_that_is_changed_has_two_definitions() -> None:
    sizes = [c for c in UNIT.constants if c.name == "SIZE"]
    assert [c.value for c in sizes] == [
        Binary("*", Name("WIDTH"), Const(2)),
        Binary("+", Name("SIZE"), Const(1)),
    ]
    assert sizes[0].type == "int"


def test_imports_and_their_guards() -> None:
    found = [(i.module, i.name, i.alias, i.guard, i.function) for i in UNIT.imports]
    assert found == [
        ("a.b", "", "m", "", ""),
        ("enum", "IntEnum", "", "", ""),
        ("..pkg", "K", "LIMIT", "", ""),
        ("..pkg", "other", "", "", ""),
        ("ops.gpu", "pack", "", "platform.is_cuda()", ""),
        ("ops.xpu", "pack", "", "not (platform.is_cuda()) and platform.is_xpu()", ""),
        ("ops.cpu", "pack", "", "not (platform.is_cuda()) and not (platform.is_xpu())", ""),
        ("fast", "", "", "try", ""),
        ("late", "", "", "", "Request.width"),
    ]


def test_functions() -> None:
    found = {f.qualname: f for f in UNIT.functions}
    assert list(found) == ["Request.width", "Request.width.inner", "serve"]
    width = found["Request.width"]
    assert (width.owner, width.name, width.returns, width.doc) == (
        "Request", "width", "int", "How wide.",
    )  # fmt: skip
    assert width.marks == ("property", 'cached("x")')
    assert UNIT.lines[width.start_line - 1].strip() == "@property"
    assert UNIT.lines[width.end_line - 1].strip() == "return inner()"
    assert found["serve"].marks == ("async",)
    inner = found["Request.width.inner"]
    assert inner.owner == ""
    assert UNIT.function_at(inner.start_line) is inner


def test_parameters() -> None:
    (width,) = UNIT.named("Request.width")
    assert [(p.name, p.type, p.default, p.kind) for p in width.params] == [
        ("self", "", None, "positional"),
        ("first", "", None, "positional"),
        ("second", "int", Name("WIDTH"), "positional"),
        ("rest", "", None, "args"),
        ("only", "str", Const("a"), "keyword"),
        ("more", "", None, "kwargs"),
    ]
    assert isinstance(width.params[0], Param)


def test_classes() -> None:
    assert [(c.name, c.bases, c.decorators) for c in UNIT.classes] == [
        ("Flag", ("IntEnum",), ()),
        ("Deeper", ("Flag",), ()),
        ("Request", (), ("dataclass",)),
    ]


def test_comments() -> None:
    found = [(c.text, c.line, c.end_line) for c in UNIT.comments]
    assert found == [("One block\nof two lines.", 1, 2), ("trailing", 18, 18)]


def test_a_dotted_value_keeps_its_names() -> None:
    unit = parse_python("m.py", b"X = cfg.a.b\n")
    assert unit.constants[0].value == Attr(Attr(Name("cfg"), "a"), "b")
