"""The law of the ngram proposer: which tokens follow the best match of a request's last tokens in
its own history.

Read row by row, longest n first; slow on purpose. The kernels must give exactly the same integers.
"""

from __future__ import annotations

from kernels.ngram.inputs import NgramOptions, NgramTensors

NO_DRAFT = -1


def find_continuation(
    haystacks: list[list[int]],
    recent: list[int],
    *,
    max_ngram: int,
    min_ngram: int,
    rightmost: bool,
) -> list[int]:
    """The tokens after the best match of the end of `recent` in `haystacks`, or [] when nothing
    matches.

    Longest n first, then the earlier haystack, then the leftmost (or rightmost) place that a token
    follows. A negative entry pads a history: it equals nothing, not even another pad, and ends a
    continuation.
    """
    for n in range(min(max_ngram, len(recent)), min_ngram - 1, -1):
        pattern = recent[-n:]
        if min(pattern) < 0:
            continue
        for haystack in haystacks:
            starts = range(len(haystack) - n)  # one short of the end: something must follow
            for i in reversed(starts) if rightmost else starts:
                if haystack[i : i + n] == pattern and haystack[i + n] >= 0:
                    following = haystack[i + n :]
                    pads = [j for j, token in enumerate(following) if token < 0]
                    return following[: pads[0]] if pads else following
    return []


def propose_reference(given: NgramTensors, options: NgramOptions) -> None:
    """Fill `draft_tokens` and `seq_lens_this_time` in place."""
    batch, length = given.token_ids_all.shape
    width = given.draft_tokens.shape[1]
    base = []  # the tokens a row takes before any ngram draft
    wanted = []  # the drafts it would take, were there no budget
    for b in range(batch):
        decoding = int(given.seq_lens_encoder[b]) <= 0 and int(given.seq_lens_decoder[b]) > 0
        kept = options.append or int(given.seq_lens_encoder[b]) > 0
        base.append(max(int(given.seq_lens_this_time[b]), 0) if kept else int(decoding))
        wanted.append([])
        prompt, step = int(given.prompt_lens[b]), int(given.step_idx[b])
        start = prompt + int(options.append)
        if not decoding or base[b] == 0 or prompt < 0 or step < 0 or start + step > length:
            continue
        row = given.token_ids_all[b].tolist()
        asked, generated = row[:prompt], row[start : start + step]
        found = find_continuation(
            [asked + generated] if options.one_history else [asked, generated],
            asked + generated if options.one_history else generated,
            max_ngram=options.max_ngram,
            min_ngram=options.min_ngram,
            rightmost=options.rightmost,
        )
        room = min(
            int(given.draft_token_num[b]) - (base[b] - 1),
            width - base[b],
            int(given.max_dec_len[b]) - step - 1,  # the bonus token needs a place too
            length - (start + step) - 1,
        )
        wanted[b] = found[: max(room, 0)]

    left = sum(map(len, wanted)) if options.budget is None else options.budget - sum(base)
    for b in range(batch):
        if int(given.seq_lens_encoder[b]) > 0:  # a prefill's row is not ours to touch
            continue
        granted = wanted[b][: max(left, 0)]
        left -= len(granted)
        end = base[b] + len(granted)
        for j, token in enumerate(granted):
            given.draft_tokens[b, base[b] + j] = token
        filler = NO_DRAFT  # yesterday's proposal must not survive in a row that found nothing
        if options.pad_to_max and 0 < base[b] <= width and int(given.seq_lens_decoder[b]) > 0:
            filler = int(given.draft_tokens[b, end - 1])
        given.draft_tokens[b, max(end, 1) :] = filler
        given.seq_lens_this_time[b] = max(end, width) if filler != NO_DRAFT else end
