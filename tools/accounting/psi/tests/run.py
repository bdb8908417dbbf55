#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Test psitop and psi-wait on made-up trees of pressure files.

usage: tests/run.py [--no-terminal] DIRECTORY [WORD...]

DIRECTORY has the programs. With WORDs, only tests whose names contain one of
them run. Prints TAP; exit status 1 when a test failed. Nothing depends on the
kernel that runs, nor on how fast it does: the programs have a clock that the
tests set. Needed are python3 and cc; tmux without --no-terminal; bpftrace and
man where what they check is to be checked.
"""

import sys

sys.dont_write_bytecode = True
import lib
import test_files
import test_metrics
import test_numbers
import test_record
import test_screen
import test_tasks
import test_wait
from watching import main

sys.exit(main(__doc__, lib, test_numbers, test_metrics, test_tasks, test_wait, test_record,
              test_screen, test_files))
