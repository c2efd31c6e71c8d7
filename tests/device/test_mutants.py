"""Where mistakes are put into device code."""

from __future__ import annotations

from bot.device.mutants import mutants_of

_TEXT = """/* the first line counts 0
   and 1 is > 0 too */
#define ONE 1
values[i] = 0;  // of 1
print("0", values /* 1 */);
"""


def test_no_mistake_is_put_into_a_comment() -> None:
    found = [(mutant.line, mutant.after) for mutant in mutants_of("a.cu", _TEXT, range(1, 6))]
    assert found == [(4, "values[i] = 1;  // of 1"), (4, "values[i + 1] = 0;  // of 1")]
