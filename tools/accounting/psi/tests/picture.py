#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print what psitop shows of made-up groups, as a picture for the document.

usage: tests/picture.py DIRECTORY [COLUMNS LINES]

DIRECTORY has the programs.
"""

import math
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import lib

ROUNDS = 29

# us in a second: cpu some, full; memory some, full; io some, full
GROUPS = {
    "/build": (310e3, 120e3, 4e3, 0, 60e3, 20e3),
    "/build/compile": (300e3, 110e3, 4e3, 0, 55e3, 18e3),
    "/build/link": (20e3, 9e3, 0, 0, 5e3, 2e3),
    "/shop": (30e3, 8e3, 640e3, 420e3, 510e3, 400e3),
    "/shop/cache": (4e3, 1e3, 90e3, 20e3, 80e3, 10e3),
    "/shop/database": (25e3, 5e3, 610e3, 410e3, 500e3, 390e3),
    "/nightly": (680e3, 670e3, 0, 0, 0, 0),
    "/idle": (0, 0, 0, 0, 0, 0),
}
SYSTEM = (320e3, 0, 350e3, 180e3, 300e3, 160e3)
CAUSES = "memory.memcg_high count={:06} total={:012} max=48211\n" \
         "memory.readback count={:06} total={:012} max=9120\n" \
         "memory.background_kswapd count={:06} total={:012} max=4100\n"


def move(groups, second):
    swing = 1 + 0.35 * math.sin(second / 3)
    for group, rates in groups:
        for i, resource in enumerate(("cpu", "memory", "io")):
            some, full = (rate * swing for rate in rates[2 * i:2 * i + 2])
            group.stall(resource, int(some), int(full), rates[2 * i] / 1e4 * 0.93,
                        rates[2 * i + 1] / 1e4 * 0.93)


def main():
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        print(__doc__)
        return
    lib.PROGRAMS = Path(sys.argv[1]).resolve()
    os.environ["LC_ALL"] = "C.UTF-8"
    columns, lines = map(int, sys.argv[2:] or (88, 20))
    with lib.Fake() as fake:
        groups = [(fake.group(path), rates) for path, rates in GROUPS.items()]
        terminal = fake.terminal(columns=columns, lines=lines)
        database = groups[list(GROUPS).index("/shop/database")][0]
        for second in range(ROUNDS):
            move([(fake.system, SYSTEM), *groups], second)
            database.write("pressure.causes",
                           CAUSES.format(20 * second, 580000 * second, 60 * second,
                                         42000 * second, 5 * second, 3000 * second))
            text = terminal.round()
            if second == ROUNDS - 3:
                terminal.press("Down", "Down", "Down")
                terminal.until("── /shop/database ──")
        print(text, end="")


main()
