"""The workers: DBOS with our queues, and what watches over them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import sqlalchemy as sa
import structlog
from dbos import DBOS, DBOSPortableJSONSerializer

from bot.context import metrics
from bot.context.service_context import ServiceContext, set_current_context
from bot.db.claims import Claim, claims_of, executing, put_back
from bot.db.delays import begin_delayed_by_the_common_clock
from bot.db.engine import steps_engine
from bot.db.retention import purge_older
from bot.github import GitHubError
from bot.kernels.actions import GPU
from bot.settings import Settings
from bot.workflows import ci, comments, commits, discussion, kernels, publish_pages, review, upkeep
from bot.workflows.reconcile import deliveries, failures, pulls

QUEUES = ("upkeep", "reviews", "commands", "comments", "ci", "gpu", "device")
# Every durable workflow. DBOS finds them by name, so that their modules must be imported before it
# is launched.
WORKFLOWS = (
    review.review_pull,
    publish_pages.note_closed,
    discussion.note_discussion,
    comments.answer_comment,
    ci.look_at_commit,
    ci.report_ci,
    kernels.report_kernels,
    kernels.run_kernels,
    upkeep.change_access,
    commits.review_again,
    commits.check_merge_group,
)
# Of what workflows write down. DBOS gives unfinished work to workers of its own version alone: a
# release that took another number here would leave for ever what the one before had begun.
_WORK_VERSION = "0.1.0"
_POLL = 0.25
_HOUR = 3600.0
_GIB = 1 << 30
_DAY = 24 * 3600.0
_log = structlog.get_logger("specbot.worker")


def usual_queues(settings: Settings) -> tuple[str, ...]:
    """The queues of a worker that was told none: a host without a GPU, or that is to run no device
    code, leaves that queue to another."""
    left = set()
    if settings.local_kernels != "cpu" and not GPU.exists():
        left.add("gpu")
    if settings.local_device is None:
        left.add("device")
    return tuple(name for name in QUEUES if name not in left)


class Worker:
    """Runs the workflows of some queues until it is stopped. One a process."""

    def __init__(self, context: ServiceContext, queues: Sequence[str], name: str) -> None:
        self._context = context
        self._queues = queues
        self._name = name
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        # Of the last look.
        self._dropped: set[Claim] = set()

    def start(self) -> None:
        """Take up work, first of all what this worker left when it last died."""
        set_current_context(self._context)
        begin_delayed_by_the_common_clock()
        settings = self._context.settings
        DBOS(
            config={
                "name": "specbot",
                "system_database_url": settings.database,
                "system_database_engine": steps_engine(settings.database),
                "application_version": _WORK_VERSION,
                "executor_id": self._name,
                "serializer": DBOSPortableJSONSerializer(),
                "run_migrations": False,
                "log_level": "WARNING",
            }
        )
        DBOS.listen_queues(self._queues)
        DBOS.launch()
        self._register_queues()
        self._start_loops()

    def _register_queues(self) -> None:
        """What one account caused is done one after the other. Between accounts it is drawn by lot
        who is next, so that a long queue of one is no longer way for another."""
        DBOS.register_queue(
            "reviews",
            partition_concurrency=1,
            worker_concurrency=self._context.settings.reviews_at_once,
            polling_interval_sec=_POLL,
        )
        DBOS.register_queue(
            "commands", partition_concurrency=1, worker_concurrency=2, polling_interval_sec=_POLL
        )
        DBOS.register_queue("upkeep", worker_concurrency=1, polling_interval_sec=_POLL)
        DBOS.register_queue("comments", worker_concurrency=2, polling_interval_sec=_POLL)
        # Two runs at a time would measure each other.
        DBOS.register_queue("gpu", worker_concurrency=1, polling_interval_sec=_POLL)
        # One takes every core.
        DBOS.register_queue("device", worker_concurrency=1, polling_interval_sec=_POLL)
        DBOS.register_queue(
            "ci", partition_concurrency=1, worker_concurrency=2, polling_interval_sec=_POLL
        )

    def _start_loops(self) -> None:
        context = self._context
        settings = context.settings
        self._every(settings.heartbeat_every, self._watch)
        self._every(_POLL, lambda: context.backoff.bring_back(context.store.engine))
        self._every(settings.dead_after, self._take_up_dropped)
        self._every(_HOUR, self._remove_clones)
        if "reviews" in self._queues:
            self._every(settings.redeliver_every, lambda: deliveries.redeliver(context))
            self._every(settings.reconcile_every, lambda: pulls.enqueue_missed(context))
            self._every(_DAY, self._purge)
            self._every(settings.retry_failed_every, lambda: failures.order_again(context))

    def _purge(self) -> None:
        """Delete what is older than the settings keep."""
        store, settings = self._context.store, self._context.settings
        reports, steps = settings.keep_reports_days, settings.keep_steps_days
        purged = purge_older(store.engine, store.client, reports * _DAY, steps * _DAY)
        _log.info("purged what is old", rows=purged.rows, workflows=purged.workflows)

    def _remove_clones(self) -> None:
        """Delete clones that are old or too many; each host has its own."""
        settings = self._context.settings
        age, size = settings.keep_clones_days * _DAY, settings.clones_gib * _GIB
        removed = self._context.checkouts.remove_unused(age, size)
        if removed:
            _log.info("removed clones that were not used", clones=removed)

    def stop(self) -> None:
        """End without waiting for running workflows: they are taken up again at the next start."""
        self._stop.set()
        for thread in self._threads:
            thread.join(2)
        DBOS.destroy(workflow_completion_timeout_sec=0)

    def _every(self, seconds: float, task: Callable[[], None]) -> None:
        """Run `task` every so many seconds in a thread of its own. GitHub or the database being
        away is no reason to end, nor is a mistake of ours: a worker whose heartbeat ended would
        lose its work to another while it does it."""

        def loop() -> None:
            stopped = False
            while not stopped:
                try:
                    task()
                except (GitHubError, sa.exc.SQLAlchemyError) as error:
                    _log.warning("a periodic task failed", error=str(error))
                except Exception:
                    # The edge of this thread.
                    _log.exception("a periodic task broke")
                stopped = self._stop.wait(seconds)

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _take_up_dropped(self) -> None:
        """Put into their queues again what is ours and that nobody here does.

        DBOS lets go of a workflow where the database fails it in a way that it does not expect, and
        no other worker takes over from one that lives. What is begun at this moment looks the same,
        but not at two looks.
        """
        engine, backoff = self._context.store.engine, self._context.backoff
        claims = claims_of(engine, self._name)
        done = executing() | backoff.waiting()
        dropped = {claim for claim in claims if claim.workflow not in done}
        for claim in dropped & self._dropped:
            if put_back(engine, claim, counted=True):
                _log.warning("took up work that was dropped", workflow=claim.workflow)
        self._dropped = dropped

    def _watch(self) -> None:
        """Say that we live, and take over from those who do not."""
        store, settings = self._context.store, self._context.settings
        store.heartbeat(self._name)
        for worker in store.claim_stale_workers(settings.dead_after, self._name):
            left = store.client.list_workflows(executor_id=worker, status="PENDING")
            for workflow in left:
                store.client.resume_workflow(workflow.workflow_id, queue_name=workflow.queue_name)
            metrics.TAKEOVERS.inc(len(left))
            _log.warning("took over from a dead worker", worker=worker, workflows=len(left))
            store.remove_worker(worker)
