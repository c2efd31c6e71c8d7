"""The sentences of an analysis are true, and say what a reader of the change would: each case is
one that a real merge taught, in small.
"""

from __future__ import annotations

import re
import tomllib

import pytest

from bot.i18n.catalog import TEMPLATES
from tests.summary.sentences import analyse_trees, sentence_of, sentences_about

PATH = "fastdeploy/worker/box.py"


def of(before: str, after: str, path: str = PATH) -> list[str]:
    return sentences_about({path: before}, {path: after})


OVERLOADS = """template <typename T>
__global__ void hold_back(T *logits, const int rows) {
  if (threadIdx.x >= rows) return;
  logits[threadIdx.x] = -1e10;
}

template <>
__global__ void hold_back<half>(half *logits, const int rows) {
  if (threadIdx.x >= rows) return;
  logits[threadIdx.x] = -1e4;
}
"""


def test_a_specialisation_that_was_only_spaced_anew_is_not_compared_with_the_general_one():
    (said,) = of(OVERLOADS, OVERLOADS.replace(" *logits", "* logits"), "custom_ops/gpu_ops/hold.cu")
    assert said == "`hold_back`: nothing but layout and comments changed"


@pytest.mark.parametrize(
    "after",
    [
        "def put(rows):\n    # all of them\n    return list(\n        rows,\n    )\n",
        "def put(rows):\n\n    return list(rows)  # copied\n",
    ],
)
def test_comments_and_line_breaks_are_layout(after: str):
    assert of("def put(rows):\n    return list(rows)\n", after) == [
        "`put`: nothing but layout and comments changed"
    ]


def test_another_string_is_more_than_layout():
    said = of("def put(rows):\n    say('a b')\n", "def put(rows):\n    say('a-b')\n")
    assert said == ["`put`: the line `say('a b')` is `say('a-b')` now"]


def test_code_that_only_changed_its_layout_is_not_shown():
    spread = (
        "def put(rows):\n    return list(\n        rows,\n        size=1,\n        width=2,\n"
        "    )\n"
    )
    done = analyse_trees(
        {PATH: "def put(rows):\n    return list(rows, size=1, width=2)\n"}, {PATH: spread}
    )
    assert done.excerpts == ()


def test_names_exchanged_line_by_line_are_paired_in_their_order():
    before = 'save(\n    old["rows"],\n    old["lens"],\n    box["first"],\n)\n'
    after = 'save(\n    new["rows_cpu"],\n    new["lens_cpu"],\n    new["last_first"],\n)\n'
    said = " ".join(of(before * 2, after * 2))
    assert "`lens_cpu` stands where `lens` stood" in said
    assert "`first` stood" in said
    assert "`lens_cpu` stands where `first` stood" not in said


def test_of_two_bindings_that_became_one_nobody_can_tell_which_it_replaced():
    before = (
        'PYBIND11_MODULE(ops, m) {\n  m.def("take_rows", &TakeRows, "t");\n\n'
        '  m.def("drop_rows", &DropRows, "d");\n}\n'
    )
    after = (
        'PYBIND11_MODULE(ops, m) {\n  m.def("copy_all_rows",\n        &CopyAllRows,\n'
        '        "c");\n}\n'
    )
    said = of(before, after, "custom_ops/gpu_ops/bind.cc")
    assert not [s for s in said if "instead" in s or "stands where" in s]
    assert "`take_rows` is no longer bound for Python" in said
    assert "`drop_rows` is no longer bound for Python" in said


def test_a_function_of_a_library_replaces_no_name():
    before = "def make(n):\n    a = np.empty(n)\n    b = np.empty(n)\n    return a, b\n"
    said = of(before, before.replace("empty", "zeros"))
    assert not [s for s in said if "stands where" in s]


RENAMED = """class Box:
    def put(self):
        if self.old_method == Kind.ROWS:
            return 1
        return self.old_method
"""


def test_a_condition_in_which_only_a_name_was_exchanged_is_told_once():
    said = of(RENAMED, RENAMED.replace("old_method", "new_method"))
    assert said == [
        ("`new_method` stands where `old_method` stood; no product file has `old_method` any more")
    ]


