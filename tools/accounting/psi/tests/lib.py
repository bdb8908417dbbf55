# SPDX-License-Identifier: GPL-2.0
"""Made-up pressure files, and programs that look at them."""

import errno
import json
import os
import shutil
import struct
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[2] / "lib/watch/tests"))
from watching import SCRATCH, Rounds, Skip, Terminal, another_user, output_of

PROGRAMS = Path(".")            # set by watching.main()
DOCUMENT = "Documentation/accounting/psi-tools.rst"


def document():
    """The text of the document, of the kernel tree that this is in"""
    return next(top / DOCUMENT for top in HERE.parents if (top / DOCUMENT).exists()).read_text()


def line(kind, avg10=0.0, total=0):
    # As long at any time, so that it can be written over the one before at once.
    return f"{kind} avg10={avg10:06.2f} avg60=000.00 avg300=000.00 total={total:015d}\n"


class Group:
    """The files of a group, which the test changes as the kernel would"""

    def __init__(self, directory, suffix):
        self.directory, self.suffix = directory, suffix
        self.total = dict.fromkeys(("cpu", "memory", "io"), [0, 0])
        for resource in self.total:
            self.stall(resource)

    def write(self, name, text):
        # In place, as programs have the file open, and in one piece.
        fd = os.open(self.directory / name, os.O_WRONLY | os.O_CREAT)
        os.pwrite(fd, text.encode(), 0)
        os.ftruncate(fd, len(text.encode()))
        os.close(fd)

    def stall(self, resource, some_us=0, full_us=0, some_avg10=0.0, full_avg10=0.0):
        """Let totals grow."""
        some, full = self.total[resource]
        self.total[resource] = some, full = some + some_us, full + full_us
        self.write(resource + self.suffix,
                   line("some", some_avg10, some) + line("full", full_avg10, full))


def message(kind, payload, sequence=0):
    return struct.pack("=IHHII", 16 + len(payload), kind, 0, sequence, 0) + payload


def attribute(kind, payload):
    padding = b"\0" * (-len(payload) % 4)
    return struct.pack("=HH", 4 + len(payload), kind) + payload + padding


# In us, as they are in struct taskstats; those behind each total, if any, have 7
FAMILY, SECOND_HEADER = 31, b"\2\1\0\0"
TOTALS = {"cpu": 24, "blkio": 40, "swapin": 56, "reclaim": 320, "thrashing": 336, "compact": 360,
          "wpcopy": 408, "irq": 424}
SIZES = {1: 80, 8: 328, 9: 344, 10: 352, 11: 368, 13: 416, 14: 432, 15: 560, 16: 560, 17: 688,
         99: 2000}


def taskstats(version=17, size=None, **delays_us):
    """What the kernel would answer"""
    size = size or SIZES[version]
    behind = (size - SIZES[14]) // 64 if version == 15 else 0   # numbers behind each total
    stats = bytearray(max(size, 2000))
    struct.pack_into("=H", stats, 0, version)
    for i, (kind, at) in enumerate(TOTALS.items()):
        at += 8 * behind * i
        struct.pack_into(f"={1 + behind}Q", stats, at, 1000 * delays_us.get(kind, 0),
                         *[7] * behind)
    both = attribute(1, struct.pack("=I", 1)) + attribute(6, b"") + \
        attribute(3, bytes(stats[:size]))
    return message(FAMILY, SECOND_HEADER + attribute(4, both))


def refused(number):
    return message(2, struct.pack("=i", -number) + message(FAMILY, SECOND_HEADER))


class Groups(Rounds):
    """psitop --json as it goes on"""

    def of(self, group, condition=lambda each: True):
        return self.until(lambda each: each["group"] == group and condition(each))


class Fake:
    """A made-up /proc/pressure and a made-up cgroup2"""

    def __init__(self):
        self.top = Path(tempfile.mkdtemp(dir=SCRATCH))
        self.pressure_dir, self.cgroup_dir = self.top / "pressure", self.top / "cgroup"
        self.pressure_dir.mkdir()
        self.cgroup_dir.mkdir()
        self.proc_dir, self.netlink_dir = self.top / "proc", self.top / "netlink"
        self.proc_dir.mkdir()
        self.netlink_dir.mkdir()
        os.environ["SHIM_NETLINK"] = str(self.netlink_dir)
        self.answer("family", message(16, SECOND_HEADER + attribute(2, b"TASKSTATS\0") +
                                      attribute(1, struct.pack("=H", FAMILY))))
        self.system = Group(self.pressure_dir, "")
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            process.close()
        shutil.rmtree(self.top)

    def group(self, path):
        directory = self.cgroup_dir / path.strip("/")
        # Found as soon as it is there, so it has its files before.
        made = self.top / "new"
        made.mkdir()
        group = Group(made, ".pressure")
        made.rename(directory) if not directory.exists() else None
        group.directory = directory
        return group

    def answer(self, name, what):
        (self.netlink_dir / str(name)).write_bytes(what)

    def task(self, tid, cpu_us=0, name="work", group=None, **delays_us):
        """Make a task, in a group if it is new, or let its delays be these."""
        directory = self.proc_dir / str(tid)
        directory.mkdir(exist_ok=True)
        (directory / "comm").write_bytes(os.fsencode(name) + b"\n")
        (directory / "schedstat").write_text(f"5 {1000 * cpu_us} 6\n")
        self.answer(tid, taskstats(**delays_us))
        if group:
            with open(group.directory / "cgroup.threads", "a") as threads:
                print(tid, file=threads)

    def task_went(self, tid):
        shutil.rmtree(self.proc_dir / str(tid))
        self.answer(tid, refused(errno.ESRCH))

    def stall(self, groups, resource, some_us, full_us=0):
        """Let tasks in groups be held up; the system is, too, and so it is told last."""
        for group in groups:
            group.stall(resource, some_us, full_us)
        self.system.stall(resource, some_us, full_us)

    def roots(self):
        return ["--pressure-dir", str(self.pressure_dir), "--cgroup-dir", str(self.cgroup_dir)]

    def command(self, program, *args):
        proc = ["--proc-dir", str(self.proc_dir)] if program == "psitop" else []
        return [str(PROGRAMS / program), *self.roots(), *proc, *args]

    def run(self, program, *args, **options):
        """(exit status, output, errors)"""
        return output_of(self.command(program, *args), **options)

    def json(self, *args):
        """The objects of one round, by group"""
        status, output, errors = self.run("psitop", "--json", "-n", "1", *args)
        assert status == 0, errors
        return {each["group"]: each for each in map(json.loads, output.splitlines())}

    def follow(self, *args):
        process = Groups(self.command("psitop", "--json", *args))
        self.started.append(process)
        return process

    def terminal(self, *args, **options):
        terminal = Terminal(self.command("psitop", *args), **options)
        self.started.append(terminal)
        return terminal
