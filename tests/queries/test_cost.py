"""What a success costs in tokens."""

from pathlib import Path

import pytest

from queries.cost import judge_fields
from tests.queries.asking import SEEDS, ask, grouped, rollout, some_rollouts, tokens_of, voting


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("threshold", [1.0, 0.4])
def test_figures(seed: int, threshold: float, tmp_path: Path) -> None:
    rollouts = some_rollouts(seed)
    found = ask(tmp_path, "cost", rollouts, threshold=threshold, field="output_tokens")
    for row, (agent, group) in zip(found, grouped(rollouts, by="agent").items(), strict=True):
        voters = voting(group)
        passed = [one for one in voters if one["reward"] >= threshold]
        solved = {one["_ng_task_index"] for one in passed}
        own = [count for one in voters if (count := tokens_of(one)) is not None]
        judged = sum(one["judge_tokens"] for one in voters)
        everything = sum((tokens_of(one) or 0) + one["judge_tokens"] for one in group)
        assert (row["_agent"], row["rollouts"], row["passed"]) == (agent, len(voters), len(passed))
        assert row["tasks"] == len({one["_ng_task_index"] for one in voters})
        assert (row["solved_tasks"], row["rollouts_with_tokens"]) == (len(solved), len(own))
        assert (row["tokens"], row["judge_tokens"], row["all_tokens"]) == (sum(own), judged, sum(own) + judged)
        assert row["tokens_per_solved_task"] == pytest.approx((sum(own) + judged) / len(solved))
        assert row["tokens_per_passing_rollout"] == pytest.approx((sum(own) + judged) / len(passed))
        assert row["left_out_tokens"] == everything - sum(own) - judged
        assert row["judge_fields"] == "judge_tokens"


def test_where_nothing_passes_or_nothing_is_known_no_price_is_invented(tmp_path: Path) -> None:
    rollouts = [rollout(0, 0, 0.0, 5), rollout(1, 0, 1.0, agent="b")]
    failing, unknown = ask(tmp_path, "cost", rollouts)
    assert (failing["all_tokens"], failing["tokens_per_solved_task"], failing["judge_tokens"]) == (15.0, None, None)
    assert (unknown["tokens"], unknown["all_tokens"], unknown["tokens_per_passing_rollout"]) == (None, None, None)
    assert failing["judge_fields"] is None


@pytest.mark.parametrize(
    ("metrics", "fields"),
    [
        (["reward", "output_tokens", "judge_score"], []),
        (["judge_tokens", "tokens_of_judge"], ["judge_tokens"]),
        (["judge/input_tokens", "judge/output_tokens"], ["judge/input_tokens", "judge/output_tokens"]),
        (["judge/input_tokens", "judge/total_tokens", "judge/output_tokens"], ["judge/total_tokens"]),
        (["judge/output_tokens", "judge/output_tokens_details/reasoning_tokens"], ["judge/output_tokens"]),
        (["judge_a_total_tokens", "LLM_Judge_b_input_tokens"], ["judge_a_total_tokens", "LLM_Judge_b_input_tokens"]),
    ],
)
def test_tokens_of_judges_are_not_counted_twice(metrics: list[str], fields: list[str]) -> None:
    assert judge_fields(metrics) == fields