SETTINGS = """class RowsConfig:
    _DEFAULTS = {
        "strategy": "top",
        "rows": 1,
    }

    def __init__(self):
        self.depth = 2
"""


def test_another_value_where_nobody_sets_it_touches_those_who_run_the_engine():
    path = "fastdeploy/config.py"
    after = SETTINGS.replace('"top"', '"match"').replace(
        "        self.depth = 2\n", "        self.depth = 2\n        self.eager: bool = False\n"
    )
    said = of(SETTINGS, after, path)
    assert "`strategy` of `RowsConfig` is `'match'` where nobody sets it, it was `'top'`" in said
    assert "`RowsConfig` has the new `eager`, which is `False` where nobody sets it" in said
    impacts = analyse_trees({path: SETTINGS}, {path: after}).impacts
    assert [i.who for i in impacts if i.claim.message.key.startswith("setting")] == [
        "operators",
        "operators",
    ]


def test_a_setting_that_was_worked_out_before_is_not_new():
    before = "class RowsConfig:\n    def __init__(self, depth):\n        self.depth = depth\n"
    assert not [
        s
        for s in of(before, before.replace("= depth", "= 4"))
        if "nobody sets it" in s and "new" in s
    ]


def test_a_new_way_out_is_told_for_all_that_have_it():
    kernel = (
        "__global__ void {}(int *out, const int *rows) {{\n  const int bi = rows[blockIdx.x];\n"
        "  out[bi] = 1;\n}}\n"
    )
    both = kernel.format("take") + kernel.format("drop")
    said = of(
        both,
        both.replace("  out[bi]", "  if (bi < 0) return;\n  out[bi]"),
        "custom_ops/gpu_ops/take.cu",
    )
    assert said == ["`take`, `drop` newly return where `bi < 0`"]


def test_a_way_out_that_was_written_anew_is_no_new_one():
    before = "def put(row, rows):\n    if row < 0:\n        return None\n    return rows[row]\n"
    said = of(before, before.replace("row < 0:", "row < 0 or row > 9:"))
    assert said == ["`put`: the condition `row < 0` is `row < 0 or row > 9` now"]


def test_waiting_in_a_loop_is_told():
    before = "def put(rows):\n    return rows\n"
    said = of(
        before, "def put(rows):\n    while rows.ready != 1:\n        sleep(1)\n    return rows\n"
    )
    assert "`put` newly loops while `rows.ready != 1`" in said


BOX = (
    "class Box:\n    def put(self, rows):\n        self.count = 1\n        self.spare.count = 2\n"
    "        return rows\n"
)


def test_state_is_new_only_where_the_function_did_not_name_it():
    said = of(
        BOX,
        BOX.replace("        return", "        self.width = 3\n        return").replace(
            "self.spare.count = 2", "self.spare.drop(2)"
        ),
    )
    (state,) = [s for s in said if "sets" in s]
    assert state == "`Box.put` now sets `self.width`, which it did not before"


HELPED = """class Box:
    def put(self, rows):
        self.reset()
        return rows

    def reset(self):
        self.count = 1
        self.spare.count = 2
"""


def test_what_a_function_that_it_calls_sets_for_it_is_not_lost():
    after = HELPED
    assert not [s for s in of(BOX, after) if "no longer sets" in s]


def test_a_statement_under_one_more_condition():
    before = "def put(box, rows):\n    box.count = rows\n    return rows\n"
    said = of(
        before,
        before.replace("    box.count = rows\n", "    if is_wide():\n        box.count = rows\n"),
    )
    assert "`put` sets `box.count` only where `is_wide()` now" in said


ROLE = """class Box:
    def start(self):
        self.role = self.given
        if is_wide():
            self.role = 'mixed'
"""


def test_a_case_that_went_is_told_though_the_value_is_set_elsewhere():
    before = ROLE
    said = of(before, before.partition("        if")[0])
    assert said == ["`Box.start` no longer sets `self.role` to `'mixed'` where `is_wide()`"]


