"""Every page of the gallery runs, and draws."""

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parent.parent / "examples" / "gallery").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_a_page_of_the_gallery(script, monkeypatch, capsys):
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.switch_backend("Agg")
    try:
        found = runpy.run_path(str(script))
        assert plt.get_fignums()
    finally:
        plt.close("all")
    assert capsys.readouterr().out
    if script.stem == "gaussian_processes":
        assert (found["fit"].status == 0).all()
        assert max(found["apart"]) < 1e-5  # both stop where a step is less than 1e-6
        assert 40 < found["thermocline"].min() < found["thermocline"].max() < 300
        assert 0.5 < (found["linear"] / found["uncertainty"]).median() < 1.5
    if script.stem == "nino_southern_oscillation":
        assert abs(found["difference"] / (found["gradient"] * found["along"]).sum().item() - 1) < 1e-6
        assert abs(found["sensitivity"].where(found["sst"].isnull())).max() == 0.0
        assert found["sensitivity"].size == 419_904
    if script.stem == "four_dimensional_variational":
        error = lambda field: float(((field - found["truth"]) ** 2).mean() ** 0.5)
        assert error(found["analysis"]) < error(found["background"]) / 3
        assert 12_000 < float(found["diffusivity"]) < 25_000
