# SPDX-License-Identifier: GPL-2.0
"""Which tasks psitop says are delayed. Made-up answers stand for those of taskstats."""

import errno
import os
import random
import re
import struct
import threading

import lib
from test_numbers import refusal


def delays(task):
    return {key.removesuffix("_ms_per_s"): value for key, value in task.items()
            if key.endswith("_ms_per_s")}


def tasks_of(found):
    return {task["tid"]: delays(task) for task in found["tasks"]}


def follow(fake, *args):
    return fake.follow("--tasks", *args)


def test_delays(fake):
    """tasks have the ms of delay in a second since the last look, by kinds, the most delayed first"""
    group = fake.group("/a")
    fake.task(11, cpu_us=10 ** 6, name="idle", group=group)
    fake.task(12, cpu_us=5, name="busy (1)", group=group, blkio=10 ** 9)
    rounds = follow(fake, "-d", "500ms")
    fake.task(12, cpu_us=1005, name="busy (1)", blkio=10 ** 9 + 100000, swapin=2000,
              reclaim=3000, thrashing=4000, compact=5000, wpcopy=6000, irq=7000)
    found = rounds.of("/a")
    assert [(task["tid"], task["name"]) for task in found["tasks"]] == \
        [(12, "busy (1)"), (11, "idle")], found
    assert tasks_of(found) == {
        12: {"cpu": 2, "blkio": 200, "swapin": 4, "reclaim": 6, "thrashing": 8, "compact": 10,
             "wpcopy": 12, "irq": 14},
        11: dict.fromkeys(lib.TOTALS, 0)}, found
    fake.task(11, cpu_us=10 ** 6 + 50000, name="idle")
    assert list(tasks_of(rounds.of("/a"))) == [11, 12]
    assert "tasks" not in fake.json()["/a"]


def test_below(fake):
    """tasks of a group are also those of the groups below it, each once"""
    root = lib.Group(fake.cgroup_dir, ".pressure")
    above, below = fake.group("/a"), fake.group("/a/b")
    fake.task(1, group=root)
    fake.task(2, group=above)
    fake.task(3, group=below)
    fake.task(3, group=below)
    fake.task(0, group=below)           # of another PID namespace
    found = fake.json("--tasks")
    assert {group: sorted(task["tid"] for task in each["tasks"]) for group, each in found.items()} == \
        {"system": [1, 2, 3], "/a": [2, 3], "/a/b": [3]}, found


def test_versions(fake):
    """older and newer taskstats tell what they have, also those with more numbers between"""
    kinds = list(lib.TOTALS)
    group = fake.group("/a")
    layouts = [(version, size) for version, size in lib.SIZES.items()] + [(15, lib.SIZES[14] + 64), (14, 428)]
    before = dict.fromkeys(kinds, 0)
    after = {kind: 1000 * (10 + i) for i, kind in enumerate(kinds)}
    for tid, (version, size) in enumerate(layouts, start=1):
        fake.task(tid, group=group, version=version, size=size, **before)
    rounds = follow(fake)
    for tid, (version, size) in enumerate(layouts, start=1):
        fake.task(tid, cpu_us=10000, version=version, size=size, **after)
    found = tasks_of(rounds.of("/a"))
    number = {1: 3, 8: 4, 9: 5, 10: 5, 11: 6, 13: 7}
    for tid, (version, size) in enumerate(layouts, start=1):
        expected = {kind: 10 + i for i, kind in enumerate(kinds[:number.get(version, 8)])}
        if size == 428:
            del expected["irq"]
        assert found[tid] == expected, (version, size, found[tid])


def test_come_and_go(fake):
    """a task that comes has no delays at first, one that went is left out"""
    group = fake.group("/a")
    for tid in 5, 6, 7:
        fake.task(tid, group=group)
    rounds = follow(fake)
    fake.task_went(5)
    fake.answer(6, lib.refused(errno.ESRCH))        # it goes while one looks
    fake.task(8, group=group)
    found = tasks_of(rounds.of("/a"))
    assert list(found[6].items()) == [("cpu", 0)], found
    assert found[7]["blkio"] == 0 and found[8]["blkio"] is None, found
    assert set(found) == {6, 7, 8}, found
    fake.task(6)
    assert tasks_of(rounds.of("/a"))[6]["blkio"] is None


