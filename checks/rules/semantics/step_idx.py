"""An index is read with another meaning than the one its buffer's writer gives it.

## What it does

Derives what an index such as `step_idx` means to each buffer: whether it counts the tokens or is
the last token's position. The kernels that write a buffer and advance its index define it (`base =
cur_step_idx - n; hist[base + i]` makes it a count, `pre_ids[step_idx] = token` the last position).
The tensors are followed through the Python callers to every reader, and each reader's own
addressing (`cur_step_idx - n`, `cur_step_idx + 1 - n`, loop bounds, guards) is solved for the
position it takes as the last one. After the change every reader that disagrees with its writer is
named, in files that the change did not touch too.

## Why it matters

PaddlePaddle/FastDeploy#7370 made `unified_update_model_status` store the k-th token at `k - 1`
instead of `k`. `ngram_match` still took its pattern from `step_idx + 1 - n`, so that it held a slot
nobody had written and never matched, until #7774 five weeks later.

## Example

```cuda
// the writer: the last token is at step_idx - 1
base = cur_step_idx - output_len;
for (int i = 0; i < output_len; i++) hist[base + i] = out[i];
// the reader takes step_idx for the last token
ngram = cur_pre_ids + (cur_step_idx + 1 - ngram_size);
```

## Known limits

Only affine subscripts are solved; an index kept in a struct member between helpers, and a change in
a helper file that does not name the index, are not followed. Buffers are told apart by the object
that holds them and the key (`share_inputs`, `model_inputs`); two names for one dict are two
buffers. A writer that does not advance the index itself defines nothing on its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Confidence, Finding, Message, Severity
from checks.domain.indices.conventions import BoundConvention
from checks.rules.semantics import _report
from checks.rules.semantics._comparison import IndexComparison, compare_indices
from checks.rules.semantics._opposed_readers import has_own_writer, opposed_readers

ID = "semantics.step-idx"


def run(change: ChangeSet, config: Config) -> Iterator[Finding]:
    indices = compare_indices(change, config)
    if indices is not None:
        yield from find_wrong_readers(indices)


def find_wrong_readers(indices: IndexComparison) -> Iterator[Finding]:
    """One finding for each reader and writer that disagree since the change."""
    for reader, writer in opposed_readers(indices):
        yield _finding(indices, reader, writer)


def _finding(indices: IndexComparison, reader: BoundConvention, writer: BoundConvention) -> Finding:
    library = indices.head.library
    proved = _is_proved(indices, reader, writer)
    access = reader.convention.access
    args = {
        "function": access.function,
        "op": reader.facts.name,
        "buffer": reader.buffer,
        "reads": _report.position(reader.convention.index, reader.offset),
        "writes": _report.position(writer.convention.index, writer.offset),
        "writer": writer.convention.access.function,
        "meaning": _report.meaning(writer.offset),
        "beyond": _reads_beyond(reader, writer),
        "index": reader.convention.index,
    }
    place = _report.meeting_location(reader)
    finding = Finding(
        rule=ID,
        severity=Severity.BUG if proved else Severity.QUESTION,
        confidence=Confidence.HIGH if proved else Confidence.MEDIUM,
        location=place,
        message=Message("reader", args),
        symbol=access.function,
        subject=_report.excerpt(library, place),
        evidence=(_report.last_position(library, writer), _report.last_position(library, reader)),
        related=_report.call_sites(reader, writer),
    )
    if not proved:
        return finding
    gap = writer.offset.const - reader.offset.const
    return finding.with_fix(_report.shift_fix(library, finding.location, gap))


def _reads_beyond(reader: BoundConvention, writer: BoundConvention) -> bool:
    """Whether the reader takes a position that the writer never fills."""
    return reader.offset.const > writer.offset.const


def _is_proved(indices: IndexComparison, reader: BoundConvention, writer: BoundConvention) -> bool:
    """Whether the disagreement is certain.

    A reader that stops too early may mean to, unless it agreed with the writer before the change.
    """
    # Another writer of the buffer may be the one whose tokens this reader gets.
    if has_own_writer(indices, reader, writer):
        return False
    return _reads_beyond(reader, writer) or indices.agreed_before(reader, writer) is True
