"""Which files say what a message is, and who speaks of it."""

from __future__ import annotations

import pytest

from checks.core.change import ChangeSet
from checks.core.config import load
from checks.core.tree import MemoryTree
from checks.domain.messages import Messages

MESSAGE = "struct note {\n  long kind;\n  int words[4];\n};\n"
SENDER = '#include "way.h"\nvoid put(int id) {\n  note a, b;\n  msgsnd(id, &b, sizeof(b), 0);\n}\n'


def messages(**files: str) -> Messages:
    tree = MemoryTree(
        {f"{name}.{'cc' if name == 'put' else 'h'}": text for name, text in files.items()}
    )
    return Messages(ChangeSet(MemoryTree({}), tree, ()), load(None))


def test_a_struct_is_found_through_a_header_that_does_not_name_it() -> None:
    known = messages(put=SENDER, way='#pragma once\n#include "far.h"\n', far=MESSAGE)
    (end,) = known.ends_of_struct("note")
    assert (end.struct.path, end.variable, end.role) == ("far.h", "b", "send")


def test_the_nearest_definition_counts() -> None:
    other = MESSAGE.replace("words[4]", "text[8]")
    known = messages(put=SENDER, way=f'#include "far.h"\n{other}', far=MESSAGE)
    (end,) = known.ends_of_struct("note")
    assert [m.name for m in end.struct.members] == ["kind", "text"]


@pytest.mark.parametrize("name", ["int", "float", "const unsigned long", "", "note *"])
def test_a_number_is_no_struct(name: str) -> None:
    known = messages(put=SENDER, way=MESSAGE)
    unit = known.change.unit("put.cc")
    assert unit is not None
    assert (known.structs.find(name, unit) is not None) == name.startswith("note")


@pytest.mark.parametrize(
    "body",
    [
        "msgsnd(id, &id, 4, 0);\n  note a;\n  a.kind = 1;",
        "note* a = make();\n  msgsnd(id, a, 4, 0);",
    ],
)
def test_a_variable_that_is_not_handed_on_is_no_message(body: str) -> None:
    known = messages(put=f'#include "way.h"\nvoid put(int id) {{\n  {body}\n}}\n', way=MESSAGE)
    assert not list(known.ends_of_struct("note"))
