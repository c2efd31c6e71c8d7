"""What an App that was made lacks: each sign is one line, good, missing, or only worth knowing."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import httpx
import sqlalchemy as sa
from sqlalchemy.engine import make_url

from bot.app.check_result import CheckResult, result
from bot.app.permissions import events, missing_permissions
from bot.db.engine import engine_for
from bot.github import Client, GitHubError
from bot.redact import redact
from bot.settings import Settings

_TIMEOUT = httpx.Timeout(10.0)
# Our tokens are dated a minute back and live for five, which is what a wrong clock may eat up.
_MOST_SKEW = 30.0
_SHORTEST_SECRET = 16
_WINDOW = 3 * 24 * 3600.0


def run_checks(settings: Settings) -> Iterator[CheckResult]:
    """Every sign, in the order in which one would put things right."""
    yield from _files(settings)
    yield from _secrets(settings)
    yield _database(settings)
    yield from _github(settings)
    yield result(
        "app.oauth" if settings.oauth else "app.oauth-none", True if settings.oauth else None
    )


def _files(settings: Settings) -> Iterator[CheckResult]:
    """Files with secrets that other people on the machine can read."""
    for path in (settings.config_file, settings.private_key_file):
        if path is not None and path.exists() and _others_may_read(path):
            yield result("app.file-open", False, path=str(path))


def _others_may_read(path: Path) -> bool:
    return stat.S_IMODE(path.stat().st_mode) & 0o077 != 0


def _secrets(settings: Settings) -> Iterator[CheckResult]:
    weak = sum(len(s.get_secret_value()) < _SHORTEST_SECRET for s in settings.webhook_secrets)
    yield result("app.secret-weak" if weak else "app.secret", not weak, least=_SHORTEST_SECRET)


def _database(settings: Settings) -> CheckResult:
    """Whether the database answers; one in a file that is not there yet is made at the first
    start."""
    try:
        url = make_url(settings.database)
        if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
            return _new_file(Path(url.database).parent)
        engine = engine_for(settings.database)
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
        engine.dispose()
    except (sa.exc.SQLAlchemyError, ImportError) as error:
        return result("app.database-silent", False, reason=redact(str(error).splitlines()[0]))
    return result("app.database", True, kind=engine.dialect.name)


def _new_file(folder: Path) -> CheckResult:
    there = next(path for path in (folder, *folder.parents) if path.exists())
    good = there.is_dir() and os.access(there, os.W_OK)
    return result("app.database-new" if good else "app.database-nowhere", good, path=str(folder))


def _github(settings: Settings) -> Iterator[CheckResult]:
    clock = _clock(settings.github_api_url)
    yield clock
    if clock.key == "app.api-silent":
        return
    client = settings.app.itself
    try:
        app = client.get("/app")
    except GitHubError as error:
        yield result("app.key-refused", False, id=settings.app_id, reason=str(error))
        return
    yield result("app.known", True, slug=app["slug"], id=settings.app_id)
    try:
        yield from _granted(client, app)
        yield from _hook(client)
        yield _deliveries(client)
    except GitHubError as error:
        yield result("app.github-refused", False, reason=str(error))


def _clock(api: str) -> CheckResult:
    """The API's answer has GitHub's time. `GET /rate_limit` needs no token and counts against no
    limit."""
    try:
        told = httpx.get(f"{api.rstrip('/')}/rate_limit", timeout=_TIMEOUT).headers.get("date", "")
        skew = time.time() - parsedate_to_datetime(told).timestamp()
    except httpx.HTTPError as error:
        return result("app.api-silent", False, url=api, reason=type(error).__name__)
    except ValueError:
        return result("app.clock-unknown", None)
    good = abs(skew) <= _MOST_SKEW
    return result(
        "app.clock" if good else "app.clock-off", good, seconds=round(abs(skew)), ahead=skew > 0
    )


def _granted(client: Client, app: dict[str, Any]) -> Iterator[CheckResult]:
    """What the App asks for, and what the owners of its installations have agreed to."""
    missing = missing_permissions(app["permissions"])
    yield result(
        "app.permissions-missing" if missing else "app.permissions", not missing, names=missing
    )
    unheard = sorted(set(events()) - set(app["events"]))
    yield result("app.events-missing" if unheard else "app.events", not unheard, names=unheard)
    installations = list(client.pages("/app/installations"))
    for one in installations:
        missing = missing_permissions(one["permissions"])
        name = str(one["account"]["login"])
        if one["suspended_at"] is not None:
            yield result("app.suspended", False, name=name)
        elif missing:
            yield result("app.not-agreed", False, name=name, names=missing)
    key = "app.installations" if installations else "app.installations-none"
    yield result(key, bool(installations), count=len(installations))


def _hook(client: Client) -> Iterator[CheckResult]:
    """The webhook's settings, and whether the service answers at its address."""
    hook = client.get("/app/hook/config")
    url = str(hook.get("url") or "")
    if not url.endswith("/webhook"):
        yield result("app.hook-elsewhere", False, url=url)
        return
    if hook.get("content_type") != "json":
        yield result("app.hook-form", False)
    if not hook.get("secret"):
        yield result("app.hook-unsigned", False)
    if str(hook.get("insecure_ssl", "0")) != "0":
        yield result("app.hook-insecure", False)
    try:
        status = httpx.get(url.removesuffix("/webhook") + "/healthz", timeout=_TIMEOUT).status_code
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        yield result("app.hook-silent", False, url=url, reason=type(error).__name__)
        return
    yield result(
        "app.hook" if status == 200 else "app.hook-strange", status == 200, url=url, status=status
    )


def _deliveries(client: Client) -> CheckResult:
    """The last hundred attempts of the last three days, by what came of each webhook in the end."""
    delivered: dict[str, bool] = {}
    statuses: dict[str, int] = {}
    since = datetime.fromtimestamp(time.time() - _WINDOW, UTC)
    for attempt in client.get("/app/hook/deliveries", per_page=100):
        if datetime.fromisoformat(attempt["delivered_at"]) >= since:
            guid, status = attempt["guid"], int(attempt["status_code"])
            delivered[guid] = delivered.get(guid, False) or 200 <= status < 300
            statuses.setdefault(guid, status)
    failed = {guid: statuses[guid] for guid, good in delivered.items() if not good}
    if 401 in failed.values():
        return result("app.deliveries-refused", False, failed=len(failed), count=len(delivered))
    if failed:
        seen = [str(status) for status in sorted(set(failed.values()))]
        return result(
            "app.deliveries-failed", False, failed=len(failed), count=len(delivered), statuses=seen
        )
    key = "app.deliveries" if delivered else "app.deliveries-none"
    return result(key, True if delivered else None, count=len(delivered))
