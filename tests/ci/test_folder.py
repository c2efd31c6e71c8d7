"""A run saved and read again is the same run, byte for byte; what is no run is refused with its
place."""

import json
from dataclasses import fields
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.ci import folder
from checks.ci.folder import FolderError, dump, load, paths
from checks.ci.model import (
    Annotation,
    Artifact,
    Attempt,
    CIRun,
    Conclusion,
    CoverageFile,
    Job,
    Past,
    Pull,
    Revisions,
    Step,
    Where,
)

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
NAME = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)
PATH = st.one_of(st.just(""), st.from_regex(r"logs/[a-z0-9]{1,8}\.log", fullmatch=True))
WHEN = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)).map(
    lambda t: t.replace(microsecond=0, tzinfo=UTC)
)


def built(kind, **special):
    """Instances of a dataclass with every field drawn from its type."""
    plain = {"str": TEXT, "int": st.integers(0, 9**9), "bool": st.booleans()}
    known = {f.name: plain[f.type] for f in fields(kind) if f.type in plain}
    return st.builds(kind, **{**known, **special})


JOBS = built(
    Job,
    log=PATH,
    passed_log=PATH,
    earlier_logs=PATH,
    steps=st.lists(built(Step, started=st.none() | WHEN), max_size=2).map(tuple),
    attempts=st.lists(built(Attempt, signatures=st.just(("a",))), max_size=1).map(tuple),
    annotations=st.lists(built(Annotation), max_size=1).map(tuple),
    conclusion=st.sampled_from(Conclusion),
    started=st.none() | WHEN,
    junit=st.just(("junit/a.xml",)),
)
RUNS = st.builds(
    CIRun,
    pull=built(Pull, approved=st.none() | st.booleans()),
    revisions=built(Revisions),
    collected=WHEN,
    jobs=st.lists(JOBS, max_size=3, unique_by=lambda j: j.id).map(tuple),
    history=st.lists(
        built(Past, date=WHEN, seconds=st.none() | st.integers(0, 99), where=st.sampled_from(Where))
    ).map(tuple),
    coverage=st.lists(built(CoverageFile, path=PATH), max_size=1).map(tuple),
    artifacts=st.lists(built(Artifact, path=PATH), max_size=1).map(tuple),
    required_known=st.booleans(),
    problems=st.just(("problem-logs",)),
)


@settings(max_examples=30, deadline=None)
@given(RUNS)
def test_a_saved_run_is_read_again_byte_for_byte(run):
    text = dump(run)
    assert load(text) == run
    assert dump(load(text.encode())) == text


def test_the_documented_example_is_a_run():
    text = folder.__doc__.split("A small one:")[1]
    run = load(text)
    assert run.jobs[0].conclusion is Conclusion.FAILURE
    assert run.jobs[0].seconds == 74 * 60 + 39
    assert paths(run) == ("junit/101/report.xml", "logs/101.log")


SMALL = json.loads(folder.__doc__.split("A small one:")[1])


@pytest.mark.parametrize(
    ("spoil", "problem", "at", "found"),
    [
        (lambda d: d.pop("version"), "version", "version", "None"),
        (lambda d: d.pop("pull"), "missing-key", "pull", ""),
        (lambda d: d["jobs"][0].update(nam="x"), "unknown-key", "jobs[0].nam", "name"),
        (
            lambda d: d["jobs"][0].update(conclusion="bad"),
            "wrong-value",
            "jobs[0].conclusion",
            "bad",
        ),
        (lambda d: d["jobs"][0].update(attempt=True), "wrong-type", "jobs[0].attempt", "bool"),
        (lambda d: d["jobs"][0].update(steps={}), "wrong-type", "jobs[0].steps", "dict"),
        (lambda d: d.update(collected="yesterday"), "wrong-time", "collected", "yesterday"),
        (lambda d: d["jobs"][0].update(log="../../etc/passwd"), "path", "path", "../../etc/passwd"),
        (lambda d: d["jobs"][0].update(log="/etc/passwd"), "path", "path", "/etc/passwd"),
        (lambda d: d["jobs"].append(d["jobs"][0]), "twice", "jobs", "101"),
    ],
)
def test_what_is_no_run_is_refused_with_its_place(spoil, problem, at, found):
    document = json.loads(json.dumps(SMALL))
    spoil(document)
    with pytest.raises(FolderError) as caught:
        load(json.dumps(document))
    assert (caught.value.problem, caught.value.at, caught.value.found) == (problem, at, found)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "[" * 100_000])
def test_what_is_no_json_object_is_refused(text):
    with pytest.raises(FolderError):
        load(text)
