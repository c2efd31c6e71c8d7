"""Every variant of the bundled example, reviewed: what must be said, and that nothing else is."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bot.configuration import load_configuration
from bot.git import BlobStore, Git, change_set, resolve
from bot.i18n.catalog import Catalog
from checks.core.change import PullRequest
from checks.core.rule_ids import former_id
from checks.registry import RULES
from checks.review import ReviewVerdict, review
from tests.example.build import build

GPU = "custom_ops/gpu_ops/speculate_decoding/"
SENDERS = {
    ("protocol.unmasked-pack", f"{GPU}speculate_save_output_with_topk.cc", 57),
    ("protocol.unmasked-pack", f"{GPU}draft_model/mtp_save_first_token_with_topk.cc", 54),
}
STALE = {
    ("protocol.stale-fixture", "tests/output/test_process_batch_output.py", 38),
    ("protocol.stale-fixture", "tests/output/test_process_batch_output.py", 65),
    ("protocol.stale-fixture", "tests/output/test_process_batch_output.py", 78),
    ("protocol.stale-fixture", "tests/output/test_token_processor.py", 63),
    ("protocol.stale-fixture", "tests/output/test_token_processor.py", 82),
}
PACKED = {
    ("protocol.untested-change", f"{GPU}draft_model/mtp_save_first_token_with_topk.cc", 54),
    ("logprobs.baseline-affected", "tests/e2e/test_mtp_logprob_baseline.py", 58),
}


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory):
    """variant -> its review; each is made once."""
    made = {}

    def run(variant):
        if variant not in made:
            example = build(Path(tmp_path_factory.mktemp(variant)), variant)
            git = Git(example.repo)
            pull = PullRequest(example.title, example.body, (), example.target_branch, known=True)
            with BlobStore(git) as blobs:
                change = change_set(
                    git, blobs, resolve(git, example.base, example.head, merge_base=False), pull
                )
                made[variant] = review(change, load_configuration(change.base, None, None), RULES)
        return made[variant]

    return run


def claims(outcome, *families):
    return {
        (f.rule, f.location.path, f.location.start_line)
        for f in outcome.findings
        if f.rule.split(".")[0] in families
    }


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("first-push", SENDERS | STALE | PACKED),
        ("merged", SENDERS | PACKED),
        ("masked", PACKED),
        (
            "logprob-overlap",
            {("logprobs.baseline-affected", "tests/e2e/test_mtp_logprob_baseline.py", 58)},
        ),
        ("ngram", set()),
        ("writer-shift", set()),
    ],
)
def test_protocol_and_logprob_findings(reviewed, variant, expected):
    assert claims(reviewed(variant), "protocol", "logprobs") == expected


NGRAM_TEST = "tests/spec_decode/test_ngram_kernel.py"


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("ngram", {("question", True, NGRAM_TEST, 90)}),
        (
            "ngram-xpu-behind",
            {
                ("bug", False, "custom_ops/xpu_ops/src/mtp/ngram_match.cc", 52),
                ("question", True, NGRAM_TEST, 90),
            },
        ),
        ("hybrid-index", {("bug", False, f"{GPU}draft_model/ngram_match_mixed.cu", 44)}),
        (
            "writer-shift",
            {
                ("bug", False, f"{GPU}ngram_match.cu", 48),
                ("suggestion", False, NGRAM_TEST, 22),
                ("suggestion", False, NGRAM_TEST, 65),
            },
        ),
    ],
)
def test_step_idx_findings(reviewed, variant, expected):
    found = [f for f in reviewed(variant).findings if former_id(f.rule) == "semantics.step-idx"]
    assert {
        (f.severity, f.answered, f.location.path, f.location.start_line) for f in found
    } == expected
    assert len(found) == len(expected)


def test_predictions_name_the_failing_tests(reviewed):
    found = [
        f.evidence[0] for f in reviewed("first-push").findings if f.rule == "protocol.stale-fixture"
    ]
    assert {e.test.rsplit("::", 1)[1] for e in found} == {
        "test_speculative_decoding_use_logprobs",
        "test_preempted_slot_does_not_stop_the_others",
        "test_speculative_logprob_target_batch",
        "test_speculative_logprob_draft_batch",
    }
    assert {e.value for e in found} == {"actual_topk = 0"}
    assert {e.exception.split(":")[0] for e in found} == {"IndexError"}


def test_masking_is_offered_and_verified(reviewed):
    fixes = [f.fix for f in reviewed("first-push").findings if f.rule == "protocol.unmasked-pack"]
    assert all(fix is not None and fix.verified for fix in fixes)
    assert {e.lines[0].strip() for fix in fixes for e in fix.edits} == {
        "msg.meta[1] = (message_flag & 0xFF) | (max_num_logprobs << 8);"
    }


def test_a_check_is_offered_beside_the_mask(reviewed):
    findings = reviewed("first-push").findings
    advice = [Catalog("en").advice(f.rule, f.message) for f in findings if "unmasked" in f.rule]
    assert any("`assert(message_flag >= 0 && message_flag <= 255);`" in text for text in advice)


def test_the_other_runner_is_named(reviewed):
    assert ("sync.model-runner", "lantern/worker/metax_model_runner.py", 26) in claims(
        reviewed("first-push"), "sync"
    )


def test_conventions_of_the_first_push(reviewed):
    rules = {f.rule for f in reviewed("first-push").findings}
    assert {"convention.title", "convention.description", "convention.checklist"} <= rules


@pytest.mark.parametrize(
    ("variant", "verdict"), [("first-push", ReviewVerdict.BLOCK), ("ngram-xpu-behind", None)]
)
def test_verdicts(reviewed, variant, verdict):
    outcome = reviewed(variant)
    assert verdict is None or outcome.verdict is verdict
    assert not outcome.not_analysed


def test_the_bench_tells_where_the_time_of_a_review_goes(tmp_path):
    example = build(tmp_path, "first-push")
    command = [
        sys.executable,
        "-m",
        "tests.bench.stages",
        str(example.repo),
        example.base,
        example.head,
    ]
    told = json.loads(
        subprocess.run(
            command, cwd=Path(__file__).parents[1], check=True, capture_output=True
        ).stdout
    )
    assert set(told["rules"]) == {rule.ID for rule in RULES}
    assert f"{GPU}speculate_save_output_with_topk.cc" in told["parsed"]
