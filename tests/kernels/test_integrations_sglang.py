"""``kernels.integrations.sglang`` behind fakes of SGLang's modules: what SGLang would call is
called."""

from __future__ import annotations

import random
from itertools import pairwise
from types import ModuleType, SimpleNamespace

import pytest
import torch

from kernels.integrations import sglang
from tests.kernels.properties import DEVICE
from tests.kernels.stand_ins import import_from

EAGLE = "sglang.srt.speculative.eagle_utils"
TREE = "sglang.kernels.ops.speculative.sampling"
SIMULATION = "sglang.srt.speculative.spec_utils"
PARALLEL = "sglang.srt.runtime_context"
ATTENTION = "sglang.srt.layers.dp_attention"
USER = "sglang.srt.speculative.eagle_worker_v2"
SAMPLER = "tree_speculative_sampling_target_only"
NODES, DEPTH, VOCAB = 8, 4, 12


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """SGLang's modules as far as the adapter looks at them, with functions that say their name."""
    paths = (EAGLE, TREE, SIMULATION, PARALLEL, ATTENTION, USER)
    modules = {path: ModuleType(path) for path in paths}
    setattr(modules[TREE], SAMPLER, lambda *args: TREE)
    setattr(modules[EAGLE], SAMPLER, getattr(modules[TREE], SAMPLER))
    modules[EAGLE].eagle_sample = lambda *args, **options: EAGLE
    modules[USER].eagle_sample = modules[EAGLE].eagle_sample
    modules[EAGLE].spec = SimpleNamespace(
        speculative_use_rejection_sampling=False,
        speculative_accept_threshold_single=1.0,
        speculative_accept_threshold_acc=1.0,
    )
    modules[EAGLE].get_spec = lambda: modules[EAGLE].spec
    modules[SIMULATION].SIMULATE_ACC_LEN = -1
    modules[PARALLEL].group = Group()
    modules[PARALLEL].get_parallel = lambda: SimpleNamespace(tp_group=modules[PARALLEL].group)
    modules[ATTENTION].is_dp_attention_enabled = lambda: False
    import_from(modules, monkeypatch)
    monkeypatch.setattr(sglang, "_OWN", {})
    return modules


class Group:
    """A rank among ``world_size``, which counts what it is sent."""

    world_size = 1
    sent = 0

    def broadcast(self, tensor: torch.Tensor, src: int) -> None:
        self.sent += 1


def trees(count: int, seed: int) -> SimpleNamespace:
    """Random trees as SGLang points through them; a node's children come in any order."""
    rng = random.Random(seed)
    children = [[[] for _ in range(NODES)] for _ in range(count)]
    tokens = [[0] * NODES for _ in range(count)]
    for b in range(count):
        for node in range(1, NODES):
            children[b][rng.randrange(node)].append(node)
        for family in children[b]:
            rng.shuffle(family)
            names = rng.sample(range(VOCAB), len(family))
            for node, token in zip(family, names, strict=True):
                tokens[b][node] = token
    first = [[family[0] if family else -1 for family in tree] for tree in children]
    sibling = [[-1] * NODES for _ in range(count)]
    for b, tree in enumerate(children):
        for family in tree:
            for node, following in pairwise(family):
                sibling[b][node] = following
    return pointed(tokens, first, sibling)


def pointed(
    tokens: list[list[int]], first: list[list[int]], sibling: list[list[int]]
) -> SimpleNamespace:
    """SGLang's ``EagleVerifyInput``, as far as it is looked at."""
    count, nodes = len(tokens), len(tokens[0])
    return SimpleNamespace(
        draft_token=torch.tensor(tokens, device=DEVICE).flatten(),
        retrieve_index=torch.arange(count * nodes, device=DEVICE).view(count, nodes),
        retrieve_next_token=torch.tensor(first, device=DEVICE),
        retrieve_next_sibling=torch.tensor(sibling, device=DEVICE),
        draft_token_num=nodes,
        max_tree_depth=min(DEPTH, nodes),
    )


