# SPDX-License-Identifier: GPL-2.0
"""Made-up pressure files, and programs that look at them."""

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[2] / "lib/watch/tests"))
from watching import SCRATCH, Rounds, Skip, Terminal, another_user, output_of

PROGRAMS = Path(".")            # set by watching.main()


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

    def stall(self, groups, resource, some_us, full_us=0):
        """Let tasks in groups be held up; the system is, too, and so it is told last."""
        for group in groups:
            group.stall(resource, some_us, full_us)
        self.system.stall(resource, some_us, full_us)

    def roots(self):
        return ["--pressure-dir", str(self.pressure_dir), "--cgroup-dir", str(self.cgroup_dir)]

    def command(self, program, *args):
        return [str(PROGRAMS / program), *self.roots(), *args]

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
