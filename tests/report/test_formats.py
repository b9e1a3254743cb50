"""The formats that other programs read: held to their published schemas, and read by programs that people use."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from notebook_harness import cell, notebook
from program import amplint, environment

from amplint.diagnostics import Applicability, Diagnostic, Edit, Fix, Related
from amplint.report import renderer
from amplint.report.view import View
from amplint.source import Source

SCHEMAS = Path(__file__).with_name("schemas")

CLIPPED = """\
import torch


def train(model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        optimizer.zero_grad()
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = model(batch)
        größe = "日本𐐀"; scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
DEPRECATED = "import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
WIDE = "import torch\n\ngröße = '日本𐐀'; scaler = torch.cuda.amp.GradScaler()\n"
NAMES = ("plain.py", "größe 日本.py", "a b#c?%41&<\"'>;].py", "sub/it:is,here.py")
ODD = {
    "crlf.py": CLIPPED.replace("\n", "\r\n").encode(),
    "bom.py": b"\xef\xbb\xbf" + CLIPPED.encode(),
    "tabs.py": CLIPPED.replace("    ", "\t").encode(),
    "latin.py": b"# coding: latin-1\n" + CLIPPED.replace("日本𐐀", "é").encode("latin-1"),
}
MACHINE = ("azure", "github", "gitlab", "json", "jsonl", "junit", "pylint", "rdjson", "sarif")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files whose names and contents are odd in every way that should not matter."""
    folder = tmp_path_factory.mktemp("tree")
    (folder / "sub").mkdir()
    for name in NAMES:
        if os.name == "posix" or not re.search('[?<>:"]', name):
            (folder / name).write_text(CLIPPED, "utf-8")
    for name, data in ODD.items():
        (folder / name).write_bytes(data)
    (folder / "notebook.ipynb").write_text(notebook(cell("import torch\n"), cell("# größe\n" + DEPRECATED)), "utf-8")
    (folder / "wide.py").write_text(WIDE, "utf-8")
    return folder


@pytest.fixture(scope="module")
def reports(tree: Path) -> dict[str, str]:
    """What every format for programs says of the tree, from one run."""
    folder = tree.parent / f"{tree.name}-reports"
    wanted = [word for name in MACHINE for word in ("--output-format", f"{name}={folder / name}")]
    folder.mkdir()
    done = amplint("--no-cache", "--isolated", *wanted, ".", cwd=tree)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    return {name: (folder / name).read_bytes().decode("utf-8") for name in MACHINE}


def found(reports: dict[str, str]) -> list[Any]:
    """The findings as JSON has them, which the other formats are held to."""
    listed: list[Any] = json.loads(reports["json"])
    assert {one["code"] for one in listed} == {"AMP101", "AMP209"}
    return listed


def name(one: Any, tree: Path) -> str:
    return Path(one["filename"]).relative_to(tree).as_posix()


# -- SARIF -------------------------------------------------------------------------------------------------------------


def sarif(text: str) -> Any:
    """A log that follows the schema; its only run."""
    log = json.loads(text)
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text("utf-8"))
    jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker()).validate(log)
    (run,) = log["runs"]
    return run


def test_sarif_follows_its_schema_and_tells_all(reports: dict[str, str], tree: Path) -> None:
    run = sarif(reports["sarif"])
    listed = found(reports)
    assert [one["ruleId"] for one in run["results"]] == [one["code"] for one in listed]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["AMP101", "AMP209"]
    assert [rule["defaultConfiguration"]["level"] for rule in rules] == ["error", "note"]
    for rule in rules:
        assert "## Why it matters" in rule["help"]["markdown"] and rule["fullDescription"]["text"].startswith("Flags ")
    for result, one in zip(run["results"], listed):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] == {"error": "error", "info": "note"}[one["severity"]]
        snippet = {"AMP101": "torch.nn.utils.clip_grad_norm_", "AMP209": "torch.cuda.amp.GradScaler"}[one["code"]]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert one["cell"] or region["snippet"] == {"text": snippet}
        assert [other["message"]["text"] for other in result.get("relatedLocations", [])] == [
            other["message"] for other in one["related"]
        ]
    assert sarif("".join(renderer("sarif")([], View(lambda path: None))))["results"] == []


def test_sarif_names_files_by_references_that_resolve(reports: dict[str, str], tree: Path) -> None:
    from urllib.parse import unquote, urlsplit

    for result, one in zip(sarif(reports["sarif"])["results"], found(reports)):
        place = result["locations"][0]["physicalLocation"]["artifactLocation"]
        parts = urlsplit(place["uri"])
        assert (parts.scheme, parts.query, parts.fragment, place["uriBaseId"]) == ("", "", "", "%SRCROOT%")
        assert unquote(parts.path) == name(one, tree)


def test_sarif_fixes_are_those_that_are_applied(reports: dict[str, str], tree: Path, tmp_path: Path) -> None:
    from shutil import copytree

    fixed = copytree(tree, tmp_path / "fixed")
    amplint("--no-cache", "--isolated", "--fix", ".", cwd=fixed)
    results = sarif(reports["sarif"])["results"]
    for path, ours in groupby(zip(results, found(reports)), key=lambda pair: name(pair[1], tree)):
        replacements = [
            replacement
            for result, _ in ours
            for replacement in result["fixes"][0]["artifactChanges"][0]["replacements"]
        ]
        assert replacements
        before = (tree / path).read_bytes()
        encoding = "latin-1" if path == "latin.py" else "utf-8"
        text = before.decode(encoding).removeprefix("\ufeff")
        starts = [0, *(match.end() for match in re.finditer(r"\r\n|\n", text))]
        for each in reversed(replacements):
            region = each["deletedRegion"]
            start = starts[region["startLine"] - 1] + region["startColumn"] - 1
            end = starts[region["endLine"] - 1] + region["endColumn"] - 1
            text = text[:start] + each["insertedContent"]["text"] + text[end:]
        bom = "\ufeff" if before.startswith(b"\xef\xbb\xbf") else ""
        assert (bom + text).encode(encoding) == (fixed / path).read_bytes() != before, path


def test_sarif_names_the_cell_and_the_row_of_a_notebook(reports: dict[str, str], tree: Path) -> None:
    (place,) = [
        result["locations"][0]
        for result in sarif(reports["sarif"])["results"]
        if result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "notebook.ipynb"
    ]
    row = place["physicalLocation"]["region"]["startLine"]
    assert "cuda.amp.GradScaler" in (tree / "notebook.ipynb").read_text("utf-8").splitlines()[row - 1]
    assert place["logicalLocations"] == [{"name": "cell 2"}]


def test_fingerprints_stay_when_lines_move(tmp_path: Path) -> None:
    def marks(text: str) -> list[str]:
        (tmp_path / "train.py").write_text(text, "utf-8")
        shown = amplint("--no-cache", "--isolated", "--output-format", "sarif", ".", cwd=tmp_path).stdout
        gitlab = amplint("--no-cache", "--isolated", "--output-format", "gitlab", ".", cwd=tmp_path).stdout
        found = [result["partialFingerprints"]["amplintFinding/v1"] for result in sarif(shown)["results"]]
        assert found == [issue["fingerprint"] for issue in json.loads(gitlab)]
        return found

    twice = DEPRECATED + DEPRECATED
    (first, second) = marks(twice)
    assert first != second, "equal lines are told apart"
    assert marks("'''A comment.'''\n\n\n" + twice) == [first, second]
    assert marks(f"if True:\n    {DEPRECATED.splitlines()[-1]}\n".replace("if", "import torch\nif")) == [first]
    assert marks(twice.replace("()", "(enabled=True)")) != [first, second]


def test_sarif_tools_read_it(reports: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("sarif", reason="sarif-tools is not installed")
    (tmp_path / "amp.sarif").write_text(reports["sarif"], "utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "sarif", "summary", "amp.sarif"], cwd=tmp_path, env=environment(), capture_output=True,
        text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    errors = sum(one["severity"] == "error" for one in found(reports))
    assert f"error: {errors}" in run.stdout


# -- the others --------------------------------------------------------------------------------------------------------


def test_rdjson_follows_its_schema_and_counts_bytes(reports: dict[str, str], tree: Path) -> None:
    result = json.loads(reports["rdjson"])
    schema = json.loads((SCHEMAS / "rdjson.json").read_text("utf-8"))
    jsonschema.Draft4Validator(schema).validate(result)
    assert [one["code"]["value"] for one in result["diagnostics"]] == [one["code"] for one in found(reports)]
    for one, same in zip(result["diagnostics"], found(reports)):
        path, place = tree / one["location"]["path"], one["location"]["range"]
        assert one["severity"] == same["severity"].upper() and path == Path(same["filename"])
        assert len(one["suggestions"]) == 1
        if path.name == "latin.py" or path.suffix == ".ipynb":
            continue  # no file of UTF-8, and no columns
        line = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")[place["start"]["line"] - 1]
        marked = line[place["start"]["column"] - 1 : place["end"]["column"] - 1]
        assert marked in (b"torch.nn.utils.clip_grad_norm_", b"torch.cuda.amp.GradScaler"), marked


def test_gitlab_has_what_code_quality_asks_for(reports: dict[str, str], tree: Path) -> None:
    issues = json.loads(reports["gitlab"])
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == len(found(reports))
    for issue, one in zip(issues, found(reports)):
        assert issue["check_name"] == one["code"] and one["message"] in issue["description"]
        assert issue["location"]["path"] == name(one, tree)
        assert issue["severity"] == {"error": "major", "info": "info"}[one["severity"]]
        assert one["cell"] or issue["location"]["lines"]["begin"] == one["location"]["row"]


def test_junit_follows_its_schema_and_is_read(reports: dict[str, str], tree: Path, tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    schema = etree.XMLSchema(etree.parse(SCHEMAS / "junit-10.xsd"))
    schema.assertValid(etree.fromstring(reports["junit"].encode("ascii")))
    schema.assertValid(etree.fromstring("".join(renderer("junit")([], View(lambda path: None))).encode()))
    parser = pytest.importorskip("junitparser", reason="junitparser is not installed")
    (tmp_path / "junit.xml").write_text(reports["junit"], "utf-8")
    suites = parser.JUnitXml.fromfile(tmp_path / "junit.xml")
    listed = found(reports)
    assert (suites.tests, suites.failures) == (len(listed), len(listed))
    assert [suite.name for suite in suites] == list(dict.fromkeys(name(one, tree) for one in listed))
    cases = [case.result[0] for suite in suites for case in suite]
    assert [case.type for case in cases] == [one["severity"] for one in listed]
    assert all(one["message"] in case.message for case, one in zip(cases, listed))


def test_pylint_lines_are_what_its_readers_expect(reports: dict[str, str], tree: Path) -> None:
    jenkins = re.compile(r"(.*):(\d+): \[(\D\d*).*\] (.*)")
    lines = [jenkins.fullmatch(line) for line in reports["pylint"].splitlines()]
    for line, one in zip(lines, found(reports), strict=True):
        assert line is not None and (line[1], line[4]) == (name(one, tree), one["message"])
        assert one["cell"] or int(line[2]) == one["location"]["row"]
        assert f"[{one['code']}({one['name']}), ]" in line[0]


def test_azure_and_github_commands_give_back_what_went_in(reports: dict[str, str], tree: Path) -> None:
    azure = re.compile(r"##vso\[task\.logissue (.*?);\](.*)")
    github = re.compile(r"::(error|warning|notice) (.*?)::(.*)")
    listed = found(reports)
    for text, one in zip(reports["azure"].splitlines(), listed, strict=True):
        line = azure.fullmatch(text)
        assert line is not None
        fields = dict(field.split("=", 1) for field in line[1].split(";"))
        path = fields["sourcepath"].replace("%3B", ";").replace("%5D", "]").replace("%AZP25", "%")
        assert (path, line[2]) == (name(one, tree), one["message"])
        assert fields["type"] == ("error" if one["severity"] == "error" else "warning")
    for text, one in zip(reports["github"].splitlines(), listed, strict=True):
        line = github.fullmatch(text)
        assert line is not None and line[1] == {"error": "error", "info": "notice"}[one["severity"]]
        fields = dict(field.split("=", 1) for field in line[2].split(","))
        assert fields["file"].replace("%2C", ",").replace("%3A", ":").replace("%25", "%") == name(one, tree)


def test_json_points_to_pages_that_are_there(reports: dict[str, str]) -> None:
    from urllib.request import url2pathname

    for one in found(reports):
        page = Path(url2pathname(one["url"].removeprefix("file://")))
        assert page.read_text("utf-8").startswith('"""') and one["code"].lower() in page.name


def test_what_was_not_checked_is_told(tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree", reason="lxml is not installed")
    (tmp_path / "broken.py").write_bytes(b"GradScaler = 1\0")
    wanted = ("--output-format", "sarif=a.sarif", "--output-format", "junit=a.xml")
    assert amplint("--no-cache", "--isolated", *wanted, "broken.py", "no <file>.py", cwd=tmp_path).returncode == 2
    (invocation,) = sarif((tmp_path / "a.sarif").read_text("utf-8"))["invocations"]
    assert not invocation["executionSuccessful"]
    assert sorted(
        (one["message"]["text"], one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for one in invocation["toolExecutionNotifications"]
    ) == [("contains NUL bytes", "broken.py"), ("does not exist", "no%20%3Cfile%3E.py")]
    document = etree.parse(tmp_path / "a.xml")
    etree.XMLSchema(etree.parse(SCHEMAS / "junit-10.xsd")).assertValid(document)
    assert document.getroot().attrib["errors"] == "2"
    assert sorted(one.attrib["message"] for one in document.iter("error")) == ["contains NUL bytes", "does not exist"]


@pytest.mark.parametrize("text", ["\ufffe\uffff\ud800\x00\x1b]]>&<", "a\nb\r\n::error::c"])
def test_what_xml_cannot_hold_is_spelled_out(text: str) -> None:
    from xml.etree import ElementTree

    place = Source("a.py", "x\n").range(0, 1)
    one = Diagnostic("AMP101", "name", text, place, note=text, path=text, fix=Fix(text, (Edit(0, 1, text),)))
    document = "".join(renderer("junit")([one], View(lambda path: None)))
    assert len(list(ElementTree.fromstring(document.encode()).iter("failure"))) == 1


def test_a_fix_that_is_only_shown_is_offered_nowhere() -> None:
    source = Source("a.py", "x\n")
    fix = Fix("Replace it", (Edit(0, 1, "y"),), Applicability.DISPLAY)
    other = (Related("here", source.range(0, 1), "/elsewhere/b c.py"),)
    one = Diagnostic("AMP101", "name", "Bad", source.range(0, 1), path="a.py", fix=fix, related=other)
    view = View({"a.py": source}.get)
    assert json.loads("".join(renderer("rdjson")([one], view)))["diagnostics"][0]["suggestions"] == []
    (result,) = sarif("".join(renderer("sarif")([one], view)))["results"]
    assert "fixes" not in result
    assert result["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"].endswith("/elsewhere/b%20c.py")


# -- for people --------------------------------------------------------------------------------------------------------


def test_grouped() -> None:
    first, second = Source("a.py", "\n" * 9 + "x\n"), Source("b.py", "x\n")
    fix = Fix("Replace it", (Edit(9, 10, "y"),))
    listed = [
        Diagnostic("AMP101", "name", "Bad", first.range(0, 1), path="a.py"),
        Diagnostic("AMP401", "name", "Worse", first.range(9, 10), path="a.py", fix=fix),
        Diagnostic("AMP110", "name", "Bad", second.range(0, 1), path="b.py"),
    ]
    assert "".join(renderer("grouped")(listed, View(lambda path: None))) == (
        "a.py:\n  1:1   error    AMP101 Bad\n  10:1  info     AMP401 Worse [*]\n\nb.py:\n  1:1  error    AMP110 Bad\n\n"
    )