def test_a_value_that_is_set_in_fewer_cases_now_is_not_told_as_new():
    before = "def put(box, n):\n    box.rows[0] = 1\n    box.rows[n] = 2\n    return n\n"
    said = of(
        before, before.replace("    box.rows[n] = 2\n", "    if n == 1:\n        box.rows[n] = 2\n")
    )
    assert "`put` sets `box.rows` only where `n == 1` now" in said
    assert not [s for s in said if "now sets" in s]


REFUSED = """class Box:
    def start(self):
        if self.kind == Kind.ROWS:
            # rows are not supported here yet
            self.maker = None
        elif self.kind == Kind.LINES:
            self.maker = make(self.kind)
        else:
            self.maker = None
"""
TAKEN = """class Box:
    def start(self):
        if self.kind is None:
            self.maker = None
            return
        self.maker = make(self.kind)
"""


def test_a_case_that_was_refused_and_is_not_any_more_is_a_risk_with_its_line():
    done = analyse_trees({PATH: REFUSED}, {PATH: TAKEN})
    (claim,) = done.dropped
    assert claim.message.args["test"] == "self.kind == Kind.ROWS"
    assert claim.message.args["note"] == "rows are not supported here yet"
    assert (claim.places[0].path, claim.places[0].start_line) == (PATH, 3)


def test_a_case_that_is_still_refused_under_another_name_is_none():
    after = REFUSED.replace("self.kind", "self.sort").replace("make(", "build(")
    assert (
        analyse_trees(
            {PATH: REFUSED + "USED = Box().kind\n"}, {PATH: after + "USED = Box().sort\n"}
        ).dropped
        == ()
    )


CALLER = """def swap_rows(row, a, b):
    row[a] = row[b]


def put(box, rows, kind):
    swap_rows(rows, box.first, kind.last)
"""


def test_another_argument_is_told_with_the_one_that_went():
    said = of(CALLER, CALLER.replace("kind.last", "box.last"))
    assert said == ["`put` passes `box.last` to `swap_rows` and no longer `kind.last`"]


def test_an_argument_that_stands_in_a_choice_now_did_not_go():
    said = of(CALLER, CALLER.replace("kind.last", "(box.last if box.wide else kind.last)"))
    assert not [s for s in said if "no longer" in s]


def test_what_is_called_for_one_thing_after_another_says_which_went():
    each = "".join(f"    swap(box.{n}, a, b)\n" for n in ("rows", "lens", "flags", "marks"))
    before = f"def swap(row, a, b):\n    row[a] = row[b]\n\n\ndef put(box, a, b):\n{each}"
    said = of(
        before, before.replace("    swap(box.flags, a, b)\n", "").replace("box.marks", "box.signs")
    )
    assert said == [
        (
            "`put` now calls `swap` for `box.signs` as well, and no longer calls `swap` for "
            "`box.flags`, `box.marks`"
        )
    ]


def test_calls_that_make_the_host_wait_are_told_though_nobody_here_defines_them():
    before = "def put(rows):\n    return rows.count\n"
    assert "`put` now calls `item`" in of(before, before.replace("rows.count", "rows.sum().item()"))


def test_what_a_new_function_brings_into_its_file():
    base = {
        PATH: "def put(rows):\n    return rows\n",
        "fastdeploy/other.py": "def verify_rows(rows):\n    return rows\n",
    }
    base["fastdeploy/other.py"] += "\n\ndef empty(rows):\n    return rows\n"
    after = (
        "def put(rows):\n    return rows\n\n\ndef draw_rows(rows):\n"
        "    return verify_rows(np.empty(rows))\n"
    )
    assert (
        "The new `draw_rows` calls `verify_rows`, which no function of its file called before"
        in sentences_about(base, {**base, PATH: after})
    )


LONG = """def put(box):
    if (
        not box.ready
        or box.kind is not None
        or box.wide
    ):
        return 1
    return 2
"""


def test_one_operand_of_a_long_condition():
    said = of(
        LONG, LONG.replace("or box.kind is not None", "or (box.kind is not None and box.deep)")
    )
    assert said == [
        "`put`: in a condition, `box.kind is not None` is `(box.kind is not None and box.deep)` now"
    ]


