#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Test psitop and psi-wait on made-up trees of pressure files.

usage: tests/run.py DIRECTORY [WORD...]

DIRECTORY has the programs. With WORDs, only tests whose names contain one of
them run. Prints TAP; exit status 1 when a test failed. Nothing depends on the
kernel that runs, nor on how fast it does: what has to come is waited for.
Needed are python3, tmux, and cc; bpftrace and man where what they check is to
be checked.
"""

import os
import sys
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
import lib
import test_files
import test_numbers
import test_screen
import test_wait


def tests():
    for module in test_numbers, test_wait, test_screen, test_files:
        for name, test in vars(module).items():
            if name.startswith("test_"):
                yield f"{module.__name__[5:]}: {test.__doc__}", test


def run(test):
    """ok, skip or not ok, and why"""
    try:
        with lib.Fake() as fake:
            test(fake)
    except lib.Skip as reason:
        return "skip", str(reason)
    except Exception:
        return "not ok", traceback.format_exc()
    return "ok", ""


def main():
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        print(__doc__)
        return sys.argv[1:] != ["--help"]
    lib.PROGRAMS = Path(sys.argv[1]).resolve()
    os.environ["LC_ALL"] = "C.UTF-8"
    chosen = [(name, test) for name, test in tests()
              if not sys.argv[2:] or any(word in name for word in sys.argv[2:])]
    failed = False
    print(f"TAP version 13\n1..{len(chosen)}")
    for number, (name, test) in enumerate(chosen, start=1):
        verdict, why = run(test)
        failed |= verdict == "not ok"
        if verdict == "skip":
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
            continue
        print("".join(f"# {line}\n" for line in why.splitlines()), end="")
        print(f"{verdict} {number} - {name}", flush=True)
    return failed


sys.exit(main())
