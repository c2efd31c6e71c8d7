"""Numbers for Prometheus."""

from __future__ import annotations

from prometheus_client import Counter, Gauge, Histogram

DELIVERIES = Counter("specbot_deliveries_total", "Webhooks by what became of them", ["outcome"])
RECEIVE_SECONDS = Histogram(
    "specbot_receive_seconds", "From a webhook's last byte to its durable storage"
)
REVIEWS = Counter("specbot_reviews_total", "Reviews by how they ended", ["outcome"])
REVIEW_SECONDS = Histogram(
    "specbot_review_seconds",
    "A review from its start to its end",
    buckets=(1, 2, 5, 10, 30, 60, 300),
)
TAKEOVERS = Counter("specbot_takeovers_total", "Workflows taken over from a worker that died")
REDELIVERIES = Counter(
    "specbot_redeliveries_total", "Failed deliveries that GitHub was asked to send again"
)
COMMANDS = Counter(
    "specbot_commands_total", "Commands of comments by how they ended", ["command", "outcome"]
)
CI_REPORTS = Counter("specbot_ci_reports_total", "CI reports by how they ended", ["outcome"])
ORDERED_AGAIN = Counter(
    "specbot_ordered_again_total", "Workflows that ended in an error and were ordered again"
)
GIVEN_UP = Gauge(
    "specbot_given_up", "Workflows of three days that ended in an error each time they were ordered"
)