def test_code_that_another_function_calls_now_is_said_to_have_stood_elsewhere():
    steps = "".join(f"    rows = rows.step_{n}(rows.a{n}, rows.b{n})\n" for n in range(8))
    before = f"def run(rows):\n    rows.start()\n{steps}    return rows\n"
    after = (
        f"def run(rows):\n    rows.start()\n    return rows\n\n\ndef finish(rows):\n"
        f"{steps}    return rows\n"
    )
    (said,) = [s for s in of(before, after) if "finish" in s]
    assert said.startswith("`finish` is new; ")
    assert said.endswith("of its code stood in `run` before, which no longer has it")


def test_test_cases_that_came_and_went():
    path = "tests/worker/test_box.py"
    said = sentences_about(
        {path: "def test_old():\n    pass\n"},
        {path: "def test_new():\n    pass\n\n\nasync def test_more():\n    pass\n"},
    )
    assert said == [
        "2 test cases are new: `test_new`, `test_more`",
        "1 test case is gone: `test_old`",
    ]


def test_a_constant_that_went_from_one_file_is_told_with_the_file():
    base = {
        "custom_ops/a.cc": "#define ROWS 256\nint a;\n",
        "custom_ops/msg.h": "#define ROWS 256\n",
    }
    said = sentences_about(base, {**base, "custom_ops/a.cc": "int a;\n"})
    assert said == ["`custom_ops/a.cc` no longer defines `ROWS`, which was `#define ROWS 256`"]


def test_a_state_that_is_set_in_several_places_is_told_where_it_changed():
    before = (
        "def put(rows, n):\n    if n:\n        rows[n] = 1\n        return\n    rows[n] = take(n)\n"
    )
    assert "`put` sets `rows[n]` to `take(n + 1)`, it was `take(n)`" in of(
        before, before.replace("take(n)", "take(n + 1)")
    )


ROLLED = """__global__ void {0}_kernel(int *rows, int *rollback) {{
  rollback[threadIdx.x] = 0;
  rows[threadIdx.x] = 1;
}}
"""


def test_what_loses_the_same_parameter_is_one_step():
    kernel = ROLLED
    one, two = ({f"custom_ops/gpu_ops/{n}.cu": kernel.format(n)} for n in ("take", "drop"))
    went = {
        p: t.replace(", int *rollback", "").replace("  rollback[threadIdx.x] = 0;\n", "")
        for p, t in (one | two).items()
    }
    (step,) = analyse_trees(one | two, went).steps
    assert step.files == ("custom_ops/gpu_ops/drop.cu", "custom_ops/gpu_ops/take.cu")


def test_a_step_stays_small_enough_to_be_seen():
    text = "".join(
        (
            f"def step_{n}(rows):\n    return rows\n\n\ndef use_{n}(rows):\n"
            f"    return step_{n}(rows)\n\n\n"
        )
        for n in range(20)
    )
    after = text.replace("(rows)", "(rows, kind)")
    assert max(len(s.claims) for s in analyse_trees({PATH: text}, {PATH: after}).steps) <= 12


@pytest.mark.parametrize(
    ("after", "more", "touched"),
    [
        ("rows, kind=None", "", []),
        ("rows, box, kind=None", ", and stands at another place", ["developers"]),
    ],
)
def test_a_parameter_that_may_be_left_out_now_touches_who_passed_it_by_place(
    after: str, more: str, touched: list[str]
):
    before = after.replace("box, kind=None", "kind, box").replace("=None", "")
    base, head = ({PATH: f"def put_rows({p}):\n    return rows\n"} for p in (before, after))
    assert (
        f"The parameter `kind` of `put_rows` may be left out now (`kind=None`){more}"
        in sentences_about(base, head)
    )
    assert [i.who for i in analyse_trees(base, head).impacts] == touched


def test_test_cases_come_after_the_code_however_many_they_are():
    cases = "".join(f"def test_case_{n}():\n    pass\n\n\n" for n in range(9))
    base = {PATH: "def put_rows(rows):\n    return rows\n"}
    head = {PATH: "def put_rows(rows):\n    return list(rows)\n", "tests/test_other.py": cases}
    assert [s.name for s in analyse_trees(base, head).steps] == ["put_rows", "test_other"]


