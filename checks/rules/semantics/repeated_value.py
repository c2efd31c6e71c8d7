"""Two names that differ in one word get the same value, which has only one of the two words.

## What it does

Looks at neighbouring assignments, of which the change wrote at least one: the targets differ in one
word (`layer_name`, `step_name`), the values are equal, and they name something with the word of one
target and nothing with that of the other.

## Why it matters

`PaddlePaddle/FastDeploy#3598` gave `prefilled_layer_name` the text `..._prefilled_step_...` of the
line below it, so that two signals shared one piece of memory, until #3879.

## Example

```python
layer_name = f"prefilled_step_{rank}"
step_name = f"prefilled_step_{rank}"      # copied, and one of them was not adapted
```

## Known limits

Only one value each is compared, of assignments that follow each other. What the value should have
named has to be there: where the tree has no `layer.v_scale`, `v_scale = layer.k_scale` is meant. A
value that is a plain name is left out: `end = start` is how loops begin. So are a new tensor, of
which only sizes are named, and what replaces names of an imported module: one stand-in may do for
several. A text counts as chosen where a line of the tree lists it beside the one that it should
have been: `CHOICES = ["fast_prefill", "fast_decode"]`. A name of several words counts where it has
one that both targets have too. The `k` of `kSize` is taken for the sign of a constant, and single
letters of names like `BLOCK_M` for dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from checks.core.change import ChangeSet
from checks.core.changed import ChangedFunction, changed_functions
from checks.core.code import equal_code
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Location, Severity
from checks.core.words import has_word, name_parts
from checks.lang.ir import expr as E
from checks.lang.ir.source_file import SourceFile
from checks.lang.ir.stmt import Assign, Stmt, blocks

ID = "semantics.repeated-value"

# The `k` of `kBatchSize` says that it is a constant.
_CONSTANT = re.compile(r"\bk(?=[A-Z])")
_FORMS = frozenset({"shape", "size", "dtype", "device", "numel", "place"})
# They make a tensor of its own, and are told no more than its sizes.
_NEW_TENSORS = frozenset({"empty", "full", "ones", "rand", "randint", "randn", "zeros"})


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """One finding for each pair, at the assignment whose word the value lacks."""
    for changed in changed_functions(change, config):
        for body in blocks(changed.head.body):
            for first, second in pairwise(body):
                yield from _repetitions(first, second, changed, change)


def _repetitions(
    first: Stmt, second: Stmt, changed: ChangedFunction, change: ChangeSet
) -> Iterator[Finding]:
    if not isinstance(first, Assign) or not isinstance(second, Assign):
        return
    if (first.op, second.op) != ("=", "=") or first.value is None or second.value is None:
        return
    if not changed.touched(first.line, second.end_line):
        return
    if _is_of_import(first.target, changed.unit):
        return
    words = _differing_words(first.target, second.target)
    if words is None or not _gives_same(first.target, first.value, second.value):
        return
    one, other = words
    # A word that both targets have the value may have from either.
    if {one, other} & _shared_words(first.target, second.target):
        return
    named = set(_words_in(first.value, _shared_words(first.target, second.target)))
    if one in named and other not in named:
        wrong, right, word, lacking = second, first, one, other
    elif other in named and one not in named:
        wrong, right, word, lacking = first, second, other, one
    else:
        return
    if _could_name(lacking, word, first.value, changed, change):
        yield _finding(wrong, right, word, changed)


def _could_name(
    lacking: str, named: str, value: E.Expr, changed: ChangedFunction, change: ChangeSet
) -> bool:
    """Whether the value with `lacking` in place of `named` would be something: a text is, a name or
    an attribute has to be known."""
    word = re.compile(rf"(?<![A-Za-z]){named}(?![A-Za-z])", re.IGNORECASE)
    for part in E.walk(value):
        match part:
            case E.Name(id=text) if word.search(text):
                wanted = word.sub(lacking.upper() if text.isupper() else lacking, text)
                if has_word(changed.unit.text_of(changed.head), wanted):
                    return True
            case E.Attr(base=base, name=text) if word.search(text):
                if _has_attribute(base, word.sub(lacking, text), changed, change):
                    return True
            case E.Const(value=str() as text) if part is value and word.search(text):
                return not _are_choices(text, word.sub(lacking, text), change)
            case E.Unknown(text=text) | E.Const(value=str() as text) if word.search(text):
                return True
            case _:
                pass
    return False


def _are_choices(text: str, other: str, change: ChangeSet) -> bool:
    """Whether one line of the tree lists both texts: either target may have either of them."""
    first, second = (re.compile(rf"[\"']{re.escape(each)}[\"']") for each in (text, other))
    words = [part for part in re.findall(r"\w+", text)]
    for match in change.head.find(max(words, key=len), ""):
        if first.search(match.text) and second.search(match.text):
            return True
    return False


def _has_attribute(base: E.Expr, name: str, changed: ChangedFunction, change: ChangeSet) -> bool:
    """Whether somebody reads the attribute of something that is called like `base`, or did so
    before the change."""
    owner = (E.dotted(base) or "").rpartition(".")[2]
    read = re.compile(rf"\b{re.escape(owner)}(\.|->){re.escape(name)}\b")
    for tree in (change.head, change.base):
        if any(read.search(match.text) for match in tree.find(name, changed.unit.language)):
            return True
    return False


def _is_of_import(target: E.Expr, unit: SourceFile) -> bool:
    """Whether a name of another module is replaced: one stand-in may do for several."""
    owner = (E.dotted(target) or "").partition(".")[0]
    bound = {item.alias or item.name or item.module.partition(".")[0] for item in unit.imports}
    return owner in bound


def _gives_same(target: E.Expr, value: E.Expr, again: E.Expr) -> bool:
    if isinstance(value, E.Name) or _is_made_like(value):
        return False
    # What the first assignment changes is another value in the second.
    if target in E.walk(value):
        return False
    return equal_code(value, again)


def _is_made_like(value: E.Expr) -> bool:
    """Whether something new is made that only has the form of what is named: `zeros_like(x)`, also
    a list of such."""
    for part in E.walk(value):
        if isinstance(part, E.Call) and _makes_tensor(E.callee(part)):
            return True
        if isinstance(part, E.Attr) and part.name in _FORMS:
            return True
        if isinstance(part, E.Name) and part.id.endswith("_shape"):
            return True
    return False


def _makes_tensor(name: str) -> bool:
    return name in _NEW_TENSORS or name.endswith("_like")


def _differing_words(first: E.Expr, second: E.Expr) -> tuple[str, str] | None:
    """The one word in which two dotted targets differ, as each has it."""
    words = name_parts(E.dotted(first) or "")
    others = name_parts(E.dotted(second) or "")
    if len(words) != len(others):
        return None
    pairs = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    return pairs[0] if len(pairs) == 1 else None


def _shared_words(first: E.Expr, second: E.Expr) -> set[str]:
    """The words that stand in both targets."""
    return set(name_parts(E.dotted(first) or "")) & set(name_parts(E.dotted(second) or ""))


def _words_in(value: E.Expr, shared: set[str]) -> Iterator[str]:
    """The words of the names in `value` that may stand for a target: those that have nothing but
    one word, or a word that both targets have; and the words of its texts.

    Those of keywords are the callee's, and `hidden_size` is no word for `norm_hidden`.
    """
    for part in E.walk(value):
        match part:
            case E.Name(id=text) | E.Attr(name=text) if text.isupper():
                # The letter of `BLOCK_M` is a dimension's.
                yield from _words_of_name(text, shared, shortest=2)
            case E.Name(id=text) | E.Attr(name=text):
                yield from _words_of_name(_CONSTANT.sub("", text), shared)
            case E.Unknown(text=text) | E.Const(value=str() as text):
                yield from name_parts(text)
            case _:
                pass


def _words_of_name(name: str, shared: set[str], shortest: int = 1) -> list[str]:
    words = name_parts(name)
    if len(words) > 1 and not shared.intersection(words):
        return []
    return [word for word in words if len(word) >= shortest]


def _finding(wrong: Assign, right: Assign, word: str, changed: ChangedFunction) -> Finding:
    return changed.finding(
        ID,
        wrong,
        "repeated",
        severity=Severity.SUGGESTION,
        confidence=Confidence.MEDIUM,
        name=E.dotted(wrong.target),
        other=E.dotted(right.target),
        word=word,
        at=Location(changed.unit.path, right.line),
    )
