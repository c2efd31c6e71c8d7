"""What it does
Derives what an index such as `step_idx` means to each buffer: whether it counts the tokens or is the last token's
position. The kernels that write a buffer and advance its index define it (`base = cur_step_idx - n; hist[base + i]`
makes it a count, `pre_ids[step_idx] = token` the last position). The tensors are followed through the Python callers
to every reader, and each reader's own addressing (`cur_step_idx - n`, `cur_step_idx + 1 - n`, loop bounds, guards) is
solved for the position it takes as the last one. After the change every reader, CPU reference, copy on other hardware
and test fixture that disagrees with its writer is named, in files that the change did not touch too.

Why it matters
FastDeploy #7370 made `unified_update_model_status` store the k-th token at `k - 1` instead of `k`. `ngram_match` still
took its pattern from `step_idx + 1 - n`, so that it held a slot nobody had written and never matched, until #7774 five
weeks later. In #7774 a reviewer asked whether the hybrid kernel, which keeps the old formula, should follow: it should
not, because it reads another buffer with another writer. The rule answers that question, once, with both writers' lines.

Example
    base = cur_step_idx - output_len;                     // the writer: the last token is at step_idx - 1
    for (...) token_ids_all_now[base + i] = out[i];
    ngram = cur_pre_ids + (cur_step_idx + 1 - ngram_size);  // the reader takes step_idx for the last token

Known limits
Only affine subscripts are solved; an index kept in a struct member between helpers, and a helper file that does not
name the index, are not followed. Buffers are told apart by the object that holds them and the key (`share_inputs`,
`model_inputs`); two names for one dict are two buffers. A writer that does not advance the index itself defines
nothing on its own. A fixture written as one literal is read by its padding and asked about, never called wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.change import ChangeSet
from checks.config import Config
from checks.finding import Finding, Side
from checks.semantics.answer import answered
from checks.semantics.conventions import Product
from checks.semantics.interpret import Watch
from checks.semantics.library import Library
from checks.semantics.pairs import Sides, copies, disagreements
from checks.semantics.phase import half_moved, too_early
from checks.semantics.report import ID
from checks.semantics.touched import Touched, ops_of, touched
from checks.semantics.trials import Trials, stale

SUMMARY = "An index is read with another meaning than the one its buffer's writer gives it"
INDICES = ("step_idx",)


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    """Every disagreement about an index that this change made or left behind."""
    watch = Watch(INDICES)
    found = touched(change, config, watch)
    if not found:
        return
    head = Product(Library(change, Side.HEAD, config, watch))
    base = Product(Library(change, Side.BASE, config, watch, head.library))
    sides = Sides(head, base, config)
    ops = _ops(sides, found)
    moved = {op for op in ops if sides.moved(op)}
    bound = {op for op in ops - moved if _rebound(sides, op)}
    yield from disagreements(sides, moved | bound)
    yield from copies(sides, moved)
    trials = Trials(head), Trials(base)
    yield from stale(sides, trials, moved, set(found.tests))
    callers = {(path, name) for path, names in found.product.items() for name in names}
    yield from too_early(sides, callers | _callers(head, ops))
    yield from half_moved(sides, ops, callers)
    yield from answered(sides, trials[0], moved, set(found.tests))


def _ops(sides: Sides, found: Touched) -> set[str]:
    """The ops that a changed kernel, wrapper or caller is about."""
    ops: set[str] = set()
    for path, names in found.cpp.items():
        for product in (sides.head, sides.base):
            ops |= ops_of(product.library, path, names)
    for path, names in found.product.items():
        for product in (sides.head, sides.base):
            ops |= {s.op for s in product.buffers.sites if s.path == path and s.function in names}
    return ops


def _callers(product: Product, ops: set[str]) -> set[tuple[str, str]]:
    return {(s.path, s.function) for op in ops for s in product.buffers.of(op)}


def _rebound(sides: Sides, op: str) -> bool:
    """Whether `op` gets other buffers than before."""
    now, then = (
        {(m.buffer, m.index, m.convention.role, m.facts.hardware) for m in side.meetings(op)}
        for side in (sides.head, sides.base)
    )
    return bool(now - then)


__all__ = ["ID", "SUMMARY", "run"]