def test_what_two_files_say_alike_is_said_once_with_both_places():
    other = "fastdeploy/worker/xpu_box.py"
    made = "class Window:\n    def put(self, rows):\n        return rows\n"
    done = analyse_trees({PATH: "", other: ""}, {PATH: made, other: made})
    (claim,) = (c for c in done.summary if c.message.key == "class-added")
    assert [p.path for p in claim.places] == [PATH, other]
    in_steps = [c for step in done.steps for c in step.claims if c.message.key == "class-added"]
    assert {p.path for c in in_steps for p in c.places} == {PATH, other}


def test_a_sentence_that_tells_its_file_stands_once_for_each():
    other = "fastdeploy/worker/xpu_box.py"
    done = analyse_trees(
        {PATH: "ROWS = 4\n", other: "ROWS = 4\n"}, {PATH: "x = 1\n", other: "x = 1\n"}
    )
    gone = {
        sentence_of(c)
        for step in done.steps
        for c in step.claims
        if c.message.key == "constant-removed"
    }
    assert gone == {
        f"`{path}` no longer defines `ROWS`, which was `ROWS = 4`" for path in (PATH, other)
    }


def test_only_the_sentences_that_are_known_to_tell_their_file_do():
    words = tomllib.loads((TEMPLATES / "words" / "analysis.toml").read_text("utf-8"))
    telling = {
        key
        for key, said in words.items()
        if any(re.search(r"\{\{ *path\b", text) for text in said.values())
    }
    assert telling == {"binding-repeated", "constant-removed"}


ROWS = """def first(rows):
    return rows[0]


def last(rows):
    return rows[-1]


class Row:
    def width(self):
        return len(self.cells)

    def cut(self, width):
        self.cells = self.cells[:width]
"""
OLD_HOME, NEW_HOME = "fastdeploy/worker/box.py", "fastdeploy/worker/shelf.py"
USER = "from fastdeploy.worker.box import first\n\nused = first\n"


def moved(after: str) -> list[str]:
    """What is said of `ROWS` that went from one file to another, where it is `after`."""
    user = "fastdeploy/worker/user.py"
    base = {OLD_HOME: f"KEPT = 1\n\n\n{ROWS}", user: USER}
    head = {OLD_HOME: "KEPT = 1\n", NEW_HOME: after, user: USER.replace("box", "shelf")}
    return sentences_about(base, head)


def test_what_moved_together_is_one_sentence_and_neither_new_nor_gone():
    assert moved(ROWS) == [
        f"`first`, `last`, `Row` moved from `{OLD_HOME}` to `{NEW_HOME}`, the code as it was"
    ]


def test_what_moved_and_changed_is_told_apart():
    said = moved(ROWS.replace("[:width]", "[: width + 1]").replace("rows[-1]", "rows[-2]"))
    assert f"`first` moved from `{OLD_HOME}` to `{NEW_HOME}`, the code as it was" in said
    assert f"`last`, `Row` moved from `{OLD_HOME}` to `{NEW_HOME}`, and changed" in said
    rest = " ".join(said[2:])
    assert "width + 1" in rest
    assert "new" not in rest and "gone" not in rest


def test_a_class_of_which_a_copy_stays_has_not_moved():
    said = " ".join(sentences_about({OLD_HOME: ROWS}, {OLD_HOME: ROWS, NEW_HOME: ROWS}))
    assert "moved" not in said
    assert "The class `Row` is new" in said


def test_many_classes_of_a_file_are_one_sentence():
    rows = "".join(f"class Row{n}:\n    width = {n}\n\n\n" for n in range(10))
    said = of(ROWS, f"{ROWS}\n\n{rows}")
    names = ", ".join(f"`Row{n}`" for n in range(8))
    assert said == [f"10 classes are new: {names} and 2 more"]