def test_backwards(fake):
    """a total that is smaller is that of another task, and is not known"""
    group = fake.group("/a")
    fake.task(5, cpu_us=5000, group=group, blkio=1000)
    rounds = follow(fake)
    fake.task(5, cpu_us=4000, blkio=2000)
    found = tasks_of(rounds.of("/a"))[5]
    assert found["cpu"] is None and found["blkio"] == 1, found


def test_damaged(fake):
    """answers that are cut off, or have something else in them, do no harm"""
    group = fake.group("/a")
    whole = lib.taskstats(cpu=1, irq=9)
    dice = random.Random(1)
    answers = [whole[:size] for size in range(len(whole))]
    # The same, but the first length is right
    answers += [struct.pack("=I", size) + each[4:] for size, each in enumerate(answers)]
    for _ in range(500):
        damaged = bytearray(whole)
        for _ in range(dice.randrange(1, 4)):
            damaged[dice.choice((dice.randrange(44), dice.randrange(len(whole))))] = \
                dice.randrange(256)
        answers.append(bytes(damaged))
    for tid, each in enumerate(answers, start=1):
        fake.task(tid, group=group)
        fake.answer(tid, each)
    found = tasks_of(fake.json("--tasks")["/a"])
    assert len(found) == len(answers) < 2000
    # While the length of the message, or that of an attribute, says more, nothing is known.
    assert all(list(found[tid]) == ["cpu"] for tid in range(1, 2 * len(whole) + 1)), found
    for damage in b"", b"\n\n", b"x" * 5000, b"7\n\xff", b"99999999999999999999\n-5\n0\n":
        (group.directory / "cgroup.threads").write_bytes(damage)
        fake.json("--tasks")


def test_damaged_family(fake):
    """a kernel that does not know taskstats, or answers anything, is told so"""
    fake.task(5, group=fake.group("/a"))
    whole = (fake.netlink_dir / "family").read_bytes()
    for answer in [lib.refused(errno.ENOENT), *(whole[:size] for size in range(len(whole)))]:
        fake.answer("family", answer)
        status, output, said = fake.run("psitop", "-1", "--json", "--tasks")
        assert status == 0 and said.count("\n") == 1 and "CONFIG_TASKSTATS" in said, said
        assert '"cpu_ms_per_s":0.00}' in output, output


def test_off(fake):
    """delay accounting that is off is told with what to do, and nothing is made up"""
    group = fake.group("/a")
    fake.task(5, group=group)
    switch = fake.proc_dir / "sys/kernel/task_delayacct"
    switch.parent.mkdir(parents=True)
    switch.write_text("0\n")
    status, output, said = fake.run("psitop", "-1", "--json", "--tasks")
    assert status == 0 and said.count("\n") == 1 and "kernel.task_delayacct=1" in said, said
    assert '"cpu_ms_per_s":0.00}' in output, output
    switch.write_text("1\n")
    _, output, said = fake.run("psitop", "-1", "--json", "--tasks")
    assert '"blkio_ms_per_s"' in output and not said, said


def test_no_permission(fake):
    """who may not ask for taskstats is told what it takes, and sees the waits for a CPU"""
    group = fake.group("/a")
    for tid in range(1, 101):
        fake.task(tid, group=group)
        fake.answer(tid, lib.refused(errno.EPERM))
    status, output, said = fake.run("psitop", "-1", "--json", "--tasks")
    assert status == 0 and said.count("\n") == 1 and "CAP_NET_ADMIN" in said, said
    assert output.count('"cpu_ms_per_s":0.00}') == 200, output


def test_many(fake):
    """as many tasks as there may be in a round are read, and of others their number is told"""
    group = fake.group("/a")
    for tid in range(1, 2004):
        fake.task(tid, group=group)
    found = fake.json("--tasks")["/a"]
    assert len(found["tasks"]) == 2000 and found["tasks_unread"] == 3, found
    _, output, _ = fake.run("psitop", "-1", "--tasks")
    assert "3 more tasks were not read" in output, output


