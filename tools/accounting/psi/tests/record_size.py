#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measure how large a record of psitop is, with numbers as those of a busy machine.

usage: tests/record_size.py DIRECTORY [ROUNDS]

DIRECTORY has the programs. Of 500 groups in 8 slices, 40 are busy, and so are
the slices and the system: all with cpu, half of the 40 with io, a quarter with
memory, whose causes grow. Their pressure
wanders at random, and averages follow it as in the kernel, 5 s in a round. A
round takes 200 ms here; psitop reads with the clock of the host. Each minute a
group goes and another comes. Prints bytes a round, and what a day would take.
"""

import math
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
import lib

SLICES, GROUPS, BUSY = 8, 492, 40
ROUND_S, ROUNDS_A_DAY, PAUSE_S = 5, 24 * 3600 // 5, 0.2
CAUSES = ("direct_reclaim", "direct_compaction", "node_reclaim", "memcg_max", "memcg_high",
          "thrashing", "readback", "swapin", "blkcg_throttle", "other", "background_kswapd",
          "background_kcompactd", "requested_reclaim")


class Line:
    """A line of a pressure file"""

    def __init__(self):
        self.averages, self.total_us = [0.0, 0.0, 0.0], 0

    def grow(self, pct):
        self.total_us += int(pct * 1e4 * ROUND_S * random.uniform(0.8, 1.2))
        for i, constant_s in enumerate((10, 60, 300)):
            left = math.exp(-ROUND_S / constant_s)
            self.averages[i] = self.averages[i] * left + pct * (1 - left)

    def text(self, kind):
        return "{} avg10={:.2f} avg60={:.2f} avg300={:.2f} total={}\n".format(
            kind, *self.averages, self.total_us)


class Busy:
    """A group whose pressure wanders; the same for its slice and the system"""

    def __init__(self, group, resources):
        self.group, self.resources = group, resources
        self.pct = {resource: random.uniform(0.5, 30) for resource in resources}
        self.lines = {resource: (Line(), Line()) for resource in resources}
        self.causes = {name: [0, 0, 0] for name in CAUSES}
        self.cpu = [0, 0]

    def write(self):
        for resource in self.resources:
            pct = min(95, max(0, self.pct[resource] + random.gauss(0, 3)))
            self.pct[resource] = pct
            some, full = self.lines[resource]
            some.grow(pct)
            full.grow(pct * 0.6)
            self.group.write(resource + self.group.suffix, some.text("some") + full.text("full"))
        self.write_causes()

    def write_causes(self):
        if "memory" in self.resources:
            for name in random.sample(CAUSES, 4):
                cause, stall_us = self.causes[name], int(random.expovariate(1 / 3e4))
                cause[0] += random.randrange(1, 200)
                cause[1] += stall_us
                cause[2] = max(cause[2], stall_us // 20)
        self.cpu[0] = self.lines["cpu"][0].total_us
        self.group.write("pressure.causes", causes_text(self.cpu, self.causes))


def causes_text(cpu, causes):
    return f"cpu.contention some={cpu[0]} full={cpu[1]}\ncpu.quota some=0 full=0\n" + "".join(
        "memory.{} count={} total={} max={}\n".format(name, *cause)
        for name, cause in causes.items())


def make(fake):
    """The groups that are busy"""
    root = lib.Group(fake.cgroup_dir, ".pressure")
    busy, idle = [], causes_text([0, 0], {name: [0, 0, 0] for name in CAUSES})
    root.write("pressure.causes", idle)
    slices = [fake.group(f"/slice-{i}.slice") for i in range(SLICES)]
    for group in slices:
        group.write("pressure.causes", idle)
    for i in range(GROUPS):
        group = fake.group(f"/slice-{i % SLICES}.slice/some-service-{i}.service")
        group.write("pressure.causes", idle)
        if i < BUSY:
            resources = ["cpu"] + ["io"] * (i % 2) + ["memory"] * (i % 4 == 0)
            busy.append(Busy(group, resources))
    return busy + [Busy(group, ["cpu", "io", "memory"]) for group in slices] + \
        [Busy(fake.system, ["cpu", "io", "memory"])]


def exchange(fake, number):
    directory = fake.cgroup_dir / f"slice-0.slice/session-{number}.scope"
    directory.mkdir()
    lib.Group(directory, ".pressure")
    shutil.rmtree(directory.with_name(f"session-{number - 1}.scope"), ignore_errors=True)


def main():
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        print(__doc__)
        return
    lib.PROGRAMS = Path(sys.argv[1]).resolve()
    rounds = int((sys.argv[2:] or ["320"])[0])
    random.seed(1)
    with lib.Fake() as fake:
        busy, file = make(fake), fake.top / "record"
        process = subprocess.Popen(fake.command(
            "psitop", "--record", str(file), "--quiet", "-d", f"{PAUSE_S * 1000:.0f}ms",
            "-n", str(rounds)))
        begin_s, second = time.monotonic(), 0
        while process.poll() is None:
            for each in busy:
                each.write()
            if second % 12 == 0:
                exchange(fake, second // 12)
            second += 1
            time.sleep(max(0, begin_s + second * PAUSE_S - time.monotonic()))
        a_round = file.stat().st_size / rounds
        print(f"{rounds} rounds, {second} changes: {a_round:.0f} bytes a round, "
              f"{a_round * ROUNDS_A_DAY / 1e6:.1f} MB a day")


main()
