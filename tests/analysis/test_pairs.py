"""The best and the worst rollout of mixed tasks."""

from pathlib import Path

from pipeline.analysis.pairs import pairs
from pipeline.analysis.scoring import PassRule, voting
from pipeline.frames.lazy import collect
from tests.analysis.runs_of_tasks import opened, rows_of


def test_best_and_worst(tmp_path: Path) -> None:
    inputs, rollouts = rows_of(
        {
            0: [1, 0, 1, 0],  # fewest tokens of the best, most of the worst
            1: [2, 1, 0.5, -1],  # by score first
            2: [1, 1],  # nothing fails
            3: [0, 0],  # nothing passes
            4: [0, 1, 1, 0],
        }
    )
    rollouts[-3]["mask_sample"] = True  # 4:1 would be the shorter one
    found = collect(pairs(voting(opened(tmp_path, inputs, rollouts), PassRule())))
    assert found.select("_ng_task_index", "_chosen", "_ng_rollout_index", "_score").rows() == [
        (0, True, 0, 1.0),
        (0, False, 3, 0.0),
        (1, True, 0, 2.0),
        (1, False, 3, -1.0),
        (4, True, 2, 1.0),
        (4, False, 3, 0.0),
    ]
    assert found["_input_line"].to_list() == [1, 4, 5, 8, 15, 16]


def test_without_tokens_the_rollout_index_decides(tmp_path: Path) -> None:
    inputs, rollouts = rows_of({0: [0, 1, 1, 0]})
    for row in rollouts:
        del row["response"]
    found = collect(pairs(voting(opened(tmp_path, inputs, rollouts), PassRule())))
    assert found["_ng_rollout_index"].to_list() == [1, 0]
