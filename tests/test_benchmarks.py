"""Programs of the benchmarks that another machine is needed for run at least."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_what_is_timed_on_a_gpu_runs_on_the_stand_in(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.gpu", "--stand-in", "--rounds", "1", "--json", str(tmp_path / "found.json")]
    subprocess.run(command, check=True, cwd=ROOT, timeout=300)  # noqa: S603 - our own program
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["gpu"] == "stand-in"
    assert len(found["verdicts"]) == 3 + 2 * 3 + 8 * 2
