"""A call's launches, written down once and made again for every call with the same signature.

What a call launches, with which numbers and over how much scratch memory follows from its
signature; of a later call only the addresses differ. So the ops' own code, which asks tensors for
their shapes and allocates piece by piece, runs once, and takes no more of the host's time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import torch

# Where pieces of the scratch memory begin, as those of PyTorch's allocator do.
APART = 512


@dataclass
class Recording:
    """What a call does while its code runs."""

    values: Sequence[object]  # its arguments
    made: list[torch.Tensor] = field(default_factory=list)
    # Compiled kernel (None under the interpreter), programs, all arguments
    launches: list[tuple[Any, int, tuple[Any, ...]]] = field(default_factory=list)

    def replay(self, results: Sequence[torch.Tensor]) -> Replay | None:
        """The same over other tensors; None if it takes more than the launches: an argument was
        copied, or one tensor stands for two arguments, which two may do next time.
        """
        places = [i for i, value in enumerate(self.values) if isinstance(value, torch.Tensor)]
        given = [self.values[place] for place in places]
        returned = {id(result) for result in results}
        scratch = [made for made in self.made if id(made) not in returned]
        fresh = [made for made in self.made if id(made) in returned]
        if not places or any(kernel is None for kernel, _, _ in self.launches):
            return None
        slots = _Slots([*given, *scratch, *fresh], [parts for _, _, parts in self.launches])
        chosen = [[slots.of(part) for part in parts] for _, _, parts in self.launches]
        chosen.append([slots.of(result) for result in results])
        if slots.strange or -1 in chosen[-1]:
            return None
        offsets, room = _offsets(scratch)
        return Replay(
            places=places,
            room=room,
            offsets=offsets,
            fresh=[(made.shape, made.dtype) for made in fresh],
            constants=slots.constants,
            tuples=[itemgetter(*inner) for inner in slots.tuples],
            launches=[
                (kernel.run, kernel.function, kernel.packed_metadata, programs, itemgetter(*parts))
                for (kernel, programs, _), parts in zip(self.launches, chosen, strict=False)
            ],
            results=[
                (-1, places[slot]) if slot < len(places) else (slot - len(places + scratch), -1)
                for slot in chosen[-1]
            ],
        )


@dataclass(frozen=True)
class Replay:
    """The launches of a call whose signature is known.

    Their arguments are taken from one list: addresses of the call's tensors, of scratch memory and
    of fresh results, then numbers, then tuples of all these.
    """

    places: list[int]  # of the tensors among the call's values
    room: int  # bytes of scratch memory
    offsets: list[int]  # where each piece of it begins
    fresh: list[tuple[torch.Size, torch.dtype]]  # results to be made
    constants: list[object]
    tuples: list[itemgetter[Any]]
    launches: list[tuple[Any, Any, Any, int, itemgetter[Any]]]
    results: list[tuple[int, int]]  # number of a fresh one, or -1 and the place of a given one

    def __call__(self, values: Sequence[Any], stream: int) -> tuple[torch.Tensor, ...]:
        """Makes them on a stream of the current device, where the values are."""
        like = values[self.places[0]]
        scratch = like.new_empty(self.room, dtype=torch.uint8)
        start = scratch.data_ptr()
        fresh = [like.new_empty(shape, dtype=dtype) for shape, dtype in self.fresh]
        slots = [values[place].data_ptr() for place in self.places]
        slots += [start + offset for offset in self.offsets]
        slots += [made.data_ptr() for made in fresh]
        slots += self.constants
        for choose in self.tuples:
            slots.append(choose(slots))
        for run, function, metadata, programs, choose in self.launches:
            run(programs, 1, 1, stream, function, metadata, None, None, None, *choose(slots))
        return tuple(
            values[place] if number < 0 else fresh[number] for number, place in self.results
        )


class _Slots:
    """Where in a replay's list each argument of its launches stands."""

    def __init__(self, tensors: Sequence[Any], launches: Sequence[tuple[Any, ...]]) -> None:
        self._tensors = {id(tensor): slot for slot, tensor in enumerate(tensors)}
        self.strange = len(self._tensors) < len(tensors)  # or a tensor that is none of them
        self._constants: dict[tuple[type, Any], int] = {}
        for part in _leaves(launches):
            if isinstance(part, torch.Tensor):
                self.strange |= id(part) not in self._tensors
            else:
                number = len(tensors) + len(self._constants)
                self._constants.setdefault((type(part), part), number)
        self._tuples: dict[tuple[int, ...], int] = {}

    @property
    def constants(self) -> list[object]:
        """Those that are no tensors, by slot."""
        return [value for _, value in self._constants]

    @property
    def tuples(self) -> list[tuple[int, ...]]:
        """The slots of the parts of each tuple, by slot."""
        return list(self._tuples)

    def of(self, part: Any) -> int:
        """The slot of an argument, -1 of a strange one."""
        if isinstance(part, torch.Tensor):
            return self._tensors.get(id(part), -1)
        if not isinstance(part, tuple):
            return self._constants[type(part), part]
        inner = tuple(self.of(one) for one in part)
        number = len(self._tensors) + len(self._constants) + len(self._tuples)
        return self._tuples.setdefault(inner, number)


def _leaves(parts: Sequence[Any]) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, tuple):
            yield from _leaves(part)
        else:
            yield part


def _offsets(tensors: Sequence[torch.Tensor]) -> tuple[list[int], int]:
    """(where each begins in one piece of memory, the size of all)."""
    found, end = [], 0
    for tensor in tensors:
        found.append(end)
        end += -(-tensor.nbytes // APART) * APART
    return found, end
