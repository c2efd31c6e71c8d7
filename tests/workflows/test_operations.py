"""The files for operators name what there is, and the numbers are those of the database."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from prometheus_client import generate_latest
from prometheus_client.registry import CollectorRegistry

from bot.context import metrics
from bot.context.state_metrics import StateCollector
from bot.db.deliveries import Store
from bot.jobs.requests import Delivery, ReviewJob
from bot.settings import Settings
from tests.conftest import ROOT

DEPLOY = ROOT / "templates" / "operations"
_METRIC = re.compile(r"\bspecbot_[a-z_]+")


@pytest.fixture
def store(tmp_path):
    made = Store(f"sqlite:///{tmp_path}/specbot.sqlite")
    yield made
    made.close()


def scraped(engine, folder) -> str:
    registry = CollectorRegistry()
    registry.register(StateCollector(engine, folder, 400))
    return generate_latest(registry).decode()


def test_the_numbers_are_those_of_the_database(store, tmp_path):
    for number in range(3):
        job = ReviewJob(f"review-{number}", 1, 2, "octo/engine", number)
        store.receive([Delivery(f"guid-{number}", "pull_request", job.request(7))])
    store.heartbeat("one")
    text = scraped(store.engine, tmp_path)
    assert 'specbot_queue_depth{queue="reviews"} 3.0' in text
    assert 'specbot_workflows{name="review",state="ENQUEUED"} 3.0' in text
    assert (
        "specbot_database_up 1.0" in text and 'specbot_worker_silent_seconds{worker="one"}' in text
    )
    assert re.search(r"specbot_disk_free_bytes \d", text)


def test_processes_that_this_one_started_are_counted(tmp_path):
    def children() -> float:
        (count,) = re.findall(r"^specbot_children (\S+)", scraped(Gone(), tmp_path), re.MULTILINE)
        return float(count)

    before = children()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert children() == before + 1
        text = scraped(Gone(), tmp_path)
        process.communicate(b"\n")
    (size,) = re.findall(r"^specbot_children_memory_bytes (\S+)", text, re.MULTILINE)
    assert float(size) > 1e5
    assert children() == before


def test_a_database_that_is_away_is_said(tmp_path):
    assert "specbot_database_up 0.0" in scraped(Gone(), tmp_path)


def test_what_is_to_begin_later_does_not_grow_a_queue(store, tmp_path):
    job = ReviewJob("review-1", 1, 2, "octo/engine", 1)
    store.enqueue(replace(job.request(), delay=3600.0))
    text = scraped(store.engine, tmp_path)
    assert 'specbot_workflows{name="review",state="DELAYED"} 1.0' in text
    assert "specbot_queue_depth{" not in text


class Gone:
    def connect(self):
        import sqlalchemy as sa

        raise sa.exc.OperationalError("SELECT 1", {}, Exception("away"))


def known_metrics() -> set[str]:
    source = (ROOT / "bot/context/metrics.py").read_text()
    source += (ROOT / "bot/context/state_metrics.py").read_text()
    return set(re.findall(r'"(specbot_[a-z_]+)"', source))


@pytest.mark.parametrize("name", ["alerts.yml", "dashboard.json"])
def test_every_number_that_is_drawn_or_watched_exists(name):
    named = {
        re.sub(r"_bucket$", "", metric) for metric in _METRIC.findall((DEPLOY / name).read_text())
    }
    assert len(named) > 5 and named <= known_metrics()
    assert metrics.REVIEWS is not None


def test_every_alert_leads_to_a_section():
    sections = {
        re.sub(r"[^a-z ]", "", line[3:].lower()).replace(" ", "-")
        for line in (DEPLOY / "RUNBOOK.md").read_text().splitlines()
        if line.startswith("## ")
    }
    named = re.findall(r"RUNBOOK\.md#([a-z-]+)", (DEPLOY / "alerts.yml").read_text())
    assert named and set(named) <= sections


def test_every_setting_that_is_named_exists():
    named = re.findall(r"SPECBOT_([A-Z_]+)", (DEPLOY / "RUNBOOK.md").read_text())
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_the_dashboard_is_one():
    drawn = json.loads((DEPLOY / "dashboard.json").read_text())
    assert len({panel["id"] for panel in drawn["panels"]}) == len(drawn["panels"]) == 13
