# SPDX-License-Identifier: GPL-2.0
"""Made-up files of a kernel with ksamplingd, and ksamplingd-top that looks at them."""

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[2] / "lib/watch/tests"))
from watching import SCRATCH, Rounds, Skip, Terminal, another_user, output_of

PROGRAMS = Path(".")            # set by watching.main()
PAGE = os.sysconf("SC_PAGESIZE")
STATUS = "sys/kernel/debug/ksamplingd/status"
PROMOTION = "sys/kernel/debug/ksamplingd/promotion"
HISTOGRAM = "sys/kernel/debug/ksamplingd/histogram"
KNOBS = "proc/sys/vm/ksamplingd"
TIERS = "sys/devices/virtual/memory_tiering"
NODES = "sys/devices/system/node"
DISCARDS = "no_address", "no_page", "no_memory", "bad_record", "not_memory", "kernel"
FAILURES = ("gone", "cold", "barred", "order", "pinned", "special", "shared", "policy", "busy",
            "full")
PROMOTED = "told", "promoted", "dropped", "returned", *(f"failed_{why}" for why in FAILURES)


class Fake:
    """A made-up /, with two tiers of a node each; the kernel does not promote at first"""

    def __init__(self):
        self.top = Path(tempfile.mkdtemp(dir=SCRATCH))
        self.started = []
        self.vm = {name: 0 for name in (
            "nr_free_pages", "ksamplingd_samples", "ksamplingd_discarded", "ksamplingd_lost",
            "ksamplingd_samples_fast", "ksamplingd_samples_slow",
            "pgpromote_success", "pgdemote_kswapd", "pgdemote_direct", "pgdemote_khugepaged")}
        self.state = {
            "enabled": 1, "source": "pebs", "rings": 8, "use_permille": 29,
            "use_last_window_permille": 31, "workload_permille": 123,
            "load_share_permille": 801, "sleep_us": 2000, "rounds": 10, "windows": 5,
            "period_changes": 1, "run_ns": 30, "wall_ns": 1000, "heat_bytes": 8192,
            "hot_target_kb": 4096}
        self.promotion = {}
        self.events = {"loads": {"period": 1999}, "stores": {"period": 20011}}
        self.write("proc/vmstat", "")
        self.knob("enabled", 1)
        self.knob("quota_permille", 30)
        self.knob("hot_samples", 2)
        self.tier(4, "0")
        self.tier(22, "1")
        for node in 0, 1:
            self.node(node)
        self.write(f"{NODES}/has_cpu", "0\n")
        self.write(f"{NODES}/has_memory", "0-1\n")
        self.histogram(1, {0: [0] * 16, 1: [0] * 16})
        self.told()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            process.close()
        shutil.rmtree(self.top)

    def write(self, path, text):
        # In place, as the program has the file open, and in one piece.
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(file, os.O_WRONLY | os.O_CREAT, 0o644)
        size = os.fstat(fd).st_size
        os.pwrite(fd, text.encode().ljust(size, b"\n"), 0)
        os.close(fd)

    def knob(self, name, value):
        self.write(f"{KNOBS}/{name}", f"{value}\n")

    def tier(self, number, nodes):
        self.write(f"{TIERS}/memory_tier{number}/nodelist", f"{nodes}\n")

    def node(self, number, total_kb=1 << 20, free_kb=1 << 18, **moves):
        lines = {"pgpromote_success": 0, "pgdemote_kswapd": 0, "pgdemote_direct": 0,
                 "pgdemote_khugepaged": 0} | moves
        self.write(f"{NODES}/node{number}/vmstat", "nr_free_pages 7\n" + "".join(
            f"{name} {value}\n" for name, value in lines.items()))
        self.write(f"{NODES}/node{number}/meminfo",
                   f"Node {number} MemTotal:       {total_kb} kB\n"
                   f"Node {number} MemFree:        {free_kb} kB\n"
                   f"Node {number} MemUsed:        {total_kb - free_kb} kB\n")

    def histogram(self, hot_from, nodes):
        self.write(HISTOGRAM, f"hot_from {hot_from}\n" + "".join(
            f"node {node} pages {' '.join(map(str, bins))}\n" for node, bins in nodes.items()))

    def told(self, **vm):
        """Write the status, the promotion, and vmstat with what is given there."""
        self.vm |= vm
        self.write("proc/vmstat", "".join(f"{name} {value}\n" for name, value in self.vm.items()))
        lines = [f"{name} {value}\n" for name, value in self.state.items()]
        for event, numbers in self.events.items():
            every = dict.fromkeys(("period", "samples", "lost", "throttled", "broken") + DISCARDS +
                                  ("enabled_ns", "running_ns"), 0)
            every |= {"running_permille": 1000} | numbers
            lines.append(f"event {event} " + " ".join(
                f"{name} {value}" for name, value in every.items()) + "\n")
        self.write(STATUS, "".join(lines))
        if self.promotion:
            self.write(PROMOTION, "".join(f"{name} {value}\n" for name, value in (
                self.promotion | {name[11:]: value for name, value in self.vm.items()
                                  if name[11:] in PROMOTED}).items()))

    def promotes(self):
        """From now on it is a kernel that promotes, and does so."""
        self.knob("promote", 1)
        self.knob("promote_mb_per_s", 128)
        self.promotion = {"promote": 1, "promote_kb_per_s_now": 65536, "returned_permille": 3,
                          "past_bytes": 2048, "queued": 512}
        self.vm |= {f"ksamplingd_{name}": 0 for name in PROMOTED}
        self.told()

    def without(self, name):
        """The kernel has no such line in /proc/vmstat, nor for the nodes that there are."""
        self.vm.pop(name, None)
        for file in self.top / "proc/vmstat", *self.top.glob(f"{NODES}/node*/vmstat"):
            text = file.read_text()
            self.write(file.relative_to(self.top), re.sub(rf"^{name} .*\n", "", text, flags=re.M))

    def remove(self, path):
        path = self.top / path
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()

    def command(self, *args):
        return [str(PROGRAMS / "ksamplingd-top"), "--root", str(self.top), *args]

    def run(self, *args, **options):
        """(exit status, output, errors)"""
        return output_of(self.command(*args), **options)

    def json(self, *args, **options):
        """The object of one round"""
        status, output, errors = self.run("--json", "-n", "1", *args, **options)
        assert status == 0 and output.count("\n") == 1, errors + output
        return json.loads(output)

    def follow(self, *args):
        process = Rounds(self.command("--json", *args))
        self.started.append(process)
        return process

    def terminal(self, *args, **options):
        terminal = Terminal(self.command(*args), **options)
        self.started.append(terminal)
        return terminal