def test_text(fake):
    """text has ten tasks that are delayed below each group, and names do nothing to a terminal"""
    group = fake.group("/a")
    for tid in range(1, 21):
        fake.task(tid, group=group, name="x\x1b[31m\xe9")
    watched = lib.Rounds(fake.command("psitop", "-b", "--tasks", "-n", "2", "--cgroup", "/a"))
    fake.started.append(watched)
    for tid in range(1, 20):
        fake.task(tid, cpu_us=1000 * tid, name="x\x1b[31m\xe9", blkio=500)
    watched.tick()
    text = watched.printed().decode()
    lines = text.splitlines()[4:-1]
    assert [line.split()[0] for line in lines] == [str(19 - i) for i in range(10)], text
    assert re.match(r" +19  x\?\[31m\S+ +cpu 19\.0  blkio 0\.5$", lines[0]), text


def test_screen(fake):
    """t shows the tasks of the chosen group, and e why it has pressure"""
    group, other = fake.group("/a"), fake.group("/b")
    group.stall("cpu", 5, some_avg10=5)
    fake.task(5, group=group, name="victim")
    fake.task(6, group=other, name="other")
    terminal = fake.terminal("--sort", "name")
    terminal.until(r"── system ──")
    terminal.press("Down", "t")
    terminal.until(r"── /a: delays of its tasks, ms/s ─+\n *delays are known from the next")
    assert re.search(r"\n *no task was delayed since", terminal.round())
    fake.task(5, cpu_us=12340, name="victim", thrashing=700)
    assert re.search(r"^ +5  victim +cpu 12\.3  thrashing 0\.7$", terminal.round(), re.M)
    terminal.press("Down")
    terminal.until("── /b: ", "victim")
    terminal.press("e")
    terminal.until(r"── /b ─+\n *no causes are known")
    terminal.press("t")
    terminal.until(r"── /b: ")
    terminal.press("t")
    terminal.until(r"^  b ", r"──")
    terminal.round()
    terminal.round()
    terminal.press("t")
    terminal.until(r"delays are known from the next round on")


def test_screen_note(fake):
    """the last line says which delays are not known, and why, while tasks are shown"""
    fake.answer(5, lib.refused(errno.EPERM))
    group = fake.group("/a")
    fake.task(5, group=group)
    fake.answer(5, lib.refused(errno.EPERM))
    terminal = fake.terminal("--tasks", "--cgroup", "/a")
    terminal.until(r"^only cpu delays are known: others take CAP_NET_ADMIN")
    terminal.press("t")
    terminal.until(r"^h help", "CAP_NET_ADMIN")


def test_not_asked(fake):
    """nothing of tasks is open until somebody asks for it"""
    def opened(rounds):
        files = os.scandir(f"/proc/{rounds.process.pid}/fd")
        return [file for file in map(os.readlink, files)
                if file.startswith(str(fake.proc_dir)) or file == "/dev/zero"]

    fake.task(5, group=fake.group("/a"))
    assert opened(fake.follow()) == []
    assert sorted(opened(follow(fake))) == ["/dev/zero", str(fake.proc_dir)]


def test_here(fake):
    """the kernel that runs answers as the made-up one does"""
    del os.environ["SHIM_NETLINK"]
    fake.task(threading.get_native_id(), group=fake.group("/a"))
    status, output, said = fake.run("psitop", "-1", "--json", "--tasks", "--cgroup", "/a")
    assert status == 0, said
    if said:
        raise lib.Skip(said.strip())
    for kind in "blkio", "swapin", "reclaim", "thrashing":
        assert f'"{kind}_ms_per_s":0.00' in output, output


def test_wrong_usage(fake):
    """a directory that is not there has no tasks"""
    fake.task(5, group=fake.group("/a"))
    status, _ = refusal(fake, "--tasks", "--proc-dir")
    assert status == 2
    assert fake.json("--tasks", "--proc-dir", "/nothing")["/a"]["tasks"] == []
