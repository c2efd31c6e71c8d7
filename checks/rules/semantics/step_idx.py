"""An index is read with another meaning than the one its buffer's writer gives it.

## What it does

Derives what an index such as `step_idx` means to each buffer: whether it counts the tokens or is the last token's
position. The kernels that write a buffer and advance its index define it (`base = cur_step_idx - n; hist[base + i]`
makes it a count, `pre_ids[step_idx] = token` the last position). The tensors are followed through the Python callers
to every reader, and each reader's own addressing (`cur_step_idx - n`, `cur_step_idx + 1 - n`, loop bounds, guards) is
solved for the position it takes as the last one. After the change every reader, CPU reference, copy on other hardware
and test fixture that disagrees with its writer is named, in files that the change did not touch too. A reader that the
change corrects is looked for on other hardware, where its op or file may carry the hardware's name, and its copy held
against that hardware's own writer. An op is named too that takes a round's tokens off the index
(`step_idx - accept_num`) and is called before they are added to it.

## Why it matters

PaddlePaddle/FastDeploy#7370 made `unified_update_model_status` store the k-th token at `k - 1` instead of `k`.
`ngram_match` still took its pattern from `step_idx + 1 - n`, so that it held a slot nobody had written and never
matched, until #7774 five weeks later. There a reviewer asked whether the hybrid kernel, which keeps the old formula,
should follow: it should not, because it reads another buffer with another writer. The rule answers that once, with the
lines of both writers. #6685 moved the advance behind two kernels that subtract the round's tokens; it took #6825 and
#7166 to mend them.

## Example

```cuda
base = cur_step_idx - output_len;                       // the writer: the last token is at step_idx - 1
for (int i = 0; i < output_len; i++) hist[base + i] = out[i];
ngram = cur_pre_ids + (cur_step_idx + 1 - ngram_size);  // the reader takes step_idx for the last token
```

## Known limits

Only affine subscripts are solved; an index kept in a struct member between helpers, and a change in a helper file that
does not name the index, are not followed. Buffers are told apart by the object that holds them and the key
(`share_inputs`, `model_inputs`); two names for one dict are two buffers. A writer that does not advance the index
itself defines nothing on its own. A new fixture, or one written as a literal or element by element, is asked about and
never called wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Finding, Side
from checks.domain.indices.buffers import calls, words
from checks.domain.indices.conventions import Product
from checks.domain.indices.op_index import Library
from checks.domain.indices.relevance import Touched, ops_of, touched
from checks.eval.symbolic.interpret import Watch
from checks.lang.ir.expr import Call
from checks.rules.semantics._bound_conventions import Sides, copies, disagreements
from checks.rules.semantics._fixture_checks import Trials, stale
from checks.rules.semantics._op_order import half_moved, too_early
from checks.rules.semantics._report import ID
from checks.rules.semantics._sibling_answer import answered
from checks.rules.semantics._sibling_ops import left_behind
from checks.rules.semantics._stale_tests import outdated


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Every disagreement about an index that this change made or left behind."""
    watch = Watch(config.semantics.index)
    found = touched(change, config, watch)
    if not found:
        return
    head = Product(Library(change, Side.HEAD, config, watch))
    base = Product(Library(change, Side.BASE, config, watch, head.library))
    sides = Sides(head, base, config)
    ops = {
        op
        for path, names in found.cpp.items()
        for side in (head, base)
        for op in ops_of(side.library, path, names)
    }
    moved = {op for op in ops if sides.moved(op)}
    bound, callers = _called_otherwise(sides, found)
    trials = Trials(head), Trials(base)
    told = list(disagreements(sides, moved | bound))
    told += _elsewhere(stale(sides, trials, moved, set(found.tests)), told)
    told += _elsewhere(outdated(sides, trials[0], moved), told)
    told += _elsewhere(left_behind(sides, moved), told)
    told += _elsewhere(copies(sides, moved), told)
    yield from told
    yield from too_early(sides, ops, callers)
    yield from half_moved(sides, ops)
    yield from answered(sides, trials[0], moved, set(found.tests))


def _elsewhere(findings: Iterator[Finding], told: list[Finding]) -> list[Finding]:
    """Those of `findings` that do not say again, from other evidence, what was said about the same line."""
    places = {f.location for f in told}
    return [f for f in findings if f.location not in places]


def _called_otherwise(sides: Sides, found: Touched) -> tuple[set[str], set[tuple[str, str]]]:
    """Ops that a changed Python function gives other arguments, and functions in which the calls differ at all."""
    ops: set[str] = set()
    functions: set[tuple[str, str]] = set()
    for path, names in found.product.items():
        old = sides.was(path)
        changed = {
            n
            for n in names
            if _index_calls(sides.head, path, n) != _index_calls(sides.base, old, n)
        }
        if changed:
            now = sides.head.buffers.within(path, changed)
            then = [s.call for s in sides.base.buffers.within(old, changed)]
            functions |= {(s.path, s.function) for s in now}
            ops |= {s.op for s in now if s.call not in then}
    return ops, functions


def _index_calls(side: Product, path: str, name: str) -> list[Call]:
    """The calls of a Python function that are given an index, in order; known without knowing what an op is."""
    unit, watch = side.library.unit(path), side.library.watch
    if unit is None:
        return []
    found: list[Call] = []
    for function in unit.named(name):
        numbered = enumerate(
            unit.lines[function.start_line - 1 : function.end_line], function.start_line
        )
        lines = [n for n, text in numbered if any(index in text for index in watch.names)]
        found += (
            [c for c in calls(function.body, lines) if any(map(watch, words(c)))] if lines else ()
        )
    return found


__all__ = ["ID", "run"]
