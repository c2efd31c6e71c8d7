"""What is predicted of a test holds for whatever the unknown gives: Python itself runs it."""

import itertools
import random
import textwrap

from hypothesis import given, settings
from hypothesis import strategies as st

from checks.eval.interpreter.machine import TestInterpreter
from checks.eval.interpreter.modules import Modules
from checks.eval.interpreter.program import PatchedModules
from checks.lang.python.parse import parse_python

RUNS = 12

# `flag`, `many` and `lock` come from where the interpreter sees nothing.
MODULE = """
from elsewhere import flag, lock, many


class Guard:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return True


class Thing:
    def __init__(self):
        self.n = 0
        self.items = [1]
        self.table = {{"a": 1}}

    def touch(self):
{touch}
        return self.n

    def work(self):
{work}
        return self.n
"""

TEST = """
from app.thing import Thing


def test():
    thing = Thing()
    result = thing.work()
    assert result == {result}
    assert thing.n == {n}
    assert len(thing.items) == {items}
    assert thing.table["a"] == {entry}
    thing.touch()
    assert thing.n == {n}
"""
FIRST_LINE = TEST.splitlines().index("    thing = Thing()") + 1

NUMBERS = st.integers(0, 3)
SIMPLE = st.one_of(
    NUMBERS.map("self.n = {}".format),
    NUMBERS.map("self.items.append({})".format),
    NUMBERS.map("self.items[{}]".format),
    NUMBERS.map('self.table["a"] = {}'.format),
    st.sampled_from(
        [
            *("self.n += 1", "self.n += len(self.items)", "self.n = flag()"),
            *("self.items.pop()", "self.items.clear()", "self.items = []"),
            *('self.table.pop("a", None)', 'self.table["a"]', 'setattr(self, "n", 3)'),
            *("self.n = 2 if flag() else len(self.items)", "flag() and self.items.append(2)"),
            *(
                "flag() or self.items.clear()",
                "self.items.pop() if flag() else setattr(self, 'n', 1)",
            ),
            *("return self.n", "return 0", 'raise ValueError("no")'),
        ]
    ),
)
CONDITIONS = st.sampled_from(["flag()", "not flag()", "self.n == 1", "self.items", "flag() > 1"])
LOOPS = st.sampled_from(
    ["for i in range(2)", "for i in many()", "while flag()", "for i in self.items[:2]"]
)
BLOCKS = st.sampled_from(["with lock()", "with Guard()", "if True"])
JUMPS = st.sampled_from(["break", "continue", "return 1"])
HANDLERS = st.sampled_from(["except IndexError", "except Exception", "finally"])


KINDS = ("simple", "if", "else", "loop", "jump", "block", "try")


def _indented(lines):
    return textwrap.indent("\n".join(lines), "    ")


@st.composite
def _statement(draw, depth, calls):
    """A statement with at most `depth` blocks inside each other."""
    kind = draw(st.sampled_from(KINDS)) if depth else "simple"
    if kind == "simple":
        return draw(SIMPLE | st.just("self.touch()") if calls else SIMPLE)
    bodies = st.lists(_statement(depth - 1, calls), min_size=1, max_size=3)
    body, other = _indented(draw(bodies)), _indented(draw(bodies))
    match kind:
        case "if":
            return f"if {draw(CONDITIONS)}:\n{body}"
        case "else":
            return f"if {draw(CONDITIONS)}:\n{body}\nelse:\n{other}"
        case "loop":
            return f"{draw(LOOPS)}:\n{body}"
        case "jump":
            jump = f"    if flag():\n        {draw(JUMPS)}"
            return f"{draw(LOOPS)}:\n{body}\n{jump}\n{other}"
        case "block":
            return f"{draw(BLOCKS)}:\n{body}"
        case _:
            return f"try:\n{body}\n{draw(HANDLERS)}:\n{other}"


def _method(calls):
    return st.lists(_statement(3, calls), min_size=1, max_size=4).map("\n".join)


class _Lock:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def _run(module, test, seed):
    """The failures of the test's statements, each run after the last whatever that raised."""
    chance = random.Random(seed)
    given = itertools.count()

    def flag():
        # At most so many are true, so that every `while` ends.
        return next(given) < 40 and chance.choice([False, True, True])

    def many():
        return range(chance.randrange(3))

    elsewhere = {"flag": flag, "many": many, "lock": _Lock}
    names = {}
    exec(
        compile(module.replace("from elsewhere import flag, lock, many", ""), "m", "exec"),
        elsewhere,
    )
    names["Thing"] = elsewhere["Thing"]
    failures = []
    for line, statement in enumerate(test.splitlines()[FIRST_LINE - 1 :], FIRST_LINE):
        try:
            exec(statement.strip(), names)
        except Exception as error:
            failures.append((type(error).__name__, line))
    return failures


@settings(derandomize=True, deadline=None, max_examples=200)
@given(_method(calls=False), _method(calls=True), *[NUMBERS] * 4)
def test_what_is_predicted_comes_true(touch, work, result, n, items, entry):
    module = MODULE.format(
        touch=textwrap.indent(touch, " " * 8), work=textwrap.indent(work, " " * 8)
    )
    test = TEST.format(result=result, n=n, items=items, entry=entry)
    files = {"app/thing.py": module, "tests/test_it.py": test}
    units = {path: parse_python(path, text.encode()) for path, text in files.items()}
    machine = TestInterpreter(
        PatchedModules(Modules(units.get)),
        lambda path, start, end: True,
        lambda path: path.startswith("tests/"),
    )
    machine.run(units["tests/test_it.py"].functions[0], units["tests/test_it.py"])
    for seed in range(RUNS):
        failures = _run(module, test, seed)
        for failure in machine.failures:
            # Where something else is raised before, the test ends there.
            assert any(line <= failure.line for _, line in failures), (failure, failures)
