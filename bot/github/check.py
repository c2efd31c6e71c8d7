"""The check run `specbot/review` of a commit."""

from __future__ import annotations

from collections.abc import Sequence

from bot.github.client import Client, Json

NAME = "specbot/review"
# GitHub takes so many a request. There is one request: each more is a write that others wait for.
MOST_ANNOTATIONS = 50


def begin(
    client: Client,
    app: int,
    repository: str,
    head: str,
    order: str,
    output: Json,
    *,
    page: str = "",
) -> int:
    """The id of a running check run of our `app` for commit `head`; `order` names who asked for it.
    `page` is the address that its details lead to.

    One that has not ended, or that this order made before its worker died, is taken up again.
    """
    checks = f"/repos/{repository}/check-runs"
    path = f"/repos/{repository}/commits/{head}/check-runs"
    for run in client.pages(path, "check_runs", check_name=NAME, app_id=app, filter="all"):
        if run["external_id"] == order:
            return int(run["id"])
        if run["status"] != "completed":
            client.patch(f"{checks}/{run['id']}", {"external_id": order})
            return int(run["id"])
    body: Json = {
        "name": NAME,
        "head_sha": head,
        "external_id": order,
        "status": "in_progress",
        "output": output,
    }
    if page:
        body["details_url"] = page
    return int(client.post(checks, body, key="id")["id"])


def finish(
    client: Client,
    repository: str,
    run: int,
    conclusion: str,
    output: Json,
    annotations: Sequence[Json] = (),
) -> None:
    """End it, with at most `MOST_ANNOTATIONS`. What an earlier attempt sent is not sent again."""
    path = f"/repos/{repository}/check-runs/{run}"
    found = client.get(path)
    if found["status"] == "completed" and found["conclusion"] == conclusion:
        return
    sent = int(found["output"]["annotations_count"])
    new = list(annotations[sent:MOST_ANNOTATIONS])
    ended = {"status": "completed", "conclusion": conclusion}
    client.patch(path, {"output": output | {"annotations": new}} | ended, adds=True)


def abandon(
    client: Client, repository: str, run: int, order: str, conclusion: str, output: Json
) -> None:
    """End it without a verdict, unless a later order has taken it up.

    `conclusion` is none that a required check is satisfied with.
    """
    path = f"/repos/{repository}/check-runs/{run}"
    found = client.get(path)
    if found["external_id"] == order and found["status"] != "completed":
        client.patch(path, {"status": "completed", "conclusion": conclusion, "output": output})


def end_asked_again(client: Client, app: int, repository: str, head: str, output: Json) -> None:
    """End those of our `app` on commit `head` that nobody is going to end: GitHub takes the verdict
    off what somebody wants run again, also where there is nothing to review any more."""
    path = f"/repos/{repository}/commits/{head}/check-runs"
    ended = {"status": "completed", "conclusion": "cancelled", "output": output}
    for run in client.pages(path, "check_runs", check_name=NAME, app_id=app, filter="all"):
        if run["status"] == "queued":
            client.patch(f"/repos/{repository}/check-runs/{run['id']}", ended)
