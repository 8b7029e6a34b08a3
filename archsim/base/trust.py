"""Whether others can change what lies in a folder: compiled code is loaded only from where nobody else can.

As of ssh: the folder and all that it lies in belong to the running user or to root, and no one else may write there. A
folder for all with the sticky bit (/tmp) may lie above, since what the user owns in it others cannot rename. A group
that is the user's own, with nobody else in it, counts as the user. Where the system has no such owners (Windows),
nothing is asked. Access lists beyond the permission bits are not looked at.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

OTHERS = stat.S_IWGRP | stat.S_IWOTH


def distrust(folder: Path, sticky: bool = False) -> str:
    """Why somebody else may change what lies in ``folder``, which is there and has no links in its path; '' if nobody
    can. ``sticky``: it is to hold a folder of the user's, so that all may write to it where it has the sticky bit.
    Raises OSError where that cannot be asked."""
    if not hasattr(os, "geteuid"):
        return ""
    for path in (folder, *folder.parents):
        reason = _loose(path, path.lstat(), sticky or path != folder)
        if reason:
            return reason
    return ""


def distrust_file(path: Path, found: os.stat_result) -> str:
    """Why somebody else may change an opened file of such a folder; '' if nobody can."""
    if not stat.S_ISREG(found.st_mode):
        return f"{path} is no regular file"
    return _loose(path, found, sticky=False) if hasattr(os, "geteuid") else ""


def _loose(path: Path, found: os.stat_result, sticky: bool) -> str:
    if found.st_uid not in (os.geteuid(), 0):
        return f"{path} belongs to another user ({found.st_uid})"
    others = found.st_mode & OTHERS
    if not others or (sticky and found.st_mode & stat.S_ISVTX):
        return ""
    if others == stat.S_IWGRP and _is_own_group(found.st_gid):
        return ""
    return f"others may write to {path}"


def _is_own_group(group: int) -> bool:
    """Whether a group is that of the running user alone."""
    import grp
    import pwd

    try:
        user, members = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
    except KeyError:
        return False
    alone = set(members.gr_mem) <= {user.pw_name}
    return alone and user.pw_gid == group and members.gr_name == user.pw_name
