"""Whatever is given to the program, it says what is wrong in one line, checks the rest, and exits as it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import misbehaving_pack
import pytest
from forked import forked_amplint
from program import AMPLINT, amplint, environment, hear_interrupts, problems

FLAGGED = "import torch\n\nflags_here\n"
FLAGGED_LINE = "flagged.py:3:1: BAD006 Flagged"
AMP_HEAD = "import torch\n\nscaler = torch.amp.GradScaler('cuda')\n"
BULK = "# a line that makes the file worth a process of its own\n" * 5000
DEPTH = 2000

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals and links")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the rule pack is installed that finds something in `FLAGGED`, and misbehaves elsewhere."""
    return misbehaving_pack.install(tmp_path_factory.mktemp("site"))


@pytest.fixture
def project(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one file in which there is something to find."""
    monkeypatch.setenv("PYTHONPATH", str(site))
    (tmp_path / "flagged.py").write_text(FLAGGED)
    return tmp_path


def check_rest(done: subprocess.CompletedProcess[str], *wrong: str) -> None:
    """The file that is in order was checked, and about the others stderr says exactly this."""
    assert problems(done) == list(wrong)
    assert done.returncode == 2
    assert done.stdout.splitlines() == [FLAGGED_LINE]


# -- what a file holds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("head", ["", AMP_HEAD], ids=["plain", "amp"])
def test_a_syntax_error_is_a_finding_with_its_line(project: Path, head: str) -> None:
    (project / "broken.py").write_text(f"{head}x = 1\ndef f(:\n")
    done = forked_amplint("broken.py", "flagged.py", cwd=project)
    assert (done.returncode, problems(done)) == (1, [])
    row = 2 + head.count("\n")
    assert done.stdout.splitlines()[0].startswith(f"broken.py:{row}:7: AMP900 Syntax error: ")
    assert done.stdout.splitlines()[1] == FLAGGED_LINE
    assert "`amplint explain BAD006`" in done.stderr


def test_a_syntax_error_in_a_walk_matters_where_amp_is_used(project: Path) -> None:
    (project / "other.py").write_text("print 'python 2'\n")
    (project / "training.py").write_text(f"{AMP_HEAD}print 'python 2'\n")
    done = forked_amplint(".", cwd=project)
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == ["flagged.py", "training.py"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\n\nGradScaler = '\xff'\n", "cannot be decoded as utf-8: invalid start byte at byte 16"),
        (b"GradScaler = 1\0\n", "contains NUL bytes"),
        (b"# coding: klingon\nGradScaler = 1\n", "cannot be decoded: unknown encoding: klingon"),
        (b"\xef\xbb\xbf# coding: latin-1\nGradScaler = 1\n", "cannot be decoded: encoding problem: utf-8"),
        (b"# coding: utf_16\nGradScaler = 1\n ", "cannot be decoded: utf_16 is no encoding of Python code"),
        (b"# coding: cp037\nGradScaler = 1\n", "cannot be decoded: cp037 is no encoding of Python code"),
        (b"# coding: punycode\nGradScaler = 1\n", "cannot be decoded: punycode is no encoding of Python code"),
        (b"# coding: undefined\nGradScaler = 1\n", "cannot be decoded: undefined is no encoding of Python code"),
    ],
    ids=["bytes", "nul", "cookie", "bom", "two bytes", "ebcdic", "domain names", "no encoding"],
)
def test_bytes_that_are_no_text(project: Path, data: bytes, message: str) -> None:
    (project / "strange.py").write_bytes(data)
    check_rest(forked_amplint(".", cwd=project), f"strange.py: {message}")
    check_rest(forked_amplint("flagged.py", "strange.py", cwd=project), f"strange.py: {message}")


@pytest.mark.parametrize("data", [b"", b"\n", b"# nothing\n", b"\xef\xbb\xbf", b"\x0c\n", b"\r\r\n"])
def test_files_with_nothing_in_them_are_clean(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "empty.py").write_bytes(data)
    for argument in ("empty.py", "."):
        done = forked_amplint(argument, cwd=tmp_path)
        assert (done.returncode, done.stdout, problems(done)) == (0, "", [])


def test_fifty_thousand_lines(project: Path) -> None:
    text = AMP_HEAD + "value = scaler\n" * 25_000 + "other = 1\n" * 25_000 + FLAGGED
    (project / "long.py").write_text(text)
    done = forked_amplint("long.py", cwd=project)
    assert (done.returncode, problems(done)) == (1, [])
    assert done.stdout == "long.py:50006:1: BAD006 Flagged\n"


NESTED = {
    "parentheses": f"x = {'(' * DEPTH}scaler{')' * DEPTH}",
    "lists": f"x = {'[' * DEPTH}scaler{']' * DEPTH}",
    "calls": f"x = {'f(' * DEPTH}scaler{')' * DEPTH}",
    "attributes": f"x = scaler{'.a' * DEPTH}",
    "method calls": f"x = scaler{'.a()' * DEPTH}",
    "subscripts": f"x = scaler{'[0]' * DEPTH}",
    "sums": f"x = scaler{' + 1' * DEPTH}",
    "powers": f"x = scaler{' ** 1' * DEPTH}",
    "conditions": f"x = scaler{' and 1' * DEPTH}",
    "many conditions": f"x = scaler{' and 1' * DEPTH * 20}",
    "comparisons": f"x = scaler{' < 1' * DEPTH}",
    "signs": f"x = {'-' * DEPTH}scaler",
    "ternaries": f"x = {'1 if scaler else ' * DEPTH}0",
    "lambdas": f"x = {'lambda: ' * DEPTH}scaler",
    "strings": "x = (scaler, " + "'' " * DEPTH + ")",
    "ifs": "".join(f"{' ' * depth}if scaler:\n" for depth in range(DEPTH)) + " " * DEPTH + "pass",
    "elifs": "if scaler:\n    pass\n" + "elif scaler:\n    pass\n" * DEPTH,
    "functions": "".join(f"{' ' * depth}def f():\n" for depth in range(DEPTH)) + " " * DEPTH + "return scaler",
    "imports": f"import scaler{'.a' * DEPTH * 10}",
    "imports from": f"from scaler{'.a' * DEPTH * 10} import b",
    "patterns": f"match scaler:\n    case {'[' * 90}x{']' * 90}:\n        pass",
    "tuples in patterns": f"match scaler:\n    case {'(' * 20}x{',)' * 20}:\n        pass",
    "patterns in a few brackets": "match scaler:\n" + f"    case {'{1: ' * 9}x{'}' * 9}:\n        pass\n" * 100,
    "parentheses of a pattern": f"match scaler:\n    case {chr(10).join('(' * 40)}x{')' * 40}:\n        pass",
    "targets of del": f"del {'(' * 40}scaler{',)' * 40}",
    "ninety ifs": "".join(f"{' ' * depth}if scaler:\n" for depth in range(90)) + " " * 90 + "scaler.update()",
    "ninety functions": "".join(f"{' ' * depth}def f():\n" for depth in range(90)) + " " * 90 + "scaler.update()",
}


def test_deep_nesting_is_checked_or_refused_in_one_line(project: Path) -> None:
    for shape, text in NESTED.items():
        (project / f"{shape}.py").write_text(f"{AMP_HEAD}{text}\n")
    # The process itself checks all files, so that nothing outside it could hide a crash.
    done = amplint("--jobs", "1", *(f"{shape}.py" for shape in NESTED), "flagged.py", cwd=project)
    said = problems(done)
    for shape in NESTED:
        mine = [line for line in said if line.startswith(f"{shape}.py: ")]
        refused = f"{shape}.py: nested too deeply to be checked"
        assert mine in ([], [refused]) or "LibCST cannot read row" in mine[0], mine
        said = [line for line in said if line not in mine]
    assert (said, done.returncode) == ([], 2)
    assert FLAGGED_LINE in done.stdout.splitlines()


def test_patterns_that_people_write_are_checked(project: Path) -> None:
    case = "    case {'a': [A(x=(1, {'b': [y]})), *_]} if f(g(h([(1, 2)]))):  # ((((((((((((\n        pass\n"
    (project / "deep.py").write_text(f"{AMP_HEAD}match scaler:\n{case * 50}del ((a, [b]), c)\n")
    done = forked_amplint("flagged.py", "deep.py", cwd=project)
    assert (problems(done), done.returncode) == ([], 1)


@pytest.mark.parametrize("shape", ["imports", "patterns"])
def test_deep_nesting_in_a_file_that_is_imported(project: Path, shape: str) -> None:
    (project / "helper.py").write_text(f"{AMP_HEAD}{NESTED[shape]}\n")
    (project / "uses.py").write_text(f"from helper import scaler\n{FLAGGED}scaler.update()\n")
    done = forked_amplint("flagged.py", "uses.py", cwd=project)
    assert (problems(done), done.returncode) == ([], 1)


def test_numbers_that_are_none(project: Path) -> None:
    for at, limit in enumerate(["(-1) ** 0.5", "1 / 0", "10 ** 400", "1j", f"0x{'f' * 5000}", "2.0 ** 9999"]):
        clip = f"torch.nn.utils.clip_grad_norm_(model.parameters(), {limit})"
        text = f"{AMP_HEAD}def train(model, loss, optimizer):\n    scaler.scale(loss).backward()\n    {clip}\n"
        (project / f"number{at}.py").write_text(f"{text}    scaler.step(optimizer)\n    scaler.update()\n")
    done = forked_amplint("--select", "AMP101", ".", cwd=project)
    assert problems(done) == []
    assert done.stdout.count("AMP101") == 5 and "number4" not in done.stdout  # no gradients reach that one


def test_a_finding_beside_deep_nesting_does_not_crash(project: Path) -> None:
    (project / "deep.py").write_text(f"{FLAGGED}y = flags_here{' + 1' * DEPTH}\n")
    done = amplint("deep.py", cwd=project)
    assert problems(done) in ([], ["deep.py: nested too deeply to be checked"])
    assert done.returncode == (2 if problems(done) else 1)


# -- where files lie ----------------------------------------------------------------------------------------------------


def test_missing_paths(project: Path) -> None:
    done = forked_amplint("absent.py", "flagged.py", "no/such/folder", cwd=project)
    check_rest(done, "absent.py: does not exist", "no/such/folder: does not exist")


def test_a_file_that_goes_away_or_is_none(project: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("no named pipes on this system")
    os.mkfifo(project / "pipe.py")
    check_rest(forked_amplint("pipe.py", "flagged.py", cwd=project), "pipe.py: cannot be read: not a regular file")


@posix
def test_unreadable_files_and_folders(project: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything; see the test by another user")
    (project / "secret.py").write_text(FLAGGED)
    (project / "folder").mkdir()
    (project / "secret.py").chmod(0)
    (project / "folder").chmod(0)
    try:
        done = forked_amplint(".", cwd=project)
    finally:
        (project / "folder").chmod(0o700)
    check_rest(done, "folder: cannot be read: Permission denied", "secret.py: cannot be read: Permission denied")


@posix
def test_unreadable_files_and_folders_for_another_user(project: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may become somebody else")
    for name in ("secret.py", "folder"):
        (project / name).mkdir() if name == "folder" else (project / name).write_text(FLAGGED)
        (project / name).chmod(0)
    for folder in (project, *project.parents[:-1]):
        if folder.stat().st_mode & 0o055 != 0o055 and folder.name.startswith(("pytest", project.name)):
            folder.chmod(0o755)
    try:
        done = subprocess.run(
            [*AMPLINT, "."], cwd=project, env=environment(), user=65534, group=65534, extra_groups=[], capture_output=True,
            text=True,
        )  # fmt: skip
    except PermissionError:
        pytest.skip("this Python lies where another user cannot run it")
    if "No module named" in done.stderr:
        pytest.skip("amplint lies where another user cannot import it")
    check_rest(done, "folder: cannot be read: Permission denied", "secret.py: cannot be read: Permission denied")


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that cannot be read even by root")
def test_a_file_on_which_reading_fails(project: Path) -> None:
    (project / "memory.py").symlink_to("/proc/self/mem")
    check_rest(forked_amplint(".", cwd=project), "memory.py: cannot be read: Input/output error")


@posix
def test_loops_of_links(project: Path) -> None:
    (project / "folder").mkdir()
    (project / "folder" / "up").symlink_to("..", target_is_directory=True)
    (project / "one.py").symlink_to("two.py")
    (project / "two.py").symlink_to("one.py")
    done = forked_amplint("one.py", "flagged.py", "folder", cwd=project)
    check_rest(done, "one.py: is a loop of symbolic links")
    done = forked_amplint(".", cwd=project)
    assert done.stdout.splitlines() == [FLAGGED_LINE]
    assert all("loop of symbolic links" in line for line in problems(done))


# -- settings -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("pyproject.toml", "[tool.amplint\n", "pyproject.toml: is not valid TOML: "),
        (
            "pyproject.toml",
            "[tool.amplint]\nselekt = []\n",
            "pyproject.toml:2: unknown key `selekt`; did you mean `select`?",
        ),
        ("pyproject.toml", "[tool]\namplint = 3\n", "pyproject.toml: `tool.amplint` must be a table"),
        ("amplint.toml", "select = 'AMP101'\n", "amplint.toml:1: `select` must be a list of strings"),
        ("amplint.toml", "select = ['AMP999']\n", "amplint.toml:1: `select`: unknown rule `AMP999`"),
        (
            "amplint.toml",
            "ignore = ['flags-her']\n",
            "amplint.toml:1: `ignore`: unknown rule `flags-her`; did you mean",
        ),
    ],
)
def test_settings_that_are_of_no_use(project: Path, name: str, text: str, message: str) -> None:
    (project / "sub").mkdir()
    (project / "sub" / "flagged.py").write_text(FLAGGED)
    (project / "sub" / name).write_text(text)
    done = forked_amplint(".", cwd=project)
    assert len(problems(done)) == 1
    assert problems(done)[0].startswith(f"sub/{message}")
    check_rest(done, *problems(done))


@pytest.mark.parametrize("name", ["amplint.toml", "pyproject.toml"])
def test_a_folder_where_settings_are_expected(project: Path, name: str) -> None:
    (project / "sub" / name).mkdir(parents=True)
    (project / "sub" / "flagged.py").write_text(FLAGGED)
    check_rest(forked_amplint(".", cwd=project), f"sub/{name}: cannot be read: Is a directory")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--select", "AMP999"), "--select: unknown rule `AMP999`"),
        (("--ignore", "clip-befor-unscale"), "--ignore: unknown rule `clip-befor-unscale`; did you mean `clip-before-"),
        (("--config", "absent.toml"), ""),
        (("--jobs", "many"), ""),
        (("--no-such-option",), ""),
        (("-", "flagged.py"), "`-` cannot be combined with other paths"),
    ],
)
def test_options_that_are_of_no_use(project: Path, arguments: tuple[str, ...], message: str) -> None:
    done = forked_amplint("flagged.py", *arguments, cwd=project)
    assert (done.returncode, done.stdout, len(problems(done))) == (2, "", 1)
    assert message in problems(done)[0]


@posix
def test_a_current_folder_that_is_gone(project: Path) -> None:
    (project / "gone").mkdir()
    script = f'cd gone && rmdir ../gone && "{sys.executable}" -m amplint .'
    done = subprocess.run(["sh", "-c", script], cwd=project, env=environment(), capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: the current folder is not there any more\n"


# -- rules and processes ------------------------------------------------------------------------------------------------


def test_a_rule_that_crashes(project: Path) -> None:
    (project / "a.py").write_text("crashes_here\n")
    (project / "b.py").write_text("recurses_here\n")
    done = forked_amplint(".", cwd=project)
    crashed = "rule BAD001 crashed at misbehaving_rules/bad001_crashes.py:29: ValueError: no luck at all"
    check_rest(done, f"a.py: {crashed}", "b.py: nested too deeply to be checked")


def test_a_crash_costs_no_more_than_the_findings_of_its_rule(project: Path) -> None:
    (project / "a.py").write_text("flags_here\ncrashes_here\nbabbles_here  # noqa: BAD010\n")
    done = forked_amplint("a.py", "flagged.py", cwd=project)
    (line,) = problems(done)
    assert line.startswith("a.py: rule BAD001 and 1 more crashed at ")
    assert (done.stdout.splitlines(), done.returncode) == (["a.py:1:1: BAD006 Flagged", FLAGGED_LINE], 2)
    assert "Found 2 findings in 2 of 2 files" in done.stderr
    (project / "a.py").write_text("babbles_here\n")
    (line,) = problems(forked_amplint("a.py", cwd=project))
    assert line.startswith("a.py: rule BAD010 crashed at misbehaving_rules/bad010_babbles.py:") and line.endswith("...")
    assert len(f"error: {line}") == 200


def test_a_rule_pack_that_cannot_be_loaded(project: Path) -> None:
    package = project / "site" / "lame_rules"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('not\\ntoday')\n")
    (project / "site" / "lame_rules-1.0.dist-info").mkdir()
    (project / "site" / "lame_rules-1.0.dist-info" / "entry_points.txt").write_text(
        "[amplint.rules]\nlame = lame_rules\n"
    )
    done = amplint("flagged.py", cwd=project, site=project / "site")
    assert problems(done) == ["rule pack 'lame_rules' cannot be loaded: RuntimeError: not today"]
    assert (done.returncode, done.stdout) == (2, "")


@posix
@pytest.mark.parametrize(("word", "end"), [("kills_here", "SIGKILL"), ("exits_here", "exit code 3")])
def test_a_worker_that_dies(project: Path, word: str, end: str) -> None:
    (project / "flagged.py").unlink()
    for number in range(6):
        (project / f"victim{number}.py").write_text(f"{word if number in (1, 4) else 'flags_here'}\n{BULK}")
    done = amplint("--no-cache", "--jobs", "2", "--ignore", "AMP", ".", cwd=project)
    assert problems(done) == [f"victim{number}.py: the process that checked it died ({end})" for number in (1, 4)]
    assert done.returncode == 2
    assert [line.split(":")[0] for line in done.stdout.splitlines()] == [f"victim{n}.py" for n in (0, 2, 3, 5)]


def _children(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in listed.stdout.split()]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes through /proc")
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_an_interrupt_ends_the_run_and_its_processes(project: Path, jobs: str) -> None:
    for number in range(6):
        (project / f"slow{number}.py").write_text(f"hangs_here\n{BULK}")
    process = subprocess.Popen(
        [*AMPLINT, "--no-cache", "--jobs", jobs, "."], cwd=project, env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True, preexec_fn=hear_interrupts,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not (project / "hanging").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = _children(process.pid)
    began = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert (process.returncode, out, err) == (130, "", "\ninterrupted\n")
    assert len(workers) == (3 if jobs == "3" else 0)
    assert not any(map(_alive, workers))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes through /proc")
def test_workers_do_not_outlive_a_run_that_is_killed(project: Path) -> None:
    for number in range(4):
        (project / f"file{number}.py").write_text(f"{'hangs_here' if number == 0 else 'flags_here'}\n{BULK * 2}")
    process = subprocess.Popen([*AMPLINT, "--no-cache", "--jobs", "2", "."], cwd=project, env=environment())
    deadline = time.monotonic() + 60
    while not (project / "hanging").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    workers = _children(process.pid)
    assert len(workers) == 2
    time.sleep(1)  # the other one has done its work by now, and waits for more
    process.kill()
    process.wait()
    time.sleep(1)
    hanging = [pid for pid in workers if _alive(pid)]
    for pid in hanging:
        os.kill(pid, signal.SIGKILL)
    assert len(hanging) <= 1  # only the one that is in the middle of a file


@posix
def test_nobody_reads_the_output(project: Path) -> None:
    for number in range(300):
        (project / f"flagged{number}.py").write_text(FLAGGED)
    read, written = os.pipe()
    process = subprocess.Popen(
        [*AMPLINT, "--no-cache", "--jobs", "1", "."],
        cwd=project,
        env=environment(),
        stdout=written,
        stderr=subprocess.PIPE,
    )
    os.close(written)
    os.close(read)
    _, err = process.communicate(timeout=120)
    assert b"Traceback" not in err and b"BrokenPipe" not in err
    assert process.returncode == 1
