"""Programs of the benchmarks that another machine is needed for run at least, and all operations are timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from namedgrad.primitive import OPERATIONS

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_what_is_timed_on_a_gpu_runs_on_the_stand_in(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.gpu", "--stand-in", "--rounds", "1", "--json", str(tmp_path / "found.json")]
    subprocess.run(command, check=True, cwd=ROOT, timeout=300)  # noqa: S603 - our own program
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["gpu"] == "stand-in"
    assert len(found["verdicts"]) == 3 + 2 * 3 + 8 * 2


VIEWS = {"rename", "swap_dims", "transpose", "expand_dims", "squeeze", "broadcast_like", "broadcast", "stop_gradient"}


@pytest.mark.slow
def test_every_operation_that_is_no_view_is_timed() -> None:
    command = "from benchmarks.by_hand import rows; print(*{r.name.split(',')[0].split()[0] for r in rows()})"
    found = subprocess.run([sys.executable, "-c", command], check=True, cwd=ROOT, timeout=300, capture_output=True, text=True)  # noqa: S603 - our own program
    assert not OPERATIONS.keys() - VIEWS - set(found.stdout.split())
