"""The App: who it is, its installations, their tokens, and the deliveries of its webhooks."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime
from typing import Any

import githubkit_schemas.v2026_03_10.models as m

from tests.fake_github import shapes, state, webhooks
from tests.fake_github.app import NOT_FOUND, Call, Refused, handles, invalid
from tests.fake_github.filling import fill
from tests.fake_github.server import Answer

SUSPENDED = Answer(403, {"message": "This installation has been suspended"})


@handles("apps/get-authenticated", app=True)
def the_app(call: Call) -> Answer:
    known = {
        "id": call.fake.app_id,
        "slug": call.fake.slug,
        "name": "SpecBot",
        "events": call.fake.app_events,
    }
    return Answer(200, fill(m.Integration, known | {"permissions": call.fake.app_permissions}))


@handles("apps/create-from-manifest", anybody=True)
def from_manifest(call: Call) -> Answer:
    """The App's secrets, told once for each code."""
    if call.values["code"] not in call.fake.manifest_codes:
        raise Refused(NOT_FOUND)
    call.fake.manifest_codes.remove(call.values["code"])
    known: dict[str, Any] = {
        "id": call.fake.app_id,
        "slug": call.fake.slug,
        "html_url": f"{call.fake.url}/apps/{call.fake.slug}",
        "client_id": "Iv23abc",
        "client_secret": "c11ent-s3cret",
        "webhook_secret": call.fake.webhook_secret,
        "pem": call.fake.private_key,
        "permissions": call.fake.app_permissions,
        "events": call.fake.app_events,
    }
    return Answer(201, fill(m.AppManifestsCodeConversionsPostResponse201, known))


@handles("apps/get-webhook-config-for-app", app=True)
def webhook_config(call: Call) -> Answer:
    return Answer(200, {"url": call.fake.webhook_url, **call.fake.webhook_config})


@handles("rate-limit/get", anybody=True)
def rate_limit(call: Call) -> Answer:
    return Answer(200, fill(m.RateLimitOverview, {}))


@handles("apps/list-installations", app=True)
def installations(call: Call) -> Answer:
    page, link = call.page(
        [shapes.installation(i, call.fake.app_id) for i in call.fake.installations]
    )
    return Answer(200, page, link)


@handles("apps/get-repo-installation", app=True)
def repo_installation(call: Call) -> Answer:
    repo = call.fake.repositories.get(f"{call.values['owner']}/{call.values['repo']}")
    found = call.fake.installation_of(repo) if repo else None
    if found is None:
        raise Refused(NOT_FOUND)
    return Answer(200, shapes.installation(found, call.fake.app_id))


@handles("apps/delete-installation", app=True)
def delete_installation(call: Call) -> Answer:
    wanted = int(call.values["installation_id"])
    left = [one for one in call.fake.installations if one.id != wanted]
    if len(left) == len(call.fake.installations):
        raise Refused(NOT_FOUND)
    call.fake.installations[:] = left
    return Answer(204, None)


@handles("apps/create-installation-access-token", app=True)
def access_token(call: Call) -> Answer:
    found = next(
        (i for i in call.fake.installations if i.id == int(call.values["installation_id"])), None
    )
    if found is None:
        raise Refused(NOT_FOUND)
    if found.suspended:
        raise Refused(SUSPENDED)
    wanted = call.body.get("permissions") or found.permissions
    order = ["read", "write", "admin"]
    if any(
        order.index(level) > order.index(found.permissions.get(name, ""))
        if name in found.permissions
        else True
        for name, level in wanted.items()
    ):
        raise invalid("The permissions requested are not granted to this installation.")
    ids = call.body.get("repository_ids")
    if ids is not None and not set(ids) <= {r.id for r in found.repositories}:
        raise invalid(
            "There is at least one repository that does not exist or is not accessible to the parent installation."
        )
    value = f"ghs_{secrets.token_urlsafe(30)}"
    expires = time.time() + 3600
    scope = None if ids is None else frozenset(ids)
    call.fake.tokens[value] = state.Token(
        value, found.id, {"metadata": "read", **wanted}, scope, expires
    )
    moment = datetime.fromtimestamp(expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    known: dict[str, Any] = {
        "token": value,
        "expires_at": moment,
        "permissions": wanted,
        "repository_selection": "selected",
    }
    return Answer(201, fill(m.InstallationToken, known))


@handles("apps/list-repos-accessible-to-installation")
def accessible(call: Call) -> Answer:
    assert call.token is not None
    found = next(i for i in call.fake.installations if i.id == call.token.installation)
    page, link = call.page([shapes.repository(r, m.Repository) for r in found.repositories])
    return Answer(200, {"total_count": len(found.repositories), "repositories": page}, link)


@handles("apps/list-webhook-deliveries", app=True)
def deliveries(call: Call) -> Answer:
    """Newest first, in pages that a cursor names."""
    newest = [d for d in reversed(call.fake.deliveries)]
    if "status" in call.query:
        newest = [
            d
            for d in newest
            if (d.status_code >= 400 or d.status_code == 0) == (call.query["status"] == "failure")
        ]
    size, at = (
        int(call.query.get("per_page", "30")),
        int(call.query.get("cursor", "0").removeprefix("v1_")),
    )
    more = at + size < len(newest)
    link = (
        {
            "link": f'<{call.fake.url}/app/hook/deliveries?per_page={size}&cursor=v1_{at + size}>; rel="next"'
        }
        if more
        else {}
    )
    return Answer(200, [shapes.delivery(d) for d in newest[at : at + size]], link)


@handles("apps/redeliver-webhook-delivery", app=True)
def redeliver(call: Call) -> Answer:
    found = next((d for d in call.fake.deliveries if d.id == int(call.values["delivery_id"])), None)
    if found is None:
        raise Refused(NOT_FOUND)
    webhooks.redeliver(call.fake, found)
    return Answer(202, {})


@handles("meta/get-all-versions", anybody=True)
def versions(call: Call) -> Answer:
    if call.fake.enterprise:
        raise Refused(NOT_FOUND)
    return Answer(200, call.fake.api_versions)
