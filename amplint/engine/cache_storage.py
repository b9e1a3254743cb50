"""Where the cache lies, and how amplint knows that what lies there is its own.

By default that is the user's cache folder, which no linted tree can reach. Wherever else it may be told to lie, a stranger may
have been there before. So every file is sealed with a secret that only the user's own cache folder holds, what nobody sealed
is not read, files are replaced and never written through, and a folder that others can change is not used at all.
"""

from __future__ import annotations

import os
import re
import stat
import tempfile
import time
from contextlib import suppress
from hashlib import blake2b
from hmac import compare_digest
from pathlib import Path

from amplint.system.reading import read_file

VARIABLE = "AMPLINT_CACHE_DIR"
"""The environment variable that names the folder."""

EXPLORED = ".explored"
"""Ends the names of files that hold what paths have shown."""

_SEAL = 32
"""Bytes of a seal, and of the secret."""
_ROOTS = 100
"""How many folders stay, the latest ones: one for each root."""
_STALE = 3600.0
"""Seconds after which a file that is not whole is taken for left by a run that died."""
_FOLDER = re.compile(r"[0-9a-f]{32}")
_TAG = b"Signature: 8a477f597d28d172789f06886806bc55\n# This folder holds a cache of amplint: https://bford.info/cachedir/\n"
_MARKS = {".gitignore": b"*\n", "CACHEDIR.TAG": _TAG}
"""Files that hide a folder from git and from backups."""


class Unusable(OSError):
    """A folder or a secret may be in other hands; the message is one line."""


class Storage:
    """The sealed files of one root.

    Args:
        root: the folder that they tell about.
        setting: where the settings of the root want the cache.
        option: where the user wants it, which comes first.

    Raises:
        OSError: nothing can be kept; the message is one line.
    """

    def __init__(self, root: Path, setting: Path | None = None, option: Path | None = None) -> None:
        self._own = _own_folder()
        told = os.environ.get(VARIABLE)
        self._base = option or (Path(os.path.abspath(told)) if told else setting) or self._own
        self._folder = self._base / blake2b(os.fsencode(os.path.realpath(root)), digest_size=16).hexdigest()

    def read(self, name: str) -> bytes:
        """What was written under a name; empty when nothing was, or not by amplint on behalf of this user.

        Raises:
            OSError: the folder must not be used.
        """
        try:
            for folder in (self._own, self._base, self._folder):
                _refuse_foreign(folder, stat.S_IWOTH)
            secret = self._secret()
        except FileNotFoundError:
            return b""
        try:
            sealed = read_file(self._folder / name)
        except OSError:
            return b""
        data = sealed[_SEAL:]
        return data if compare_digest(sealed[:_SEAL], _seal(secret, name, data)) else b""

    def write(self, name: str, data: bytes, keep: int) -> None:
        """Write a file in one step, so that others see the old one or the new one.

        Args:
            name: the name of the file; its suffix says what kind of file it is.
            data: what is written, behind a seal.
            keep: how many files of this kind stay, the latest ones.

        Raises:
            OSError: the folder must not be used, or cannot be written.
        """
        for folder in (self._own, self._base):
            _make(folder)
        if _make(self._folder):
            _forget(self._base)
        try:
            secret = self._secret()
        except FileNotFoundError:
            # Where two runs do this at once, one of them seals for nobody: it costs a run that is not faster.
            _put(self._own / "secret", os.urandom(_SEAL))
            secret = self._secret()
        for mark, text in _MARKS.items():
            if not os.path.lexists(self._folder / mark):
                _put(self._folder / mark, text)
        _put(self._folder / name, _seal(secret, name, data) + data)
        self._prune(Path(name).suffix, keep)

    def clear(self, everything: bool = False) -> tuple[Path, int]:
        """Remove what is kept; gives the folder in which it lay, and of how many roots it was.

        Args:
            everything: whether what is kept of other roots goes, too.

        Raises:
            OSError: the folder must not be used.
        """
        try:
            _refuse_foreign(self._base, stat.S_IWOTH)
        except FileNotFoundError:
            return self._base, 0
        folders = _folders(self._base)
        return self._base, sum(_remove(each) for each in folders if everything or each == self._folder)

    def _secret(self) -> bytes:
        """What this user's files are sealed with.

        Raises:
            FileNotFoundError: there is none yet, or the disk was full when it was made.
            OSError: it cannot be read, or others can read it.
        """
        path = self._own / "secret"
        _refuse_foreign(path, stat.S_IRWXG | stat.S_IRWXO)
        secret = read_file(path, 2**20)
        if len(secret) != _SEAL:
            raise FileNotFoundError(path)
        return secret

    def _prune(self, suffix: str, keep: int) -> None:
        files = sorted((path for path in self._folder.iterdir() if path.suffix == suffix), key=_age)
        stale = (path for path in self._folder.glob("*.tmp") if _age(path) > _STALE)
        for path in (*files[keep:], *stale):
            path.unlink(missing_ok=True)


def _own_folder() -> Path:
    """The folder of amplint in the user's cache folder.

    Raises:
        Unusable: the user has none: whoever has no home.
    """
    from platformdirs import user_cache_dir  # slow to import

    folder = user_cache_dir("amplint", appauthor=False)
    if not os.path.isabs(folder):  # it would lie in whatever tree is linted
        raise Unusable(f"{folder} is no folder of the user")
    return Path(folder)


def _refuse_foreign(path: Path, closed: int) -> None:
    """Raise for what is a link, belongs to another user, or is open to others in one of the `closed` ways.

    Raises:
        Unusable: one of these.
        OSError: there is nothing, or it cannot be looked at.
    """
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise Unusable(f"{path} is a symbolic link")
    if hasattr(os, "geteuid"):  # elsewhere modes say nothing
        if status.st_uid != os.geteuid():
            raise Unusable(f"{path} belongs to another user")
        if status.st_mode & closed:
            raise Unusable(f"{path} is open to other users")


def _make(folder: Path) -> bool:
    """Make a folder for this user alone, unless it is there; returns whether it was made."""
    try:
        os.makedirs(folder, mode=0o700)
        made = True
    except FileExistsError:
        made = False
    _refuse_foreign(folder, stat.S_IWOTH)
    return made


def _put(path: Path, data: bytes) -> None:
    """Put a file in its place, whatever lies there: a link is replaced, not followed."""
    handle, beside = tempfile.mkstemp(prefix="amplint-", suffix=".tmp", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _forget(base: Path) -> None:
    """Remove the folders that were not written to for the longest time; roots come and go."""
    for folder in sorted(_folders(base), key=_age)[_ROOTS:]:
        _remove(folder)


def _folders(base: Path) -> list[Path]:
    """The folders of the roots."""
    return [path for path in base.iterdir() if _FOLDER.fullmatch(path.name) and not path.is_symlink()]


def _remove(folder: Path) -> bool:
    """Remove the folder of a root with all that amplint wrote there; whether that is done."""
    with suppress(OSError):  # another run was faster, or there is something that is not ours
        for path in folder.iterdir():
            if path.name in _MARKS or path.suffix in (".cache", EXPLORED, ".tmp"):
                path.unlink()
        folder.rmdir()
        return True
    return False


def _seal(secret: bytes, name: str, data: bytes) -> bytes:
    seal = blake2b(name.encode() + b"\0", key=secret, digest_size=_SEAL)
    seal.update(data)
    return seal.digest()


def _age(path: Path) -> float:
    """Seconds since a file was written; none, if another run has removed it meanwhile."""
    try:
        return time.time() - path.lstat().st_mtime
    except OSError:
        return 0.0