def walked(given: SimpleNamespace, best: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """(predict, accept_index) of a walk to the child that is the best token, link by link."""
    nodes, depth = given.draft_token_num, given.max_tree_depth
    tokens = given.draft_token.view(-1, nodes).tolist()
    first, sibling = given.retrieve_next_token.tolist(), given.retrieve_next_sibling.tolist()
    predict, paths = [0] * len(best) * nodes, []
    for b in range(len(best)):
        path, node = [], 0
        while node >= 0:
            path.append(b * nodes + node)
            wanted = predict[b * nodes + node] = best[b][node]
            node = first[b][node] if len(path) < depth else -1
            while node >= 0 and tokens[b][node] != wanted:
                node = sibling[b][node]
        paths.append(path + [-1] * (depth - len(path)))
    return predict, paths


def how(count: int, **asked: object) -> SimpleNamespace:
    """A batch of requests that draw at temperature 1, unless asked otherwise."""
    info = {
        "is_all_greedy": False,
        "temperatures": torch.ones(count, 1, device=DEVICE),
        "need_top_k_sampling": False,
        "need_top_p_sampling": False,
        "acc_additive_penalties": None,
        "acc_scaling_penalties": None,
        "logit_bias": None,
        "sampling_seed": None,
    }
    return SimpleNamespace(
        sampling_info=SimpleNamespace(**info | asked),
        forward_mode=SimpleNamespace(is_idle=lambda: False),
    )


def sample(
    engine: dict[str, ModuleType], given: SimpleNamespace, probs: torch.Tensor,
    seed: int = 0,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:  # fmt: skip
    """SGLang's call of its tree sampler: (predicts, accept_index, accept_token_num)."""
    count, nodes = probs.shape[:2]
    predicts = torch.zeros(count * nodes, dtype=torch.int32, device=DEVICE)
    shape = (count, given.max_tree_depth)
    index = torch.full(shape, -1, dtype=torch.int32, device=DEVICE)
    number = torch.zeros(count, dtype=torch.int32, device=DEVICE)
    generator = torch.Generator(DEVICE).manual_seed(seed)
    getattr(engine[EAGLE], SAMPLER)(
        predicts=predicts, accept_index=index, accept_token_num=number,
        candidates=given.draft_token.view(count, nodes), retrive_index=given.retrieve_index,
        retrive_next_token=given.retrieve_next_token,
        retrive_next_sibling=given.retrieve_next_sibling,
        uniform_samples=torch.rand(count, nodes, generator=generator, device=DEVICE),
        uniform_samples_for_final_sampling=torch.rand(count, generator=generator, device=DEVICE),
        target_probs=probs, draft_probs=torch.zeros_like(probs), threshold_single=1.0,
        threshold_acc=1.0, deterministic=True,
    )  # fmt: skip
    return predicts, index, number


def test_a_certain_target_leads_down_every_tree(engine: dict[str, ModuleType]) -> None:
    sglang.install()
    given = trees(60, 1)
    best = torch.randint(VOCAB, (60, NODES), generator=seeded(2), device=DEVICE)
    predicts, index, number = sample(engine, given, torch.nn.functional.one_hot(best, VOCAB) * 1.0)
    predict, paths = walked(given, best.tolist())
    assert predicts.tolist() == predict
    assert index.tolist() == paths
    assert number.tolist() == [sum(place >= 0 for place in path) - 1 for path in paths]


def test_greedy_requests_walk_to_the_best_token(engine: dict[str, ModuleType]) -> None:
    sglang.install()
    given = trees(60, 3)
    logits = torch.randn(60 * NODES, VOCAB, generator=seeded(4), device=DEVICE)
    predict, lens, index = engine[USER].eagle_sample(
        given,
        how(60, temperatures=torch.zeros(60, 1, device=DEVICE)),
        SimpleNamespace(next_token_logits=logits),
    )
    wanted, paths = walked(given, logits.argmax(dim=1).view(60, NODES).tolist())
    assert predict.dtype == lens.dtype == index.dtype == torch.int32
    assert predict.tolist() == wanted
    assert index.tolist() == paths
    assert lens.tolist() == [sum(place >= 0 for place in path) for path in paths]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator(DEVICE).manual_seed(seed)


TARGET = torch.tensor([0.4, 0.3, 0.2, 0.1])
TRIALS = 150
# So many that a token of a tenth is missing among them once in 500 times.
FEW = 60


def forked(trials: int) -> SimpleNamespace:
    """So many times a root with the drafts 1 and 2."""
    return pointed([[0, 1, 2]] * trials, [[1, -1, -1]] * trials, [[-1, 2, -1]] * trials)


def assert_follows(tokens: torch.Tensor, target: torch.Tensor) -> None:
    """Within five deviations of the least certain token."""
    seen = torch.bincount(tokens.cpu().long(), minlength=len(target)) / len(tokens)
    assert (seen - target).abs().max() < 5 * (0.25 / len(tokens)) ** 0.5


def test_tokens_follow_the_target_whatever_the_drafts_are(engine: dict[str, ModuleType]) -> None:
    sglang.install()
    probs = TARGET.to(DEVICE).expand(TRIALS, 3, 4).contiguous()
    predicts, _index, number = sample(engine, forked(TRIALS), probs)
    first = predicts.view(TRIALS, 3)[:, 0]
    assert_follows(first, TARGET)
    assert torch.equal(number > 0, (first == 1) | (first == 2))


def test_the_same_coins_give_the_same_tokens(engine: dict[str, ModuleType]) -> None:
    sglang.install()
    probs = TARGET.to(DEVICE).expand(FEW, 3, 4).contiguous()
    once, again, other = (sample(engine, forked(FEW), probs, seed=seed)[0] for seed in (5, 5, 6))
    assert torch.equal(once, again)
    assert not torch.equal(once, other)


def draw(engine: dict[str, ModuleType], trials: int, **asked: object) -> torch.Tensor:
    """The first token of every trial, of SGLang's step with logits."""
    torch.manual_seed(7)
    logits = SimpleNamespace(next_token_logits=TARGET.log().to(DEVICE).repeat(trials * 3, 1))
    predict, _lens, _index = engine[USER].eagle_sample(forked(trials), how(trials, **asked), logits)
    return predict.view(trials, 3)[:, 0]


def drawn(engine: dict[str, ModuleType], **asked: object) -> set[int]:
    return set(draw(engine, FEW, **asked).tolist())


def test_logits_are_drawn_from_at_temperature_and_limits(engine: dict[str, ModuleType]) -> None:
    sglang.install()
    assert_follows(draw(engine, TRIALS), TARGET)
    cold = torch.full((FEW, 1), 0.01, device=DEVICE)
    assert drawn(engine, temperatures=cold) == {0}
    three = torch.full((FEW,), 3, dtype=torch.int32, device=DEVICE)
    half = torch.full((FEW,), 0.5, device=DEVICE)
    assert drawn(engine, need_top_k_sampling=True, top_ks=three, top_ps=half) == {0, 1, 2}
    assert drawn(engine, need_top_p_sampling=True, top_ks=three, top_ps=half) == {0, 1}
    endless = torch.full((FEW,), 1 << 30, dtype=torch.int32, device=DEVICE)
    assert drawn(engine, need_top_k_sampling=True, top_ks=endless) == {0, 1, 2, 3}


def test_ranks_agree_on_what_was_drawn(engine: dict[str, ModuleType]) -> None:
    sglang.install()
    draw(engine, 1)
    assert engine[PARALLEL].group.sent == 0
    engine[PARALLEL].group.world_size = 2
    draw(engine, 1)
    assert engine[PARALLEL].group.sent == 3


@pytest.mark.parametrize(
    "asked", ["acc_additive_penalties", "acc_scaling_penalties", "logit_bias", "sampling_seed"]
)
def test_what_a_request_asks_besides_is_left_to_sglang(
    engine: dict[str, ModuleType], asked: str
) -> None:
    sglang.install()
    assert engine[USER].eagle_sample(None, how(1, **{asked: torch.ones(1)}), None) == EAGLE


def test_what_these_kernels_do_not_do_is_left_to_sglang(engine: dict[str, ModuleType]) -> None:
    sglang.install()
    sglang.install()
    step = engine[USER].eagle_sample
    assert step(None, None, None, object()) == EAGLE
    assert step(None, None, None, None, 20) == EAGLE
    assert step(None, None, None, watermark_state=object()) == EAGLE
    assert step(None, how(1, is_all_greedy=True), None) == EAGLE
    idle = how(1)
    idle.forward_mode.is_idle = lambda: True
    assert step(None, idle, None) == EAGLE
    engine[EAGLE].spec.speculative_accept_threshold_acc = 0.9
    assert step(None, how(1), None) == EAGLE
    engine[EAGLE].spec.speculative_accept_threshold_acc = 1.0
    engine[EAGLE].spec.speculative_use_rejection_sampling = True
    assert step(None, how(1), None) == EAGLE
    engine[EAGLE].spec.speculative_use_rejection_sampling = False
    engine[SIMULATION].SIMULATE_ACC_LEN = 2
    assert step(None, how(1), None) == EAGLE
    sampler = getattr(engine[EAGLE], SAMPLER)
    assert sampler(*[None] * 11, 0.5, 1.0) == TREE
    assert sampler(*[None] * 11, 1.0, 0.5) == TREE


def test_without_sglang_it_says_so() -> None:
    with pytest.raises(ImportError, match="sglang"):
        sglang.install()
