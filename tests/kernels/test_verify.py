"""``verify`` against its law: every strategy, every flag, and the bugs of its relatives."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernels.verify import CHUNK, Strategy, verify
from kernels.verify.reference import Inputs
from tests.kernels.conftest import gpu_only, poison
from tests.kernels.gpu_checks import assert_graph_replays, assert_no_recompilation, assert_no_sync
from tests.kernels.properties import DEVICE, property_test
from tests.kernels.verify_cases import Case, cases, check, compare, make_inputs, to_device

test_rejection_and_block_match_the_reference = property_test(
    cases(strategies=(Strategy.REJECTION, Strategy.BLOCK))
)(check)
test_greedy_target_match_and_topp_match_the_reference = property_test(
    cases(strategies=(Strategy.GREEDY, Strategy.TARGET_MATCH, Strategy.TOPP))
)(check)
