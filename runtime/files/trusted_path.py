"""Whether other users can replace a file or folder, judged by the folders above it."""

import functools
import os
import stat
import sys
from pathlib import Path
from typing import Final

if sys.platform != "win32":
    import grp
    import pwd

_ROOT: Final = 0
_MOST_LINKS: Final = 40
_ACCESS_LIST: Final = "system.posix_acl_access"


def exposure_of(path: Path) -> str | None:
    """Which folder or link above `path`, an absolute path, lets other users replace it; None if none does.

    Each folder on the way, starting at the root, must belong to this user or root. Nobody else may write to it,
    unless its sticky bit protects other users' files, as in ``/tmp``. Links must belong to this user or root, too.
    The part of a path that does not exist is not checked. A path that passes stays safe until this user or root
    changes it, so it can be used afterwards. Windows protects the user's folders by other means: nothing is checked
    there.
    """
    if os.name == "nt":
        return None
    current, names, links = os.sep, [*reversed(path.parts[1:])], 0
    while names:
        try:
            if (problem := _problem_of_folder(current)) is not None:
                return problem
            name = names.pop()
            if name == os.pardir:
                current = os.path.dirname(current)
                continue
            reached = os.path.join(current, name)  # which is the root again, if a link is absolute
            status = os.lstat(reached)
            if not stat.S_ISLNK(status.st_mode):
                current = reached
                continue
            links += 1
            if not _is_trusted(status):
                return f"the link {reached} belongs to another user"
            if links > _MOST_LINKS:
                return f"{path} leads through more than {_MOST_LINKS} links"
            names += reversed(Path(os.readlink(reached)).parts)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return f"{current} cannot be read ({error.strerror})"
    return None


def _problem_of_folder(folder: str) -> str | None:
    status = os.lstat(folder)
    if not _is_trusted(status):
        return f"{folder} belongs to another user"
    if status.st_mode & stat.S_ISVTX:
        return None
    others, group = status.st_mode & stat.S_IWOTH, status.st_mode & stat.S_IWGRP
    if others or (group and (_has_access_list(folder) or not _is_private(status.st_uid, status.st_gid))):
        return f"{folder} can be written by other users"
    return None


def _is_trusted(status: os.stat_result) -> bool:
    return status.st_uid in (_ROOT, os.geteuid())


@functools.cache
def _is_private(user: int, group: int) -> bool:
    """Whether a group contains only this user: most distributions create one for each user, with the user's name."""
    if sys.platform == "win32":
        return False
    try:
        owner, found = pwd.getpwuid(user), grp.getgrgid(group)
    except KeyError:
        return False
    is_own = (owner.pw_gid, owner.pw_name) == (group, found.gr_name)
    return is_own and {*found.gr_mem} <= {owner.pw_name}


def _has_access_list(folder: str) -> bool:
    """Whether a folder has an access list with further users: then the bits of its group apply to them, too."""
    if sys.platform != "linux":
        return False
    try:
        os.getxattr(folder, _ACCESS_LIST)
    except OSError:
        return False
    return True
