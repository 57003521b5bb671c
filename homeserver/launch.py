"""Runs Synapse bound to the life of the process that started it.

    launch.py PARENT_PID SYNAPSE_ARGUMENTS...

The kernel kills it when the parent dies, however that happens. Files that it makes are private to its user.
"""

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent = int(sys.argv[1])
    libc = ctypes.CDLL(None, use_errno=True)
    # SIGKILL: a polite signal can be left unanswered, and both databases survive a kill.
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        sys.exit(f"prctl: {os.strerror(ctypes.get_errno())}")
    # The parent may have died before the kernel was told.
    if os.getppid() != parent:
        sys.exit("the process that started this homeserver is gone")
    os.umask(0o077)
    sys.argv = ["synapse", *sys.argv[2:]]
    runpy.run_module("synapse.app.homeserver", run_name="__main__", alter_sys=True)


main()
