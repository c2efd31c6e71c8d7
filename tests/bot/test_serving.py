"""How `specbot serve` listens, and what `specbot worker` works on."""

from __future__ import annotations

import socket
from types import SimpleNamespace

import pytest

from bot.cli.serve import open_listener
from bot.errors import UserError
from bot.workflows.worker import QUEUES


def test_no_answer_waits_for_its_first_part_to_be_acknowledged():
    with (
        open_listener("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
    ):
        taken, _ = listener.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("told", "kernels", "device", "queues"),
    [
        ((), "cpu", "test", QUEUES),
        ((), "cpu", None, tuple(name for name in QUEUES if name != "device")),
        ((), "cuda", "test", tuple(name for name in QUEUES if name != "gpu")),
        (("--queues", "gpu, ci,gpu"), "cuda", None, ("gpu", "ci")),
    ],
)
def test_a_worker_works_on_every_queue_it_can_unless_told(
    specbot, monkeypatch, tmp_path, told, kernels, device, queues
):
    """On a host without a GPU."""
    asked = []

    def worker(machine, queues, name):
        asked.append(queues)
        raise UserError("unknown-queue", name="that is enough", known=queues)

    settings = SimpleNamespace(
        data_dir=tmp_path,
        executor=lambda kind: kind,
        worker_id=None,
        metrics_port=None,
        writes_per_hour=1,
        local_kernels=kernels,
        local_device=device,
    )
    store = SimpleNamespace(engine=None, close=lambda: None)
    monkeypatch.setattr("bot.workflows.worker.GPU", tmp_path / "none")
    monkeypatch.setattr("bot.cli.worker.os.nice", lambda by: by)
    monkeypatch.setattr("bot.cli.worker.load", lambda file: settings)
    monkeypatch.setattr("bot.cli.worker.logs.set_up", lambda: None)
    monkeypatch.setattr("bot.cli.worker.open_store", lambda settings: store)
    monkeypatch.setattr("bot.cli.worker.ServiceContext.build", lambda settings, store: None)
    monkeypatch.setattr("bot.cli.worker.state_metrics.register", lambda *of: None)
    monkeypatch.setattr("bot.cli.worker.signal.signal", lambda *of: None)
    monkeypatch.setattr("bot.cli.worker.Worker", worker)
    assert specbot("worker", *told).code == 2 and asked == [queues]


def test_a_queue_that_there_is_not_is_named(specbot):
    done = specbot("worker", "--queues", "reviews,nights")
    assert done.code == 2 and "nights" in done.err