def test_few_classes_of_a_file_are_told_apart():
    rows = "".join(f"class Row{n}:\n    width = {n}\n\n\n" for n in range(3))
    said = of(f"{ROWS}\n\n{rows}", ROWS)
    assert said == [f"The class `Row{n}` is gone" for n in range(3)]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("rows", "`put` now sets `rows` to `width + 1`"),
        ("cells", "`put` sets the new `cells` to `width + 1`"),
    ],
)
def test_a_parameter_that_is_set_is_not_new(target: str, said: str):
    before = "def put(rows, width):\n    return take(rows, width)\n"
    after = before.replace(
        "    return",
        f"    if width > 1:\n        log(width)\n        {target} = width + 1\n    return",
    )
    assert said in of(before, after)


def test_a_call_of_a_library_is_not_one_of_the_products_function_of_that_name():
    other = "def empty_rows(rows):\n    return rows\n\n\ndef fill_rows(rows):\n    return rows\n"
    before = "import numpy as np\n\n\ndef put(rows):\n    return rows\n"
    after = before.replace(
        "return rows", "rows = np.empty_rows(rows)\n    log(1)\n    return tools.fill_rows(rows)"
    )
    said = sentences_about({PATH: before, NEW_HOME: other}, {PATH: after, NEW_HOME: other})
    (calls,) = [s for s in said if "calls" in s]
    assert calls == "`put` now calls `fill_rows`"


def test_a_file_with_another_path_alone():
    done = analyse_trees({OLD_HOME: ROWS}, {NEW_HOME: ROWS}, {NEW_HOME: OLD_HOME})
    assert [sentence_of(claim) for claim in done.headline] == [
        "The file `box.py` is called `shelf.py` now, and is as it was"
    ]
    assert [claim.message.key for step in done.steps for claim in step.claims] == ["file-renamed"]


def test_files_of_another_folder_are_one_sentence():
    other = OLD_HOME.replace("box", "rack")
    base = {OLD_HOME: ROWS, other: f"KEPT = 1\n{ROWS}"}
    was = {path.replace("worker", "engine"): path for path in base}
    head = {new: base[old] for new, old in was.items()}
    assert sentences_about(base, head, was) == [
        "`box.py`, `rack.py` moved from `fastdeploy/worker` to `fastdeploy/engine`, unchanged"
    ]


def test_the_methods_of_a_class_come_and_go_with_it():
    alone = "KEPT = 1\n"
    assert of(alone, f"{alone}\n\n{ROWS}") == [
        "The function `first` is new",
        "The function `last` is new",
        "The class `Row` is new",
    ]
    assert of(f"{alone}\n\n{ROWS}", alone)[-1] == "The class `Row` is gone"
    assert "width" not in " ".join(of(f"{alone}\n\n{ROWS}", alone))


TABLE = """MODELS = {
    "plain": ("plain", "Plain"),
    "draft": ("draft", "Draft"),
}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("}\n", '    "tree": ("tree", "Tree"),\n}\n', "`MODELS` has the new `tree`"),
        ('    "plain": ("plain", "Plain"),\n', "", "`MODELS` no longer has `plain`"),
        ('"Draft")', "None)", "`MODELS` has another value for `draft`"),
        ('"draft":', '"tree":', "`MODELS` has the new `tree`, and no longer has `draft`"),
    ],
)
def test_what_changed_in_a_table(old: str, new: str, said: str):
    assert of(TABLE, TABLE.replace(old, new)) == [said]


def test_what_changed_in_a_list():
    before = "NAMES = [\n    'plain',\n]\n"
    assert of(before, before.replace("]", "    'draft',\n]")) == ["`NAMES` has the new `draft`"]


def test_a_table_that_came_or_went_is_not_quoted_by_its_first_line():
    kept = "KEPT = 1\n"
    assert of(kept, kept + TABLE) == ["`MODELS` is new"]
    assert of(kept + TABLE, kept) == [f"`{PATH}` no longer defines `MODELS`"]


def test_a_table_of_which_no_entry_can_be_told():
    before = "ROWS = dict(\n    width=1,\n)\n"
    assert of(before, before.replace("1", "2")) == ["What is in `ROWS` changed"]
