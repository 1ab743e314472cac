"""Files that are replaced whole or not at all.

The new contents go to a temporary file in the same folder, which then takes the place of the old file. Where the
system has nameless files (Linux), not even a killed process leaves one behind.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from typing import BinaryIO

STREAMS = re.compile(r"/dev/(?P<name>stdout|stderr)|(?:/dev|/proc/self)/fd/(?P<number>[0-9]+)")


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open `path` for writing; it holds the old contents until the block ends without an error.

    A symbolic link stays, and the file it names is replaced. A file keeps its permissions, a new one gets those of the
    umask. Devices, pipes and /dev/stdout cannot be replaced: they are written to directly.
    """
    name = os.fsdecode(path)
    stream = STREAMS.fullmatch(name)
    if stream is not None:
        number = stream["number"] or {"stdout": 1, "stderr": 2}[stream["name"]]
        with open(os.dup(int(number)), "wb") as file:
            yield file
        return
    mode = _mode(name)
    if mode is not None and not stat.S_ISREG(mode):
        with open(os.open(name, os.O_WRONLY), "wb") as file:
            yield file
        return
    with replacing(name) as file:
        yield file


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError that writing to `path` would meet, as far as it can be known before the work."""
    name = os.fsdecode(path)
    mode = _mode(name)
    if STREAMS.fullmatch(name) or (mode is not None and not stat.S_ISREG(mode)):
        return
    folder = os.path.dirname(os.path.realpath(name))
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder to write to", os.path.dirname(name) or folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "this folder cannot be written to", folder)


def _mode(name: str) -> int | None:
    """The mode of what is at `name`, None if nothing is; a folder is refused."""
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    return mode


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """As `writing`, for regular files only: OSError for a device or a pipe."""
    target = os.path.realpath(os.fsdecode(path))
    mode = _mode(target)
    if mode is not None and not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file", target)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".electorate-{secrets.token_hex(8)}.tmp")
    # Private until it gets the permissions of the old file, which may be private itself.
    file, is_nameless = _new_file(folder, temporary, 0o666 if mode is None else 0o600)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if is_nameless:
                _give_name(file, folder, temporary)
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode) & 0o777)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _new_file(folder: str, temporary: str, mode: int) -> tuple[BinaryIO, bool]:
    """A new file, and whether it still needs a name. The name is unpredictable, and O_EXCL follows no link."""
    if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # not every file system has nameless files
            return open(os.open(folder, os.O_TMPFILE | os.O_WRONLY, mode), "wb"), True
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return open(os.open(temporary, flags, mode), "wb"), False


def _give_name(file: BinaryIO, folder: str, temporary: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:  # Python follows the link in /proc only when it gets the descriptor of a folder
        os.link(f"/proc/self/fd/{file.fileno()}", os.path.basename(temporary), dst_dir_fd=descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: str) -> None:
    """Make the rename durable where the system can; the new file is complete in any case."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace the file at `path` by one that holds `text`, in UTF-8 and with its own line ends."""
    with writing(path) as file:
        file.write(text.encode())
