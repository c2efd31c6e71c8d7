"""The check run `specbot/review` of a commit."""

from __future__ import annotations

from collections.abc import Sequence

from bot.github.client import Client, Json

NAME = "specbot/review"
# GitHub takes so many annotations a request; later requests add to them.
_BATCH = 50


def begin(client: Client, app: int, repository: str, head: str, order: str, output: Json) -> int:
    """The id of a running check run of our `app` for commit `head`; `order` names who asked for it.

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
    body = {
        "name": NAME,
        "head_sha": head,
        "external_id": order,
        "status": "in_progress",
        "output": output,
    }
    return int(client.post(checks, body)["id"])


def finish(
    client: Client,
    repository: str,
    run: int,
    conclusion: str,
    output: Json,
    annotations: Sequence[Json] = (),
) -> None:
    """End it. Annotations that an earlier attempt sent are not sent again."""
    path = f"/repos/{repository}/check-runs/{run}"
    sent = int(client.get(path)["output"]["annotations_count"])
    while len(annotations) - sent > _BATCH:
        batch = list(annotations[sent : sent + _BATCH])
        client.patch(path, {"output": output | {"annotations": batch}}, adds=True)
        sent += _BATCH
    last = {"output": output | {"annotations": list(annotations[sent:])}}
    client.patch(path, last | {"status": "completed", "conclusion": conclusion}, adds=True)


def abandon(client: Client, repository: str, run: int, order: str, output: Json) -> None:
    """End it without a verdict, unless a later order has taken it up."""
    path = f"/repos/{repository}/check-runs/{run}"
    found = client.get(path)
    if found["external_id"] == order and found["status"] != "completed":
        client.patch(path, {"status": "completed", "conclusion": "skipped", "output": output})
