"""Where reports say that the page of a rule is: what the metadata of its distribution names, and nothing that is made up."""

from __future__ import annotations

import json
from pathlib import Path

import demo_pack
import pytest
from demo_run import SAFE
from forked import forked_amplint

FORMATS = ("json", "sarif", "gitlab", "rdjson")


def addresses(folder: Path, site: Path) -> list[str | None]:
    """The address of the page of DEM101 in each format, and the text of the page in SARIF."""
    (folder / "a.py").write_text(SAFE)
    options = [word for name in FORMATS for word in ("--output-format", f"{name}={name}")]
    assert forked_amplint("--no-cache", *options, "a.py", cwd=folder, site=site).returncode == 1
    array, sarif, gitlab, rdjson = (json.loads((folder / name).read_text()) for name in FORMATS)
    (rule,) = sarif["runs"][0]["tool"]["driver"]["rules"]
    assert rule["help"]["markdown"].startswith("Calls of demo_safe.\n\n## What it does\n")
    address = gitlab[0]["content"]["body"].partition("\n\n")[2] or None
    return [array[0]["url"], rule.get("helpUri"), address, rdjson["diagnostics"][0]["code"].get("url")]


@pytest.mark.parametrize(
    ("line", "address"),
    [
        ("Documentation, https://docs.example.org/demo/", "https://docs.example.org/demo/rules/dem101/"),
        ("documentation, http://localhost:8000", "http://localhost:8000/rules/dem101/"),
        ("Documentation, javascript:alert(1)", None),
        ("Homepage, https://example.org", None),
    ],
)
def test_the_metadata_of_a_distribution_says_where_its_pages_are(
    tmp_path: Path, line: str, address: str | None
) -> None:
    site = demo_pack.install(tmp_path / "site")
    metadata = f"Metadata-Version: 2.1\nName: demo-rules\nVersion: 1.0\nProject-URL: {line}\n"
    (site / "demo_rules-1.0.dist-info" / "METADATA").write_text(metadata)
    file = (site / "demo_rules" / "dem101_demo_safe.py").as_uri()
    assert addresses(tmp_path, site) == [address or file, address, address, address]


def test_metadata_in_the_linted_tree_is_not_believed(tmp_path: Path) -> None:
    site = demo_pack.install(tmp_path / "site")
    forged = tmp_path / "demo_rules-9.0.dist-info"
    forged.mkdir()
    (forged / "entry_points.txt").write_text("[amplint.rules]\ndemo = demo_rules\n")
    text = "Metadata-Version: 2.1\nName: demo-rules\nVersion: 9.0\nProject-URL: Documentation, https://evil.example\n"
    (forged / "METADATA").write_text(text)
    file = (site / "demo_rules" / "dem101_demo_safe.py").as_uri()
    assert addresses(tmp_path, site) == [file, None, None, None]
