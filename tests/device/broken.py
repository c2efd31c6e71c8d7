"""Mistakes put into the emulator where no kernel of the corpus looks: a test has to fail for each.

    python -m tests.device.broken [WORD]

copies the tree, puts one mistake into it, and runs the tests that should notice it; with WORD only
those into files with it in their path. Prints what no test noticed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_LEFT_OUT = (".git", ".venv", "build", "dist", "bench", "__pycache__", ".*_cache", ".hypothesis")


@dataclass(frozen=True)
class Broken:
    """A text of a file, what stands there instead, and the tests that should fail then: of a file
    those with `only` in their name."""

    path: str
    text: str
    mistake: str
    tests: str
    only: str = ""


_EMULATOR = "kernels/emulator/"
_CUB = f"{_EMULATOR}runtime/include/cub/device.h"
_GROUPS = f"{_EMULATOR}runtime/include/cooperative_groups.h"
_RANDOM = f"{_EMULATOR}runtime/include/curand_kernel.h"
_GRID = f"{_EMULATOR}runtime/src/grid.cc"
_LAUNCHES = f"{_EMULATOR}runtime/include/emulator/runtime_api.h"
_EXTENSIONS = f"{_EMULATOR}extensions.py"
_MODULES = f"{_EMULATOR}extension_modules.py"
_IMPORTERS = f"{_EMULATOR}importers.py"
_CUTTING = f"{_EMULATOR}cutting.py"
_RECORDING = f"{_EMULATOR}recording.py"
_VARIATION = f"{_EMULATOR}variation.py"
_SYMBOLS = f"{_EMULATOR}symbols.py"
_APART = f"{_EMULATOR}apart.py"
_RELATIONS = f"{_EMULATOR}relations.py"
_LIMITS = f"{_EMULATOR}limits.py"
_PRECONDITIONS = f"{_EMULATOR}preconditions.py"
_EDITS = f"{_EMULATOR}edits.py"
_SIBLINGS = f"{_EMULATOR}siblings.py"
_REPLAYING = f"{_EMULATOR}replaying.py"
_MAIN = f"{_EMULATOR}__main__.py"
_LIBRARY = f"{_EMULATOR}library.py"
_TESTING = f"{_EMULATOR}testing.py"
_TENSOR = f"{_EMULATOR}runtime/include/paddle/emulator/tensor.h"
_FUNCTIONAL = f"{_EMULATOR}standins/paddle/nn/functional.py"
_SHARED_MEMORY = f"{_EMULATOR}rewrite/shared_memory.py"
_READINGS = f"{_EMULATOR}readings.py"
_NEEDS = f"{_EMULATOR}needs.py"
_JOB_OPS = f"{_EMULATOR}job_ops.py"
_FORKS = f"{_EMULATOR}forks.py"
_ROW_IDS = f"{_EMULATOR}row_ids.py"
_FLOAT_ROWS = f"{_EMULATOR}float_rows.py"
_ASKED = f"{_EMULATOR}asked_numbers.py"
_MADE = f"{_EMULATOR}made_calls.py"
_SIBLING_JOB = f"{_EMULATOR}sibling_runs.py"
_LINKED = f"{_EMULATOR}linked.py"
_WORKSPACE = "bot/device/workspace.py"
_SIBLING_RUNS = "bot/device/siblings.py"
_RUNS_OF_FILES = "bot/device/tests.py"
_ACTIONS = "bot/device/actions.py"

_SELECTED = "test_runtime.py::test_items_that_are_selected"
_SCANS = "test_runtime.py::test_scans_of_a_group"
_LOG_NORMAL = "test_runtime.py::test_log_normal_numbers_are_those_of_normal_ones"
_SHARED = "test_runtime.py::test_much_shared_memory_has_to_be_asked_for"
_FINDER = ("test_extensions.py", "not built_tested")
_BUILT = "test_extensions.py::test_a_module_is_built_tested_and_compared"
_KEPT = "test_recording.py"
_NAMESAKE = "test_siblings.py::test_a_function_that_stands_in_another_namespace"
_LIMIT = "test_variation.py::test_a_limit_in_the_environment_is_about_what_there_is"
_VARIED = ("test_command.py::test_what_only_a_varied_input_shows", "Refactor")
_SHOWN = "test_preconditions.py"
_PAIRS = "test_pairs.py"
_LENGTHS = "test_variation.py"
_NOT_HERE = "test_command.py::test_what_the_emulator_does_not_have"
_CAUGHT = "test_command.py::test_a_test_that_catches_what_is_not_emulated"
_OTHER_TYPES = "test_command.py::test_a_type_that_no_test_has"
_PADDING = "test_standins.py"
_TAKEN = "test_siblings.py::test_a_tensor_for_each_request_and_one_for_all"
_BESIDE = "test_needs.py"
_DEATHS = "test_deaths.py"
_SAID = "test_deaths.py::test_what_a_sanitizer_saw_is_the_same_each_time"
_STATE = "test_state.py"
_LINKER = "test_needs.py::test_what_the_linker_alone_needs_is_built_too"
_MADE_UP = "test_made_calls.py"
_STRIDES = "test_runtime.py::test_a_tensor_with_strides_of_its_own"
_FILES = "test_workspace.py"
_WATCHED = "test_command.py::test_what_only_a_sanitizer_sees_of_a_varied_input"
ALL = (
    Broken(_CUB, "static_cast<bool>(flags[i])", "!flags[i]", _SELECTED),
    Broken(_CUB, "static_cast<bool>(predicate(in[i]))", "true", _SELECTED),
    Broken(_CUB, "i == 0 || !(in[i] == in[i - 1])", "i == 0", _SELECTED),
    Broken(
        _CUB,
        ">(kept.size());\n  }\n};\n\nstruct DeviceR",
        ">(0);\n  }\n};\n\nstruct DeviceR",
        _SELECTED,
    ),
    Broken(_GROUPS, "value = operation(before, value);", "value = before;", _SCANS),
    Broken(_GROUPS, "if (group.thread_rank() >= distance) value", "value", _SCANS),
    Broken(_GROUPS, "? T(0) : before", "? before : T(0)", _SCANS),
    Broken(_RANDOM, "expf(mean + deviation * pair.y)", "expf(mean)", _LOG_NORMAL),
    Broken(_RANDOM, "state->boxmuller_flag = kept;", "state->boxmuller_flag = 0;", _LOG_NORMAL),
    Broken(_GRID, "shared > allowed_shared_bytes", "shared > kMostSharedBytes", _SHARED),
    Broken(_LAUNCHES, "value >= 0 && emulator::allow", "false && emulator::allow", _SHARED),
    Broken(_EXTENSIONS, " or _PADDLE.search(text)", "", *_FINDER),
    Broken(_EXTENSIONS, "function.is_instance or ", "", *_FINDER),
    Broken(_EXTENSIONS, "or function.path == best", "or True", *_FINDER),
    Broken(_EXTENSIONS, "*_MACRO.findall(code)", "", *_FINDER),
    Broken(_EXTENSIONS, "chosen = named or below", "chosen = below", *_FINDER),
    Broken(_EXTENSIONS, "modules = tuple(dict.fromkeys((*modules, own[1])))", "pass", *_FINDER),
    Broken(
        _EXTENSIONS, " | _reached(_calls(_module_body(text)), binding, definitions)", "", *_FINDER
    ),
    Broken(_EXTENSIONS, "case ast.Name(id=name):", "case ast.Name(id=name) if False:", *_FINDER),
    Broken(_IMPORTERS, "pending.append(other)", "pass", *_FINDER),
    Broken(_IMPORTERS, "for name in named or extension.functions}", "for name in named}", *_FINDER),
    Broken(_IMPORTERS, "binding.name in file.text or ", "", *_FINDER),
    Broken(
        _MODULES, 'name = f"{Path(library).stem}.{EXTENSION_NAME}"', "name = EXTENSION_NAME", _BUILT
    ),
    Broken(_MODULES, "note(op, function, arguments, named)", "pass", _BUILT),
    Broken(_READINGS, "row[:, : int(own[0])]", "row", _TAKEN),
    Broken(_READINGS, "(rows != rows[:1]).any()", "False", _TAKEN),
    Broken(_READINGS, "len(value.array), self.count_type", "0, self.count_type", _TAKEN),
    Broken(_CUTTING, "narrow > _largest_index(values, width)", "narrow", _KEPT),
    Broken(_CUTTING, "largest < width", "True", _KEPT),
    Broken(_CUTTING, "return widths - others", "return widths", _KEPT),
    Broken(_CUTTING, "return narrow if is_width else value", "return value", _KEPT),
    Broken(_RECORDING, "os.environ.update(self.settings)", "pass", _KEPT),
    Broken(_RECORDING, "[described, settings]", "described", _KEPT),
    Broken(_VARIATION, "1 + positive[choice % len(positive)]", "2", _LIMIT),
    Broken(_SYMBOLS, "name.group(2, 3) == wanted.group(2, 3)", "name[2] == wanted[2]", _NAMESAKE),
    Broken(_APART, "comparison is not None", "True", *_VARIED),
    Broken(_RELATIONS, "(np.diff(numbers[0]) >= 0)", "(np.diff(numbers[0]) > 0)", _SHOWN),
    Broken(_RELATIONS, "array[array >= 0]", "array", _SHOWN),
    Broken(_RELATIONS, "numbers[0] < numbers[1]", "numbers[0] <= numbers[1]", _SHOWN),
    Broken(_RELATIONS, "len(np.unique(array)) > 1", "True", _SHOWN),
    Broken(_RELATIONS, "first & ~second", "first | second", _SHOWN),
    Broken(_RELATIONS, "not all(relation.holds(values)", "not any(relation.holds(values)", _SHOWN),
    Broken(_RELATIONS, "if kind.of_one_call:", "if False:", _SHOWN),
    Broken(_LIMITS, "reached <= limit", "reached < limit", _SHOWN),
    Broken(_LIMITS, "(not limit.is_sum or size == reached)", "True", _SHOWN),
    Broken(_LIMITS, "limit >= _LEAST", "limit >= 0", _SHOWN),
    Broken(_LIMITS, "np.min(known)", "np.max(known)", _SHOWN),
    Broken(_PRECONDITIONS, "all(rule.holds(values)", "any(rule.holds(values)", _SHOWN),
    Broken(_PRECONDITIONS, "{*self.derived, *self.bound}", "{*self.bound}", _SHOWN),
    Broken(_PRECONDITIONS, "len(set(steps)) == 1", "True", _SHOWN),
    Broken(_PRECONDITIONS, "len(np.unique(shown)) >= _LEAST", "True", _SHOWN),
    Broken(_PRECONDITIONS, "if found.sums not in written", "", _LENGTHS),
    Broken(_EDITS, "numbers >= lowest) & (numbers", "numbers >= numbers) & (numbers", _SHOWN),
    Broken(_EDITS, "            array[:] = before", "            pass", _SHOWN),
    Broken(_EDITS, "numbers += [limit] if limit is not None else []", "", _LENGTHS),
    Broken(_EDITS, "or sources.rules.derived", "", _LENGTHS),
    Broken(_VARIATION, "if rules.hold(edited):", "if True:", _SHOWN),
    Broken(_VARIATION, "range(len(attempt.edits) + 1)", "[len(attempt.edits)]", _PAIRS),
    Broken(_VARIATION, "next(filter(None, smaller), found)", "found", _PAIRS),
    Broken(_VARIATION, "retyped.has_other_types and ", "", _PAIRS),
    Broken(_SIBLINGS, "seed if number else 0", "0", _PAIRS),
    Broken(_SIBLINGS, "seed if number else 0", "seed", _PAIRS),
    Broken(_SIBLINGS, "and not call.is_shown ", "", _PAIRS),
    Broken(_SIBLINGS, "and not rooms.are_whole()", "and False", _PAIRS),
    Broken(_SIBLINGS, "self.is_one_op = not for_other_hardware", "self.is_one_op = True", _PAIRS),
    Broken(_SIBLINGS, "wanted=call.has_other_types", "wanted=False", _PAIRS),
    Broken(_REPLAYING, "if first.is_missing or second.is_missing:", "if False:", _PAIRS),
    Broken(_REPLAYING, "(memory[-_ROOM:] == self._byte).all()", "True", _PAIRS),
    Broken(_MAIN, "        wanted = sources_to_link", "        wanted = set()  #", _LINKER),
    Broken(_MADE, "_LEAST = 2", "_LEAST = 1", _MADE_UP, "made_of"),
    Broken(_MADE, "len(types) != 1 or ", "", _MADE_UP, "made_of"),
    Broken(_MADE, "1 + max(asked, default=0)", "1", _MADE_UP),
    Broken(_SIBLING_JOB, "pair.texts_before, others)", "(), others)", _MADE_UP),
    Broken(_SIBLINGS, "if number or not self.is_one_op or run", "if True or run", _PAIRS),
    Broken(_SIBLINGS, " or run != self._run_from_beginning:", ":", _PAIRS),
    Broken(_LINKED, "return max(alike", "return min(alike", _LINKER),
    Broken(_WORKSPACE, "return self.tree.read(name) == data", "return True", _FILES),
    Broken(_TENSOR, "last >= numel()", "last > numel()", _STRIDES),
    Broken(_TENSOR, "if (strides != this->strides()) strides_ = strides;", "", _STRIDES),
    Broken(_LIBRARY, "[stride * array.itemsize for", "[stride for", _STRIDES),
    Broken(_SIBLING_RUNS, '"variant": plan.own.variant', '"variant": ""', _WATCHED),
    Broken(_ACTIONS, "if seen else self._watch_variations()", "", _WATCHED),
    Broken(_MAIN, '(sanitizer, "libstdc++.so.6")', "(sanitizer,)", _NOT_HERE),
    Broken(
        _LIBRARY,
        "MissingPart(missing) if missing else OpError(said)",
        "OpError(said)",
        _NOT_HERE,
    ),
    Broken(_LIBRARY, "return self._ask_missing() or told", "return self._ask_missing()", _CAUGHT),
    Broken(_TESTING, "missing := self._library.take_missing()", 'missing := ""', _CAUGHT),
    Broken(_TENSOR, "if (emulator::types_are_checked()) check_type<T>();", "", _OTHER_TYPES),
    Broken(_FUNCTIONAL, "others + pairs[::-1]", "others + pairs", _PADDING),
    Broken(_NEEDS, "if module in modules and name not in ops)", "if name not in ops)", _BESIDE),
    Broken(_NEEDS, "if named <= {hardware_of(source)}", "if source", _BESIDE),
    Broken(
        _NEEDS, "*(f for (_, name), f in bindings.functions.items() if name in names)", "", _BESIDE
    ),
    Broken(_NEEDS, " + bindings.text_for(place, text)", "", _BESIDE),
    Broken(_JOB_OPS, "except OSError as error:", "except KeyError as error:", _BESIDE),
    Broken(
        _ACTIONS,
        "return [helper.path for helper in helpers if helper.path in paths]",
        "return []",
        _BESIDE,
    ),
    Broken(
        _TESTING,
        "self._started = time.monotonic()\n\n",
        "self._started = 0.0\n\n",
        _BESIDE,
    ),
    Broken(_RUNS_OF_FILES, "sorted(cases), attempt)", "[], attempt)", _DEATHS),
    Broken(_RUNS_OF_FILES, "_MOST_DEATHS = 4", "_MOST_DEATHS = 1", _DEATHS),
    Broken(_RUNS_OF_FILES, " on (?:unknown )?address.*", " on address.*", _SAID),
    Broken(_RUNS_OF_FILES, "(.+?)(?:", "(\\S+?)(?:", _SAID),
    Broken(
        _SHARED_MEMORY, "return _read_as_others(text, arrays)", "return text", "test_rewrite.py"
    ),
    Broken(_FORKS, "in_child(lambda asked=question: work(asked))", "work(question)", _PAIRS),
    Broken(_SIBLINGS, "seen = self._look(call, values, self._run_from_beginning)", "pass", _PAIRS),
    Broken(
        _REPLAYING,
        "compare(first, beginning.ask((call, seed)) or _DIED, seeds[0], seed)",
        '"differs"',
        _STATE,
    ),
    Broken(_ROW_IDS, "len(wanted) == len(old)", "True", _LENGTHS),
    Broken(_ROW_IDS, "len(np.unique(wanted)) > 1", "True", _LENGTHS),
    Broken(_ROW_IDS, "(ids[: len(wanted)] == wanted).all()", "True", _LENGTHS),
    Broken(
        _PRECONDITIONS,
        "found.is_in(values) for found in self.ids",
        "True for found in self.ids",
        _LENGTHS,
    ),
    Broken(_PRECONDITIONS, "*self.limits, *self.rows)", "*self.limits)", _LENGTHS),
    Broken(_FLOAT_ROWS, "rows[:, 1:] >= rows[:, :-1]", "rows[:, 1:] > rows[:, :-1]", _LENGTHS),
    Broken(_FLOAT_ROWS, "len(np.unique(row)) >= _LEAST", "len(row) >= _LEAST", _LENGTHS),
    Broken(_FLOAT_ROWS, "rows.sum(axis=1) - 1", "rows.sum(axis=1) - 2", _LENGTHS),
    Broken(_ASKED, "code = mask(text)", "code = text", _LENGTHS),
    Broken(_ASKED, 'r"[=!]=', 'r"[=!<>]=?', _LENGTHS),
    Broken(_ASKED, "name not in parameters:", "True:", _LENGTHS),
    Broken(_EDITS, "giving != taking and ", "", _LENGTHS),
    Broken(
        _EDITS,
        "number = array[giving] if which % 2 else min(1, array[giving])",
        "number = 1",
        _LENGTHS,
    ),
    Broken(
        _EDITS, "if _fitting(np.array([number]), sources.rules, place).size:", "if True:", _LENGTHS
    ),
    Broken(
        _EDITS, "row[[first, second]] = row[[second, first]]", "row[first] = row[second]", _LENGTHS
    ),
    Broken(_EDITS, "is_asked | (", "(", _LENGTHS),
    Broken(_EDITS, "if asked and which % 2:", "if False:", _LENGTHS),
    Broken(_VARIATION, "if all(v is None for v in column)", "if column[0] is None", _PAIRS),
    Broken(_VARIATION, "if not places or not pair.is_one_op:", "if not places:", _PAIRS),
    Broken(_VARIATION, "for place in places), places)", "for place in places),)", _PAIRS),
    Broken(_VARIATION, "*find_fillings(pair, shown)]", "]", _PAIRS),
    Broken(_VARIATION, "if _key(call) in seen:", "if False:", _PAIRS),
    Broken(_VARIATION, "_MOST_FOR_ONE * most)", "most)", _PAIRS),
    Broken(_VARIATION, "        seen.add(_key(call))\n", "", _PAIRS),
    Broken(_SIBLINGS, "own[name] & other[name]", "own[name] | other[name]", _PAIRS),
    Broken(
        _FUNCTIONAL, "[(0, 0), *pairs[::-1], (0, 0)]", "[*pairs[::-1], (0, 0), (0, 0)]", _PADDING
    ),
)


def is_noticed(broken: Broken) -> bool:
    """Whether a test fails in a copy of the tree with the mistake."""
    with tempfile.TemporaryDirectory(prefix="specbot-broken-") as name:
        copy = Path(name) / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        path = copy / broken.path
        text = path.read_text("utf-8")
        assert broken.text in text, broken
        path.write_text(text.replace(broken.text, broken.mistake), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n0"]
        command += [f"tests/device/{broken.tests}", "-k", broken.only]
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    # 1 is a test that failed; another code is that of tests that were not run.
    assert done.returncode in (0, 1), done.stdout
    return done.returncode == 1


def main() -> int:
    """1 where a mistake is not noticed."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [broken for broken in ALL if word in broken.path]
    missed = [broken for broken in chosen if not is_noticed(broken)]
    for broken in missed:
        sys.stdout.write(f"not noticed: {broken.path}: {broken.mistake}\n")
    sys.stdout.write(f"{len(chosen) - len(missed)} of {len(chosen)} noticed\n")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
