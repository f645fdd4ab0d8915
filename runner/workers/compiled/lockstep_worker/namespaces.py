"""What the kernel lets a process be kept from: the folders of a run."""

import ctypes
import errno
import os

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18


def hide(folders: list[str], kept: str = "") -> None:
    """Puts empty folders in the place of these, for this process and what it starts, which get a
    user namespace of their own: so the folders are not found through another process, either. Of
    what lies in them the folder `kept` stays. Call it in a process with one thread. Raises
    `OSError`, above all where the kernel or its administrator allows no user namespaces."""
    user, group = os.getuid(), os.getgid()
    _called("unshare", _CLONE_NEWUSER | _CLONE_NEWNS)
    for file, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{file}", "w", encoding="ascii") as map_:
            map_.write(text)
    _called("mount", None, b"/", None, _MS_REC | _MS_PRIVATE, None)
    stays = os.open(kept, os.O_PATH | os.O_DIRECTORY) if kept else None
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    for folder in folders:
        if not os.path.isdir(folder):
            continue
        _called("mount", b"none", os.fsencode(folder), b"tmpfs", flags, b"size=64k,mode=755")
        if stays is not None and kept.startswith(folder + os.sep):
            os.makedirs(kept)
            source = f"/proc/self/fd/{stays}".encode()
            _called("mount", source, os.fsencode(kept), None, _MS_BIND, None)
    if stays is not None:
        os.close(stays)


def why_not() -> str:
    """Why `hide` fails here; empty where it does not. It is tried in a process of its own."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            hide([os.getcwd()])
        except OSError as error:
            os.write(writing, (error.strerror or str(error)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        text = pipe.read(200).decode(errors="replace")
    os.waitpid(pid, 0)
    return text


def _called(name: str, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) != 0:
        code = ctypes.get_errno() or errno.EPERM
        raise OSError(code, os.strerror(code))
