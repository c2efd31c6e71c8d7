"""What an op and its copy for other hardware do, asked on every call that tests make of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernels.emulator.apart import compare_apart
from kernels.emulator.events import Events
from kernels.emulator.job_ops import load_ops
from kernels.emulator.made_calls import make_calls
from kernels.emulator.recording import Call, load_call
from kernels.emulator.replaying import show_inputs, size_of
from kernels.emulator.siblings import Agreement, Comparison, Pair
from kernels.emulator.variation import find_difference


def run_siblings(job: dict[str, Any]) -> None:
    """Compare `job["op"]` with its copy on every recorded call, and then on variations of them,
    with `job["apart"]` each in a process of its own.

    `job["texts"]` are the files of the sources of either side. An op that no test calls is given
    the calls of another one that takes the same parameters, or, before and after a change, calls
    that are made of others.
    """
    events = Events(Path(job["events"]))
    try:
        pair = _pair(job)
    except (OSError, KeyError) as error:
        events.write({"event": "end", "why": str(error)[:300], "counts": {}})
        return
    calls = []
    counts: Counter[str] = Counter()
    for path, call in _calls_for(job, pair):
        events.write({"event": "call", "call": path.name})
        comparison = pair.compare(call)
        counts[comparison.agreement] += 1
        events.write(_event(comparison, path.name, job["op"]))
        if comparison.agreement is not Agreement.NOT_COMPARED:
            calls.append(call)
    varied: Counter[str] = Counter()
    if calls and not counts[Agreement.DIFFERS] and job["variations"]:
        events.write({"event": "call", "call": ""})
        compare = compare_apart if job["apart"] else Pair.compare
        found = find_difference(pair, calls, job["variations"], varied, compare)
        if found is not None:
            events.write(_event(found, "", job["op"]))
    end = {"event": "end", "why": "", "counts": counts, "varied": varied}
    events.write(end | {"stand_ins": pair.stand_ins})


def _pair(job: dict[str, Any]) -> Pair:
    own = load_ops(job["runtime"], job["libraries"], job["modules"], {job["op"]}, "own/")
    copy_of_it = load_ops(
        job["runtime"], job["copy"], job["modules"], {job["op"]}, "copy/", namesakes=True
    )
    texts = [
        [Path(path).read_text("utf-8", "replace") for path in job["texts"][side]]
        for side in ("own", "copy")
    ]
    # With itself as it was before an op has no forms of its own.
    is_copy = bool(job["copy_label"])
    return Pair(job["op"], own, copy_of_it, texts, for_other_hardware=is_copy)


def _calls_for(job: dict[str, Any], pair: Pair) -> Iterator[tuple[Path, Call]]:
    """The recorded calls of the op; where there are none, those of ops with all its parameters;
    where there are none either, those that can be made."""
    recorded = []
    for path in sorted(Path(job["calls"]).glob("*.npz")):
        if path.name not in job["left_out"]:
            recorded.append((path, load_call(path)))
    own = [(path, call) for path, call in recorded if call.op == job["op"]]
    for path, call in own:
        if not pair.is_one_op:
            pair.show(call, of_copy=path.name.startswith(job["copy_label"]))
    alike = [
        (path, call)
        for path, call in recorded
        if pair.parameters and pair.parameters <= set(call.parameters)
    ]
    if own or alike or not pair.is_one_op:
        yield from own or alike
        return
    others = (call for _, call in recorded)
    made = make_calls(job["op"], pair.parameters, pair.texts_before, others)
    for number, call in enumerate(made):
        path = Path(f"made-{number}")
        if path.name not in job["left_out"]:
            yield path, call


def _event(comparison: Comparison, name: str, op: str) -> dict[str, Any]:
    return {
        "event": "compared",
        "call": name,
        "agreement": comparison.agreement,
        "why": comparison.why,
        "place": comparison.place,
        "expected": comparison.expected,
        "got": comparison.got,
        "size": size_of(comparison.call.values),
        "is_shown": comparison.call.is_shown and comparison.call.op == op,
        "inputs": show_inputs(comparison.call),
    }
