"""Check runs: at most 50 annotations a request, later requests add to them."""

from __future__ import annotations

from typing import Any

from tests.fake_github import shapes, state
from tests.fake_github.app import NOT_FOUND, Call, Refused, handles, invalid
from tests.fake_github.server import Answer

MOST_ANNOTATIONS = 50
LARGEST = 65_535


@handles("checks/create", checks="write")
def create(call: Call) -> Answer:
    body = call.body
    if call.repo.git.run("cat-file", "-t", body["head_sha"]) != "commit":
        raise invalid("No commit found for SHA")
    made = state.CheckRun(body["name"], body["head_sha"], call.fake.app_id)
    _apply(made, body)
    call.repo.check_runs.append(made)
    return Answer(201, shapes.check_run(made))


@handles("checks/update", checks="write")
def update(call: Call) -> Answer:
    found = _find(call)
    if found.app != call.fake.app_id:
        raise Refused(
            Answer(
                403,
                {
                    "message": "Invalid app_id - check run can only be modified by the GitHub App that created it."
                },
            )
        )
    _apply(found, call.body)
    return Answer(200, shapes.check_run(found))


@handles("checks/get", checks="read")
def get(call: Call) -> Answer:
    return Answer(200, shapes.check_run(_find(call)))


@handles("checks/list-for-ref", checks="read")
def list_for_ref(call: Call) -> Answer:
    found = [c for c in call.repo.check_runs if c.head_sha == call.values["ref"]]
    if "check_name" in call.query:
        found = [c for c in found if c.name == call.query["check_name"]]
    if "app_id" in call.query:
        found = [c for c in found if c.app == int(call.query["app_id"])]
    if call.query.get("filter", "latest") == "latest":
        found = list({(c.name, c.app): c for c in found}.values())
    page, link = call.page([shapes.check_run(c) for c in found])
    return Answer(200, {"total_count": len(found), "check_runs": page}, link)


@handles("checks/list-annotations", checks="read")
def annotations(call: Call) -> Answer:
    empty = {
        "start_column": None,
        "end_column": None,
        "title": None,
        "raw_details": None,
        "blob_href": "",
    }
    page, link = call.page([empty | a for a in _find(call).annotations])
    return Answer(200, page, link)


@handles("checks/rerequest-run", checks="write")
def rerequest(call: Call) -> Answer:
    call.repo.reruns.append(f"check-run/{_find(call).id}")
    return Answer(201, {})


def _find(call: Call) -> state.CheckRun:
    wanted = int(call.values["check_run_id"])
    found = next((c for c in call.repo.check_runs if c.id == wanted), None)
    if found is None:
        raise Refused(NOT_FOUND)
    return found


def _apply(run: state.CheckRun, body: dict[str, Any]) -> None:
    output = body.get("output") or {}
    added = output.get("annotations", [])
    if len(added) > MOST_ANNOTATIONS:
        raise invalid(
            "Invalid request.",
            f"Output annotations: no more than {MOST_ANNOTATIONS} items are allowed.",
        )
    for name in ("summary", "text"):
        if len(output.get(name) or "") > LARGEST:
            raise invalid(
                "Invalid request.",
                f"Only {LARGEST} characters are allowed; {len(output[name])} were supplied.",
            )
    for one in added:
        if one["end_line"] < one["start_line"]:
            raise invalid("Invalid request.", "end_line must not precede start_line")
    for name in ("conclusion", "external_id", "details_url", "completed_at"):
        if name in body:
            setattr(run, name, body[name])
    for name in ("title", "summary", "text"):
        if name in output:
            setattr(run, name, output[name])
    run.annotations += added
    # The status comes last: a test that waits for it reads the rest at once.
    run.status = body.get("status", run.status)
    if run.conclusion is not None:
        run.completed_at = run.completed_at or state.now()
        run.status = "completed"
