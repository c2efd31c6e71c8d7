"""Trees of drafts against their law: how they are built, and which path of one stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import pytest
import torch

from kernels.sampling.reference import sample_reference
from kernels.tree import Strategy, TreeCandidates, TreeInputs, build_tree, verify_tree
from kernels.tree.reference import build_reference, verify_tree_reference
from kernels.verify.inputs import VerifyInputs
from kernels.verify.reference import verify_reference
from tests.kernels.conftest import gpu_only
from tests.kernels.gpu_checks import assert_graph_replays, assert_no_recompilation, assert_no_sync
from tests.kernels.logits import far_rows, make_logits
from tests.kernels.properties import DEVICE, for_the_law, property_test, same
from tests.kernels.strategies import coin, independent, integers, mostly

GPU = DEVICE == "cuda"
NAMES = ("draft_tokens", "parents", "positions", "next_token", "next_sibling", "mask")
STRATEGIES = (Strategy.GREEDY, Strategy.TARGET_MATCH, Strategy.REJECTION)
MARGIN = 1e-5
CHUNK = 16


@dataclass(frozen=True)
class Grown:
    """Candidates of a draft model."""

    batch: int
    topk: int
    depth: int
    nodes: int
    scores: str  # falling along a path, tied, with NaN, or without any order
    strided: bool
    seed: int


def draw_grown(rng: Random) -> Grown:
    topk, depth = rng.randint(1, 4), rng.randint(1, 4)
    candidates = topk + (depth - 1) * topk * topk
    return Grown(
        batch=rng.randint(1, 3),
        topk=topk,
        depth=depth,
        nodes=rng.randint(1, min(candidates, 24) + 1),
        scores=rng.choice(["falling", "falling", "ties", "nan", "any"]),
        strided=coin(rng),
        seed=rng.getrandbits(31),
    )


GROWN = independent(draw_grown)


def candidates_of(case: Grown) -> dict[str, object]:
    gen = torch.Generator().manual_seed(case.seed)
    ints = integers(gen)
    batch, topk = case.batch, case.topk
    levels = [torch.randn(batch, topk, generator=gen)]
    blocks = [torch.arange(-1, topk).expand(batch, -1)]
    best, start = levels[0], 0
    for _step in range(1, case.depth):
        fall = torch.randn(batch, topk, topk, generator=gen).abs()
        fall = fall.round() if case.scores == "ties" else fall
        levels.append((best[:, :, None] - fall).flatten(1))
        start += levels[-2].shape[1]
        best, chosen = levels[-1].topk(topk, dim=1)
        blocks.append(chosen + start)
    scores, parents = torch.cat(levels, dim=1), torch.cat(blocks, dim=1)
    if case.scores == "any":
        scores = torch.randn(scores.shape, generator=gen)
        parents = ints(-2, scores.shape[1] + 2, *parents.shape)
    if case.scores == "nan":
        scores[torch.rand(scores.shape, generator=gen) < 0.3] = float("nan")
    wide = torch.stack([scores, scores * 0], dim=2)
    made = {
        "scores": wide[:, :, 0] if case.strided else scores,
        "tokens": ints(0, 100, *scores.shape),
        "parent_list": parents,
        "verified_id": ints(0, 100, batch),
        "seq_lens": ints(1, 99, batch).to(torch.int32 if case.seed % 2 else torch.int64),
    }
    moved = {name: value.to(DEVICE) for name, value in made.items()}
    return moved | {"topk": topk, "draft_token_num": case.nodes}


def check_build(case: Grown) -> None:
    given = candidates_of(case)
    got = build_tree(TreeCandidates(**given))
    for name, want in zip(
        NAMES, build_reference(TreeCandidates(**for_the_law(given))), strict=True
    ):
        same(name, getattr(got, name), want)


test_trees_are_built_as_the_law_says = property_test(GROWN)(check_build)


@dataclass(frozen=True)
class Judged:
    """A tree before the target."""

    strategy: Strategy
    batch: int
    nodes: int
    most: int
    vocab: int
    dtype: torch.dtype
    values: str
    temperature: float | None  # None: mixed, greedy requests among them
    cut: bool
    flags: bool
    strided: bool
    seed: int


def draw_judged(rng: Random) -> Judged:
    # On a GPU all that a kernel is compiled for comes from the case's kind.
    kind = Random(rng.randrange(48)) if GPU else rng
    nodes = kind.choice([1, 4, 9, 24]) if GPU else mostly(rng, [2, 3, 4, 4], [1, 6, 9])
    case = Judged(
        strategy=kind.choice(STRATEGIES),
        batch=rng.randint(1, 3) if GPU else mostly(rng, [1], [2, 3]),
        nodes=nodes,
        most=kind.randint(1, min(nodes, 5)),
        vocab=kind.choice([5, 31, 96, 100] if GPU else [3, 4, 5, 16, 31]),
        dtype=kind.choice([torch.bfloat16, torch.float32]),
        values=rng.choice(["normal", "flat", "flat", "ties", "few finite", "specials", "nan"]),
        temperature=rng.choice([None, 0.0, 0.6, 1.0, 1.0]),
        cut=coin(kind),
        flags=coin(kind),
        strided=coin(kind),
        seed=rng.getrandbits(31),
    )
    # Of 8 bits now and then; on a GPU they would be compiled beside all others.
    return replace(case, dtype=torch.float8_e4m3fn) if not GPU and case.seed % 4 == 0 else case


JUDGED = independent(draw_judged)


def tree_of(case: Judged) -> TreeInputs:
    gen = torch.Generator().manual_seed(case.seed)
    ints = integers(gen)
    batch, nodes, vocab = case.batch, case.nodes, case.vocab
    logits = _logits(case, gen)
    place = torch.arange(nodes)
    parents = ints(0, 1 << 30, batch, nodes) % place.clamp(min=1)
    parents[:, 0] = -1
    # Most tokens are likely after their parent, some are a sibling's, some are none at all.
    row = logits.float().nan_to_num(-1e30, 1e30, -1e30)
    above = row.gather(1, parents.clamp(min=0)[:, :, None].expand(-1, -1, vocab))
    noise = -torch.empty(above.shape).exponential_(generator=gen).log()
    tokens = (above + noise).argmax(dim=2)
    anything = ints(-1, vocab + 2, batch, nodes)
    tokens = torch.where(torch.rand(batch, nodes, generator=gen) < 0.1, anything, tokens)
    if case.flags:
        astray = torch.rand(batch, nodes, generator=gen) < 0.1
        parents = torch.where(astray, ints(-1, nodes + 1, batch, nodes), parents)
    scales = torch.tensor([0.0, 0.6, 1.0, 1.7])
    temperature = scales[ints(0, 4, batch)]
    if case.temperature is not None:
        temperature = torch.full((batch,), case.temperature)
    step_idx = ints(0, 50, batch)
    greedy = case.strategy == Strategy.GREEDY
    cut = ints(0, vocab, batch, nodes)
    made = TreeInputs(
        strategy=case.strategy,
        draft_tokens=tokens,
        parents=parents,
        target_logits=logits,
        step_idx=step_idx,
        max_dec_len=step_idx + (ints(0, 7, batch) if case.flags else 99),
        end_tokens=ints(0, vocab, 2 if case.flags else 0),
        most_tokens=case.most,
        seeds=None if greedy else ints(-(2**62), 2**62, batch),
        temperature=None if greedy else temperature,
        target_cut_logit=row.gather(2, cut[:, :, None])[:, :, 0] if case.cut else None,
        target_cut_id=cut if case.cut else None,
        stop_flags=ints(0, 5, batch) == 0 if case.flags else None,
    )
    moved = {n: v.to(DEVICE) for n, v in vars(made).items() if isinstance(v, torch.Tensor)}
    moved["target_logits"] = moved["target_logits"][:, :, :vocab]
    return replace(made, **moved)


def _logits(case: Judged, gen: torch.Generator) -> torch.Tensor:
    wide = case.vocab + 3 if case.strided else case.vocab
    flat = (case.batch * case.nodes, wide)
    if case.values == "flat":
        values = torch.randn(flat, generator=gen) * 0.3
    elif case.values == "nan":
        values = make_logits("normal", flat, gen)
        values[torch.rand(flat[0], generator=gen) < 0.3] = float("nan")
    else:
        values = make_logits(case.values, flat, gen)
    return values.to(case.dtype).view(case.batch, case.nodes, wide)[:, :, : case.vocab]


def check_verify(case: Judged) -> None:
    """Equal to the law wherever no decision was closer than float32 can tell."""
    compare(tree_of(case), CHUNK)


def compare(given: TreeInputs, chunk: int) -> None:
    from kernels.tree.walk import verify_tree_triton

    *law, margin = (part.cpu() for part in verify_tree_reference(for_the_law(given), chunk=chunk))
    got = [part.cpu() for part in verify_tree_triton(given, chunk=chunk)]
    sure = margin > MARGIN
    for name, mine, want in zip(("tokens", "index", "count"), got, law, strict=True):
        same(name, mine[sure], want[sure])
    tokens, index, count = got
    valid = torch.arange(tokens.shape[1]) < count[:, None]
    assert (tokens[~valid] == -1).all() and (index[~valid] == -1).all()
    assert (tokens[valid] >= 0).all() and (tokens[valid] < given.target_logits.shape[2]).all()


test_walks_match_the_law = property_test(JUDGED)(check_verify)


def small(strategy: Strategy, **change: object) -> TreeInputs:
    """One request over 12 tokens: the root has the children 4 and 5, and 5 has 6 and 7."""
    logits = torch.zeros(1, 5, 12, device=DEVICE)
    for node, best in enumerate([5, 1, 7, 8, 9]):
        logits[0, node, best] = 20.0
    given = {
        "draft_tokens": torch.tensor([[3, 4, 5, 6, 7]], device=DEVICE),
        "parents": torch.tensor([[-1, 0, 0, 2, 2]], device=DEVICE),
        "target_logits": logits,
        "step_idx": torch.tensor([3], device=DEVICE),
        "max_dec_len": torch.tensor([100], device=DEVICE),
        "end_tokens": torch.tensor([11], device=DEVICE),
        "most_tokens": 4,
        "seeds": torch.tensor([7], device=DEVICE),
        "temperature": torch.ones(1, device=DEVICE),
    }
    return TreeInputs(strategy=strategy, **given | change)


def walked(given: TreeInputs) -> tuple[list[int], list[int]]:
    got = verify_tree(given)
    count = int(got.accept_num[0])
    return got.accept_tokens[0, :count].tolist(), got.accept_index[0, :count].tolist()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_path_that_the_target_goes_is_emitted(strategy: Strategy) -> None:
    assert walked(small(strategy)) == ([5, 7, 9], [0, 2, 4])
    assert walked(small(strategy, most_tokens=2)) == ([5, 7], [0, 2])
    assert walked(small(strategy, most_tokens=1)) == ([5], [0])


def test_a_step_ends_at_the_end_token_and_at_the_limit() -> None:
    end = torch.tensor([7], device=DEVICE)
    assert walked(small(Strategy.GREEDY, end_tokens=end)) == ([5, 7], [0, 2])
    limit = torch.tensor([4], device=DEVICE)
    assert walked(small(Strategy.GREEDY, max_dec_len=limit)) == ([5], [0])
    stopped = torch.ones(1, dtype=torch.bool, device=DEVICE)
    assert walked(small(Strategy.GREEDY, stop_flags=stopped)) == ([], [])


@pytest.mark.parametrize("parent", [-1, 4, 5, 99])
def test_what_hangs_on_no_earlier_node_is_not_walked(parent: int) -> None:
    parents = torch.tensor([[-1, 0, 0, 2, parent]], device=DEVICE)
    assert walked(small(Strategy.REJECTION, parents=parents)) == ([5, 7], [0, 2])


def test_a_child_that_comes_before_its_parent_is_none() -> None:
    tokens = torch.tensor([[3, 7, 5, 6, 8]], device=DEVICE)
    parents = torch.tensor([[-1, 2, 0, 2, 2]], device=DEVICE)
    for strategy in STRATEGIES:
        given = small(strategy, draft_tokens=tokens, parents=parents)
        assert walked(given) == ([5, 7], [0, 2])


def test_a_target_row_of_nan_emits_a_token_of_the_vocabulary() -> None:
    nan = torch.full((1, 5, 12), float("nan"), device=DEVICE)
    for strategy in STRATEGIES:
        assert walked(small(strategy, target_logits=nan)) == ([0], [0])


def check_far_rows() -> None:
    """Rows more than 2**31 elements into the logits are walked like any other."""
    near = small(Strategy.REJECTION).target_logits[0, [0, 2, 4]].cpu()
    path = {
        "draft_tokens": torch.tensor([[3, 5, 7]], device=DEVICE),
        "parents": torch.tensor([[-1, 0, 1]], device=DEVICE),
        "most_tokens": 3,
    }
    for strategy in STRATEGIES:
        given = small(strategy, target_logits=far_rows(near)[None], **path)
        assert walked(given) == ([5, 7, 9], [0, 1, 2])


test_far_rows = check_far_rows


def test_a_token_that_two_siblings_have_counts_once() -> None:
    """Counted twice, its mass would pass a uniform that it must not pass."""
    logits = torch.zeros(2000, 3, 4, device=DEVICE)
    count = len(logits)
    zero = torch.zeros(count, dtype=torch.int64, device=DEVICE)
    given = TreeInputs(
        strategy=Strategy.REJECTION,
        draft_tokens=torch.tensor([[0, 1, 1]], device=DEVICE).expand(count, 3),
        parents=torch.tensor([[-1, 0, 0]], device=DEVICE).expand(count, 3),
        target_logits=logits,
        step_idx=zero,
        max_dec_len=zero + 99,
        end_tokens=zero[:0],
        most_tokens=2,
        seeds=torch.arange(count, device=DEVICE),
        temperature=torch.ones(count, device=DEVICE),
    )
    got = verify_tree_reference(for_the_law(given), chunk=CHUNK)
    assert abs((got[2] == 2).double().mean().item() - 0.25) < 0.05
    compare(replace(given, **{n: v[:5] for n, v in vars(given).items() if _per_request(n)}), CHUNK)


def _per_request(name: str) -> bool:
    return name not in {
        "strategy",
        "end_tokens",
        "most_tokens",
        "target_cut_logit",
        "target_cut_id",
        "stop_flags",
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_tree_without_branches_is_a_list_of_drafts(strategy: Strategy) -> None:
    """The law of trees is that of ``verify`` there: the same tokens from the same noise."""
    gen = torch.Generator().manual_seed(5)
    batch, nodes, vocab = 200, 5, 16
    logits = torch.randn(batch, nodes, vocab, generator=gen)
    drafts = (logits + torch.randn(batch, nodes, vocab, generator=gen)).argmax(dim=2)
    ids = torch.cat([torch.zeros(batch, 1, dtype=torch.int64), drafts[:, :-1]], dim=1)
    zero = torch.zeros(batch, dtype=torch.int64)
    common = {
        "strategy": strategy,
        "step_idx": zero + 3,
        "max_dec_len": zero + 99,
        "end_tokens": torch.tensor([1]),
        "seeds": torch.arange(batch),
        "temperature": torch.tensor([0.0, 0.7, 1.0, 1.0]).repeat(batch // 4),
    }
    parents = (torch.arange(nodes) - 1).expand(batch, nodes)
    tree = TreeInputs(
        draft_tokens=ids, parents=parents, target_logits=logits, most_tokens=nodes, **common
    )
    row = VerifyInputs(
        step_input_ids=ids, seq_lens_this_time=(zero + nodes).int(), target_logits=logits.flatten(0, 1),
        cu_seqlens_q_output=torch.arange(batch + 1, dtype=torch.int32) * nodes, **common,
    )  # fmt: skip
    tokens, index, count, _margin = verify_tree_reference(tree, chunk=CHUNK)
    same("tokens", tokens, verify_reference(row, chunk=CHUNK)[0])
    same("count", count, verify_reference(row, chunk=CHUNK)[1])
    same("index", index, torch.where(tokens >= 0, torch.arange(nodes), -1))


def test_target_match_is_the_text_without_drafts() -> None:
    given = tree_of(
        Judged(
            Strategy.TARGET_MATCH, 3, 9, 4, 31, torch.float32, "flat", 1.0, False, False, False, 1
        )
    )
    got = verify_tree_reference(for_the_law(given), chunk=CHUNK)
    for b in range(3):
        for i in range(int(got[2][b])):
            row = given.target_logits[b, got[1][b, i]][None].cpu()
            one = [part[b : b + 1].cpu() for part in (given.seeds, given.step_idx + i)]
            warm = given.temperature[b : b + 1].cpu()
            want = sample_reference(row, *one, warm, None, 1, chunk=CHUNK)[0]
            assert int(got[0][b, i]) == int(want)


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"strategy": Strategy.BLOCK}, ValueError, "BLOCK is not for trees"),
        ({"seeds": None}, ValueError, "REJECTION needs temperature and seeds"),
        ({"most_tokens": 6}, ValueError, r"most_tokens must be in 1\.\.5"),
        ({"parents": torch.zeros(1, 4, dtype=torch.int64)}, ValueError, r"parents must have shape \[B, N\]"),
        ({"target_cut_id": torch.zeros(1, 5, dtype=torch.int64)}, ValueError, "go together"),
        ({"target_logits": torch.zeros(1, 5, 0)}, ValueError, "at least one node"),
    ],
)  # fmt: skip
def test_trees_that_do_not_fit_are_refused(change: dict, error: type, text: str) -> None:
    given = vars(small(Strategy.REJECTION))
    given = {name: v.cpu() if isinstance(v, torch.Tensor) else v for name, v in given.items()}
    with pytest.raises(error, match=text):
        verify_tree(TreeInputs(**given | change))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"scores": torch.zeros(2, 3)}, ValueError, r"tokens must have shape \[B, M\] with B=2, M=3"),
        ({"draft_token_num": 9}, ValueError, r"draft_token_num must be in 1\.\.7"),
        ({"topk": 1}, ValueError, "parent_list must have a column for each 1 of 6 candidates"),
        ({"seq_lens": torch.zeros(1)}, TypeError, "seq_lens must be int32 or int64"),
    ],
)  # fmt: skip
def test_candidates_that_do_not_fit_are_refused(change: dict, error: type, text: str) -> None:
    given = {
        "scores": torch.zeros(1, 6),
        "tokens": torch.zeros(1, 6, dtype=torch.int64),
        "parent_list": torch.zeros(1, 3, dtype=torch.int64),
        "verified_id": torch.zeros(1, dtype=torch.int64),
        "seq_lens": torch.zeros(1, dtype=torch.int64),
        "topk": 2,
        "draft_token_num": 3,
    }
    with pytest.raises(error, match=text):
        build_tree(TreeCandidates(**given | change))


@gpu_only
def test_on_a_gpu_no_sync_graph_and_one_compilation() -> None:
    from kernels.tree import build, walk

    def judged(batch: int) -> TreeInputs:
        return tree_of(
            Judged(
                Strategy.REJECTION, batch, 9, 4, 96, torch.bfloat16, "normal", 0.7, False, False, False, 2
            )
        )  # fmt: skip

    def grown(batch: int) -> TreeCandidates:
        return TreeCandidates(**candidates_of(Grown(batch, 4, 3, 16, "falling", False, 3)))

    given, candidates = judged(3), grown(3)
    assert_no_sync(lambda: verify_tree(given))
    assert_no_sync(lambda: build_tree(candidates))
    assert_graph_replays(lambda: verify_tree(given).accept_tokens)
    assert_graph_replays(lambda: build_tree(candidates).parents)
    trees = {batch: judged(batch) for batch in (3, 1, 2, 16, 17)}
    for kernel in (walk._tree_stats_kernel, walk._walk_kernel):
        assert_no_recompilation(kernel, lambda n: verify_tree(trees[n]), trees)
    sizes = {batch: grown(batch) for batch in (3, 1, 2, 16, 17)}
    assert_no_recompilation(build._build_kernel, lambda n: build_tree(sizes[n]), sizes)


@gpu_only
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_real_vocabulary(strategy: Strategy) -> None:
    from kernels.verify import CHUNK as REAL

    case = Judged(
        strategy, 8, 24, 6, 151_936, torch.bfloat16, "normal", 0.7, False, False, False, 11
    )
    compare(tree_of(case), REAL)
