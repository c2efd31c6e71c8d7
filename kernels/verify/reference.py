"""The law of ``verify``, in float64: every strategy, request by request in parallel, position after
position."""

from __future__ import annotations

from dataclasses import replace

import torch

from .._logits import probabilities, read_temperature
from .._random import ACCEPT, RECOVER, draw, uniforms
from .inputs import VerifyInputs
from .strategy import Strategy


def verify_reference(
    given: VerifyInputs, *, chunk: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(accept_tokens, accept_num, margin): ``margin`` float64 [B] is how far, in probability, the
    closest of a request's decisions was from going the other way. Another precision may differ
    below it.
    """
    if given.temperature is not None:
        given = replace(given, temperature=read_temperature(given.temperature))
    n = active_lengths(given)
    if given.target_logits is not None and len(given.target_logits) == 0:
        # Every token is given: this row is not looked at.
        row = given.target_logits.new_zeros(1, given.target_logits.shape[1])
        given = replace(given, target_logits=row, target_cut_logit=None, target_cut_id=None)
    drafts = given.step_input_ids[:, 1:]
    limit = draft_limits(given, n)
    decide = {
        Strategy.TOPP: _topp,
        Strategy.GREEDY: _match,
        Strategy.TARGET_MATCH: _match,
        Strategy.REJECTION: _rejection,
        Strategy.BLOCK: _block,
    }[given.strategy]
    accepted, last, margin = decide(given, limit, chunk)
    if given.bonus_token_ids is not None:
        last = torch.where(accepted == n - 1, given.bonus_token_ids, last)
    return *emit(given, n, drafts, accepted, last), margin


def active_lengths(given: VerifyInputs) -> torch.Tensor:
    """int64 [B]: tokens of this step, 0 for a request that is idle, stopped or blocked."""
    n = given.seq_lens_this_time.long().clamp(0, given.step_input_ids.shape[1])
    # No more than the rows that are its own, and the token that is given.
    owned = given.cu_seqlens_q_output.long().diff().clamp(min=0)
    n = torch.minimum(n, owned + (given.bonus_token_ids is not None))
    for off in (given.stop_flags, given.is_block_step):
        if off is not None:
            n = torch.where(off, 0, n)
    return n


def draft_limits(given: VerifyInputs, n: torch.Tensor) -> torch.Tensor:
    """int64 [B]: leading drafts that may be looked at at all.

    A draft that is no token ends them.
    """
    drafts = given.step_input_ids[:, 1:]
    vocab = (
        drafts.new_tensor(2**62) if given.target_logits is None else given.target_logits.shape[1]
    )
    if given.draft_logits is not None and not given.accept_all:
        vocab = max(vocab, given.draft_logits.shape[2])
    limit = (n - 1).clamp(min=0)
    if given.reject_all:
        limit = torch.zeros_like(limit)
    if given.seq_lens_encoder is not None:
        limit = torch.where(given.seq_lens_encoder > 0, 0, limit)
    if given.reasoning_status is not None:
        limit = torch.where(given.reasoning_status == 1, 0, limit)
    if given.draft_slots is not None:
        slots = given.draft_slots
        limit = torch.where((slots >= 0) & (slots < len(given.draft_logits)), limit, 0)
    return leading((drafts >= 0) & (drafts < vocab), limit)


def leading(good: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
    """How many of the first ``limit`` columns of ``good`` [B, K] hold before the first that does
    not: int64 [B]."""
    column = torch.arange(good.shape[1], device=good.device)
    return (good & (column < limit[:, None])).int().cumprod(dim=1).sum(dim=1)


def emit(
    given: VerifyInputs,
    n: torch.Tensor,
    drafts: torch.Tensor,
    accepted: torch.Tensor,
    last: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """``accepted`` drafts and then ``last``, cut after the first end token and at
    ``max_dec_len``."""
    width = given.step_input_ids.shape[1]
    column = torch.arange(width, device=n.device)
    tokens = torch.cat([drafts, drafts.new_full((len(n), 1), -1)], dim=1)  # [B, S]
    tokens = torch.where(column == accepted[:, None], last[:, None], tokens)
    ends = (tokens[:, :, None] == given.end_tokens).any(dim=2) & (column <= accepted[:, None])
    until_end = torch.where(ends.any(dim=1), ends.int().argmax(dim=1) + 1, width)
    count = torch.minimum(accepted + 1, until_end)
    count = count.minimum((given.max_dec_len - given.step_idx).clamp(min=0))
    count = torch.where(n > 0, count, 0)
    return torch.where(column < count[:, None], tokens, -1), count.int()


def _rows(given: VerifyInputs, column: int) -> torch.Tensor:
    """Target row of each request's position ``column``; a row of its own for positions it does not
    have."""
    first = given.cu_seqlens_q_output[:-1].long()
    rows = given.target_logits if given.target_logits is not None else given.candidate_ids
    return (first + column).clamp(0, rows.shape[0] - 1)


def _target(given: VerifyInputs, column: int) -> torch.Tensor:
    row = _rows(given, column)
    cut = (None, None)
    if given.target_cut_logit is not None:
        cut = (given.target_cut_logit[row], given.target_cut_id[row])
    greedy = given.strategy == Strategy.GREEDY
    temperature = torch.zeros_like(given.temperature) if greedy else given.temperature
    return probabilities(given.target_logits[row], temperature, *cut)


def _draft(given: VerifyInputs, column: int) -> torch.Tensor:
    """float64 [B, V]: what the draft was drawn from; one-hot when the proposer declared no
    distribution."""
    vocab = given.target_logits.shape[1]
    draft = given.step_input_ids[:, column + 1]
    if given.draft_logits is None:
        onehot = torch.zeros(len(draft), vocab, dtype=torch.float64, device=draft.device)
        return onehot.scatter_(1, draft.clamp(0, vocab - 1)[:, None], 1.0)
    cut = (None, None)
    if given.draft_cut_logit is not None:
        cut = (given.draft_cut_logit[:, column], given.draft_cut_id[:, column])
    # A draft is drawn even for a greedy request: the greedy target alone then decides.
    logits = given.draft_logits[:, column]
    if given.draft_slots is not None:
        logits = logits[given.draft_slots.long().clamp(0, len(logits) - 1)]
    q = probabilities(
        logits,
        torch.where(given.temperature == 0, 1.0, given.temperature),
        *cut,
    )
    missing = max(0, vocab - q.shape[1])
    return torch.nn.functional.pad(
        q, (0, missing)
    )  # a smaller draft vocabulary never proposes the rest


def _of(p: torch.Tensor, token: torch.Tensor) -> torch.Tensor:
    """p[b, token[b]], 0 for a token outside the vocabulary."""
    inside = (token >= 0) & (token < p.shape[1])
    return torch.where(inside, p.gather(1, token.clamp(0, p.shape[1] - 1)[:, None])[:, 0], 0.0)


def _draw_target(
    given: VerifyInputs, p: torch.Tensor, column: int, chunk: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """A token of each row of ``p`` [B, V] and its margin; a row with one possible token has no
    close call."""
    token, margin = draw(p, uniforms(given.seeds, given.step_idx + column, RECOVER), chunk)
    return token, torch.where((p > 0).sum(dim=1) <= 1, torch.inf, margin)


def _match(
    given: VerifyInputs, limit: torch.Tensor, chunk: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """GREEDY and TARGET_MATCH: a draft stands if it is the token that the target itself emits
    there."""
    width = given.step_input_ids.shape[1]
    drawn = [_draw_target(given, _target(given, i), i, chunk) for i in range(width)]
    tokens = torch.stack([token for token, _ in drawn], dim=1)  # [B, S]
    margins = torch.stack([margin for _, margin in drawn], dim=1)
    agree = tokens[:, :-1] == given.step_input_ids[:, 1:]
    accepted = leading(agree | given.accept_all, limit)
    used = torch.arange(width, device=limit.device) <= accepted[:, None]
    margin = torch.where(used, margins, torch.inf).amin(dim=1)
    return accepted, tokens.gather(1, accepted[:, None])[:, 0], margin


def _declared(given: VerifyInputs, limit: torch.Tensor) -> torch.Tensor:
    """``limit`` cut at the first draft whose own distribution gives it no mass (an all-NaN draft
    row, say).

    Such a draft was not drawn from what was declared, so it is refused and the target draws alone.
    """
    if given.accept_all or not given.step_input_ids.shape[1] > 1:
        return limit
    columns = range(given.step_input_ids.shape[1] - 1)
    mass = torch.stack(
        [_of(_draft(given, i), given.step_input_ids[:, i + 1]) for i in columns], dim=1
    )
    return leading(mass > 0, limit)


def _rejection(
    given: VerifyInputs, limit: torch.Tensor, chunk: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Leviathan et al. 2023: accept x with probability min(1, p(x)/q(x)), else draw from max(p - q,
    0)."""
    limit = _declared(given, limit)
    accepted = torch.zeros_like(limit)
    last = torch.zeros_like(limit)
    margin = torch.full(limit.shape, torch.inf, dtype=torch.float64, device=limit.device)
    walking = torch.ones_like(limit, dtype=torch.bool)
    for i in range(given.step_input_ids.shape[1]):
        p = _target(given, i)
        judged = walking & (i < limit)
        residual = p
        stays = torch.zeros_like(walking)
        if i + 1 < given.step_input_ids.shape[1]:
            x = given.step_input_ids[:, i + 1]
            q = _draft(given, i)
            u, _ = uniforms(given.seeds, given.step_idx + i, ACCEPT)
            ratio = _of(p, x) / _of(q, x).clamp(min=1e-300)
            stays = judged & ((u < ratio) | given.accept_all)
            close = torch.where(given.temperature == 0, torch.inf, (u - ratio).abs())
            margin = torch.where(judged, margin.minimum(close), margin)
            left = (p - q[:, : p.shape[1]]).clamp(min=0)
            # Nothing left means p == q, where rejection is rounding: the target draws.
            residual = torch.where((judged & (left.sum(dim=1) > 0))[:, None], left, p)
        leaves = walking & ~stays
        token, close = _draw_target(given, residual, i, chunk)
        last = torch.where(leaves, token, last)
        margin = torch.where(leaves, margin.minimum(close), margin)
        accepted += stays.long()
        walking = stays
    return accepted, last, margin


def _block(
    given: VerifyInputs, limit: torch.Tensor, chunk: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sun et al. 2024 (arXiv 2403.10444), algorithm 2: the longest block that stands is
    accepted."""
    limit = _declared(given, limit)
    columns = given.step_input_ids.shape[1]
    weight = torch.ones(limit.shape, dtype=torch.float64, device=limit.device)  # p_0 of the paper
    accepted, last = torch.zeros_like(limit), torch.zeros_like(limit)
    margin = torch.full_like(weight, torch.inf)
    residual = []
    for i in range(columns):
        p = _target(given, i)
        bonus = i >= limit
        q = torch.zeros_like(p) if i + 1 == columns else _draft(given, i)[:, : p.shape[1]]
        left = torch.where(bonus[:, None], p, (weight[:, None] * p - q).clamp(min=0))
        mass = left.sum(dim=1)
        if i > 0:
            stop = torch.where(bonus, weight, mass / (mass + 1 - weight).clamp(min=1e-300))
            u, _ = uniforms(given.seeds, given.step_idx + i - 1, ACCEPT)
            judged = (i <= limit) & (given.temperature > 0)
            margin = torch.where(judged, margin.minimum((u - stop).abs()), margin)
            accepted = torch.where((i <= limit) & ((u < stop) | given.accept_all), i, accepted)
        residual.append(torch.where((mass > 0)[:, None], left, p))
        if i + 1 < columns:
            x = given.step_input_ids[:, i + 1]
            ratio = _of(p, x) / _of(_draft(given, i), x).clamp(min=1e-300)
            weight = torch.where(i < limit, (weight * ratio).clamp(max=1), weight)
    for i in range(columns):
        token, close = _draw_target(given, residual[i], i, chunk)
        last = torch.where(accepted == i, token, last)
        margin = torch.where(accepted == i, margin.minimum(close), margin)
    return accepted, last, margin


def _topp(
    given: VerifyInputs, limit: torch.Tensor, chunk: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """FastDeploy's strategy 0: a draft stands if it is any of the candidates. Not lossless."""
    batch, columns = given.step_input_ids.shape
    accepted, last = torch.zeros_like(limit), torch.zeros_like(limit)
    margin = torch.full(limit.shape, torch.inf, dtype=torch.float64, device=limit.device)
    for b in range(batch):
        row = [int(_rows(given, i)[b]) for i in range(columns)]
        draft = given.step_input_ids[b, 1:].tolist()
        accepted[b] = i = _topp_walk(given, row, draft, int(limit[b]))
        last[b], margin[b] = _topp_last(given, b, row[i], i)
    return accepted, last, margin


def _topp_walk(given: VerifyInputs, row: list[int], draft: list[int], limit: int) -> int:
    width = given.candidate_ids.shape[1]
    i = 0
    while i < limit:
        ids = given.candidate_ids[row[i]].tolist()
        length = min(max(int(given.candidate_lens[row[i]]), 0), width)
        if given.accept_all or draft[i] in ids[:length]:
            i += 1
            continue
        # The second best also stands if the drafts after it are the best ``verify_window`` times in
        # a row.
        if given.verify_window == 0 or width < 2 or ids[1] != draft[i]:
            break
        run = 0
        while (
            run < given.verify_window
            and i + 1 + run < limit
            and int(given.candidate_ids[row[i + 1 + run], 0]) == draft[i + 1 + run]
        ):
            run += 1
        if run < given.verify_window:
            break
        i += 1 + run
    return i


def _topp_last(given: VerifyInputs, b: int, row: int, i: int) -> tuple[int, float]:
    """The first candidate at which the prefix sum of scores reaches u * top_p, else the best
    one."""
    u, _ = uniforms(given.seeds[b : b + 1], given.step_idx[b : b + 1] + i, RECOVER)
    length = min(max(int(given.candidate_lens[row]), 0), given.candidate_ids.shape[1])
    until = given.candidate_scores[row, :length].double().cumsum(dim=0)
    goal = float(u) * float(given.top_p[b])
    reached = (until >= goal).nonzero()
    place = int(reached[0]) if len(reached) else 0
    margin = float((until - goal).abs().min()) if length else float("inf")
    return int(given.candidate_ids[row, place]), margin
