"""A known call is replayed: what it launched the first time, over the tensors of this time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from kernels import _launch
from kernels._launch import Launcher, launcher_of
from kernels.logprobs import Logprobs, logprobs
from kernels.sampling import sample
from kernels.verify import Strategy, VerifyInputs, verify
from tests.kernels.properties import DEVICE, same


class Kernel:
    """Stands for a Triton kernel: notes what it is launched with, addresses for tensors."""

    def __init__(self) -> None:
        self.fn, self.arg_names = self, ["a", "b", "c", "SIZE"]
        self.function, self.packed_metadata = "handle", "metadata"
        self.told: list[tuple[object, ...]] = []

    def __getitem__(self, grid: tuple[int, ...]) -> Callable[..., Kernel]:
        def launch(*arguments: object, **_named: object) -> Kernel:
            self.told.append(("asked", *arguments))
            return self

        return launch

    def run(self, programs: int, _y: int, _z: int, stream: int, *rest: object) -> None:
        self.told.append(("replayed", programs, stream, *rest[5:]))


@pytest.fixture(autouse=True)
def _one_stream(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "kernel" in request.fixturenames:
        monkeypatch.setattr(_launch, "_stream", lambda: 77)


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


X, Y = torch.zeros(4), torch.ones(4)


def call(launch: Launcher, kernel: Kernel, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    def work() -> tuple[torch.Tensor, ...]:
        scratch = launch.empty(3, dtype=torch.int32, device=x.device)
        made = launch.empty(4, dtype=torch.float32, device=x.device)
        launch(kernel, 5, ((x, None, 8), scratch, made), lambda: {"SIZE": 16})
        launch(kernel, 6, (y, made, 8), lambda: {"SIZE": 16}, 1)
        return (made,)

    return launch.run((x, 1, y), work)[0]


def test_addresses_are_those_of_this_call(kernel: Kernel) -> None:
    launch = Launcher()
    first = call(launch, kernel, X, Y)
    assert [told[0] for told in kernel.told] == ["asked", "asked"]
    kernel.told.clear()
    x, y = X.clone(), Y.clone()
    made = call(launch, kernel, x, y)
    assert made.data_ptr() != first.data_ptr() and made.shape == (4,)
    one, other = kernel.told
    assert one[:4] == ("replayed", 5, 77, (x.data_ptr(), None, 8))
    assert one[5:] == (made.data_ptr(), 16)
    assert one[4] not in (0, x.data_ptr(), y.data_ptr(), made.data_ptr())
    assert other == ("replayed", 6, 77, y.data_ptr(), made.data_ptr(), 8, 16)


def test_one_tensor_for_two_arguments_is_not_written_down(kernel: Kernel) -> None:
    launch = Launcher()
    call(launch, kernel, X, X)
    call(launch, kernel, X, Y)
    assert {told[0] for told in kernel.told[:2]} == {"asked"}
    kernel.told.clear()
    call(launch, kernel, X, X)
    assert kernel.told[0][3] == (X.data_ptr(), None, 8) and kernel.told[1][3] == X.data_ptr()


def test_what_is_copied_is_not_written_down(kernel: Kernel) -> None:
    launch = Launcher()
    monitored = []

    def work(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        monitored.append(x)
        launch(kernel, 5, (x.clone(), 0, 0), lambda: {"SIZE": 16})
        return (x,)

    for _again in range(3):
        launch.run((X,), lambda: work(X))
    assert len(monitored) == 3


def test_a_profiler_hears_of_every_launch(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = Launcher()
    call(launch, kernel, X, Y)
    kernel.told.clear()
    settings = SimpleNamespace(launch_enter_hook=SimpleNamespace(calls=[print]))
    monkeypatch.setattr(_launch, "_triton", lambda: (settings, None))
    call(launch, kernel, X, Y)
    assert "replayed" not in {told[0] for told in kernel.told}


Call = Callable[[], dict[str, torch.Tensor]]


def rows(seed: int, count: int = 4, vocab: int = 3000) -> torch.Tensor:
    gen = torch.Generator().manual_seed(seed)
    return torch.randn(count, vocab, generator=gen).bfloat16().to(DEVICE)


def ids(seed: int, count: int = 4) -> torch.Tensor:
    gen = torch.Generator().manual_seed(seed)
    return torch.randint(0, 3000, (count,), generator=gen).to(DEVICE)


def warm(count: int = 4) -> torch.Tensor:
    return torch.full((count,), 0.8, device=DEVICE)


def step(seed: int, strategy: Strategy) -> VerifyInputs:
    drafts = ids(seed, 6).view(2, 3)
    target = rows(seed, 6)
    target[0, drafts[0, 1]] = 20.0
    return VerifyInputs(
        strategy=strategy,
        step_input_ids=drafts,
        seq_lens_this_time=torch.full((2,), 3, dtype=torch.int32, device=DEVICE),
        cu_seqlens_q_output=torch.tensor([0, 3, 6], dtype=torch.int32, device=DEVICE),
        step_idx=ids(seed + 1, 2),
        max_dec_len=ids(seed + 1, 2) + 9,
        end_tokens=ids(seed + 2, 1),
        seeds=ids(seed + 3, 2),
        target_logits=target,
        draft_logits=rows(seed + 4, 4).view(2, 2, -1) if strategy >= Strategy.REJECTION else None,
        temperature=warm(2),
    )


def _each_time(make: Callable[[int], Call]) -> None:
    """What is called in a row gives what the same calls give that nothing is known of."""
    known = [make(seed)() for seed in range(4)]
    for seed, got in enumerate(known):
        _launch._LAUNCHERS.clear()
        for name, want in make(seed)().items():
            same(f"{name} of call {seed}", got[name], want)


def test_known_draws() -> None:
    def make(seed: int) -> Call:
        given = rows(seed), ids(seed), ids(seed + 9), warm()
        return lambda: {"tokens": sample(*given)}

    _each_time(make)


@pytest.mark.parametrize("k", [0, 20])
@pytest.mark.parametrize("into", [False, True])
def test_known_scores(k: int, into: bool) -> None:
    def make(seed: int) -> Call:
        given = rows(seed), ids(seed), k
        out = None
        if into:
            out = Logprobs(**{n: torch.empty_like(v) for n, v in vars(logprobs(*given)).items()})
        return lambda: vars(logprobs(*given, out=out))

    _each_time(make)


@pytest.mark.parametrize(
    "strategy", [Strategy.GREEDY, Strategy.TARGET_MATCH, Strategy.REJECTION, Strategy.BLOCK]
)
def test_known_steps(strategy: Strategy) -> None:
    def make(seed: int) -> Call:
        given = step(seed, strategy)
        return lambda: vars(verify(given))

    _each_time(make)
    # Of other strides: what is not contiguous is copied, and the copies are this call's.
    given = step(1, strategy)
    wide = torch.stack([given.step_idx, given.step_idx], dim=1)[:, 0]
    for name, want in vars(verify(given)).items():
        for _again in range(2):
            same(name, getattr(verify(replace(given, step_idx=wide)), name), want)


@pytest.mark.skipif(DEVICE != "cuda", reason="the interpreter compiles nothing to replay")
def test_ops_are_replayed() -> None:
    for _again in range(2):
        sample(rows(1), ids(1), ids(2), warm())
        logprobs(rows(1), ids(1), 20)
        for strategy in (
            Strategy.GREEDY,
            Strategy.TARGET_MATCH,
            Strategy.REJECTION,
            Strategy.BLOCK,
        ):
            verify(step(1, strategy))
    given = step(1, Strategy.REJECTION)
    for values in (
        ("sampling.sample", (rows(1), ids(1), ids(2), warm(), 1, None)),
        ("logprobs", (rows(1), ids(1), 20, None, None, None, None)),
        ("verify", tuple(vars(given).values())),
    ):
        assert launcher_of(*values)._replay is not None, values[0]
