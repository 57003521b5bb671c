"""Runs Synapse bound to the life of the process that started it.

    launch.py PARENT_PID SYNAPSE_ARGUMENTS...

The kernel kills it when the parent dies, however that happens. Files that it makes are private to its user. A registration
token that is good once is good once also for two who use it at the same moment, and good for nothing once it was taken back.
"""

import ctypes
import os
import runpy
import signal
import sys

PR_SET_PDEATHSIG = 1


def take_tokens_in_turn() -> None:
    """Synapse looks at a token and counts its use in two steps: of two at the same moment both get in (seen: 11 of 15)."""
    try:
        from synapse.handlers.ui_auth.checkers import RegistrationTokenAuthChecker as Checker
        from synapse.util.async_helpers import Linearizer

        made, checked = Checker.__init__, Checker.check_auth
    except (ImportError, AttributeError) as error:
        sys.exit(f"this Synapse checks registration tokens in a way that is not known here, so it is not started: {error}")

    def make(self, hs) -> None:
        made(self, hs)
        self._crossfire_turn = Linearizer(name="registration tokens in turn", clock=hs.get_clock())

    async def check_auth(self, authdict, clientip):
        async with self._crossfire_turn.queue("token"):
            return await checked(self, authdict, clientip)

    Checker.__init__ = make
    Checker.check_auth = check_auth


def ask_for_tokens_to_the_end() -> None:
    """Synapse looks at a token once, and lets its session make the account up to 48 h later (seen), though it is gone then."""
    try:
        from synapse.api.errors import Codes, LoginError
        from synapse.handlers.auth import AuthHandler
        from synapse.handlers.ui_auth import UIAuthSessionDataConstants as Data
        from synapse.storage.databases.main.registration import RegistrationStore

        asked, session_data = AuthHandler.check_ui_auth, AuthHandler.get_session_data
        one_token, token_key, made_key = (
            RegistrationStore.get_one_registration_token,
            Data.REGISTRATION_TOKEN,
            Data.REGISTERED_USER_ID,
        )
    except (ImportError, AttributeError) as error:
        sys.exit(f"this Synapse checks registration tokens in a way that is not known here, so it is not started: {error}")

    async def check_ui_auth(self, *args, **kwargs):
        told = await asked(self, *args, **kwargs)
        token = await session_data(self, told[2], token_key)
        if token and not await session_data(self, told[2], made_key) and await one_token(self.store, token) is None:
            raise LoginError(401, "The registration token was taken back", Codes.UNAUTHORIZED)
        return told

    AuthHandler.check_ui_auth = check_ui_auth


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
    take_tokens_in_turn()
    ask_for_tokens_to_the_end()
    sys.argv = ["synapse", *sys.argv[2:]]
    runpy.run_module("synapse.app.homeserver", run_name="__main__", alter_sys=True)


main()
