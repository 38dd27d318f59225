"""The demo runs, draws its figures, and what it prints is true."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

DEMO = Path(__file__).parent.parent / "examples" / "demo.py"


@pytest.mark.slow
def test_the_demo_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    spec = importlib.util.spec_from_file_location("demo", DEMO)
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    monkeypatch.setattr(demo, "OUTPUT", tmp_path)
    monkeypatch.setattr(demo, "README", tmp_path / "static" / "demo.png")
    demo.main()
    assert {p.name for p in tmp_path.iterdir()} == {"sensitivity.png", "fit.png", "overview.png", "static"}
    assert 20_000 < (tmp_path / "static" / "demo.png").stat().st_size < 200_000
    out = capsys.readouterr().out
    assert "fit of 1,813 cells at once" in out
    apart = [float(line.rsplit("apart ", 1)[1]) for line in out.splitlines() if "finite difference" in line]
    assert len(apart) == 4
    assert max(apart) < 1e-5
