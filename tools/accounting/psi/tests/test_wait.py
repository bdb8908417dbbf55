# SPDX-License-Identifier: GPL-2.0
"""What psi-wait asks the kernel for, and what it says. A shim stands for the kernel."""

import errno
import signal

import lib
from test_numbers import refusal

GONE, PERMISSION, NOT_HERE, TIMEOUT, USAGE, CANNOT_RUN, NO_COMMAND = \
    120, 121, 122, 124, 125, 126, 127


def wait(fake, *args, before=None, **answers):
    """run() with a kernel that gives these answers"""
    answers["trigger"] = fake.top / "trigger"
    return fake.run("psi-wait", *args, preexec_fn=before, env={
        f"SHIM_{key.upper()}": str(value) for key, value in answers.items()})


def test_trigger(fake):
    """the trigger is what the kernel wants to be written, in us"""
    fake.group("/a")
    for words, expected in ((["some", "150ms", "1s"], "some 150000 1000000"),
                            (["full", "15%", "2s"], "full 300000 2000000"),
                            (["full", "500us", "500ms"], "full 500 500000"),
                            (["some", "1.5s", "0.1min"], "some 1500000 6000000")):
        for place in [], ["--cgroup", "/a"]:
            status, output, errors = wait(fake, "memory", *words, *place, "-t", "0s")
            assert (status, output, errors) == (TIMEOUT, "", ""), errors
            assert (fake.top / "trigger").read_text() == expected + "\0"


def test_event(fake):
    """an event ends the waiting, and what was measured is printed"""
    fake.system.stall("memory", some_us=1000, some_avg10=12.5)
    status, output, errors = wait(fake, "memory", "some", "150ms", "2s", poll="ttte")
    assert status == 0, errors
    assert output == "memory some: 0us held up in the last 4s, avg10=12.50 " \
        "(threshold 150ms in 2s)\n", output
    assert wait(fake, "memory", "some", "150ms", "2s", "--quiet", poll="e") == (0, "", "")


def test_timeout(fake):
    """what does not happen in time has an exit status of its own"""
    args = "io", "full", "1ms", "2s", "--timeout", "5s"
    assert wait(fake, *args, poll="ttte") == (TIMEOUT, "", "")
    status, output, _ = wait(fake, *args, poll="tte")
    assert status == 0 and "held up in the last 3s" in output, output


def test_command(fake):
    """the command runs when it happens, and its status is that of psi-wait"""
    args = "memory", "some", "150ms", "2s", "-q", "--"
    assert wait(fake, *args, "echo", "-n", "short", poll="te") == (0, "short", "")
    assert wait(fake, *args, "sh", "-c", "exit 7", poll="e")[0] == 7
    assert wait(fake, *args, "sh", "-c", "kill -9 $$", poll="e")[0] == 128 + 9
    assert wait(fake, *args, "/nothing", poll="e")[0] == NO_COMMAND
    assert wait(fake, *args, "/dev/null", poll="e")[0] == CANNOT_RUN
    # also if whoever has started it wants to hear of no child
    assert wait(fake, *args, "sh", "-c", "exit 7", poll="e",
                before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))[0] == 7


def test_repeat(fake):
    """--repeat goes on after an event, until the time is over"""
    status, output, _ = wait(fake, "-r", "-t", "7s", "cpu", "some", "10%", "2s", "--",
                             "echo", "again", poll="eete")
    assert status == 0 and output.count("again") == 3 and output.count("cpu some") == 3, output


def test_gone(fake):
    """a group that goes while one waits has an exit status of its own"""
    fake.group("/a")
    status, _, errors = wait(fake, "-g", "/a", "cpu", "full", "10%", "2s", poll="tg")
    assert status == GONE and "gone" in errors, errors


def test_refused(fake):
    """what the kernel refuses is told in one line, with what to do"""
    def said(number, window="2s"):
        status, _, errors = wait(fake, "irq", "full", "10%", window, write=number)
        assert errors.count("\n") == 1, errors
        return status, errors

    fake.system.write("irq", lib.line("full"))
    status, text = said(errno.EINVAL, "1s")
    assert status == PERMISSION and "CAP_SYS_RESOURCE" in text and "2s, 4s" in text, text
    assert said(errno.EINVAL, "4s")[0] == USAGE
    status, text = said(errno.EOPNOTSUPP)
    assert status == NOT_HERE and "irq is not measured" in text, text
    assert said(errno.ENODEV)[0] == GONE
    assert said(errno.EPERM)[0] == PERMISSION


def test_missing(fake):
    """what is not there is told in one line, with what to do"""
    memory = "memory", "some", "10%", "2s"
    group = fake.group("/a")
    status, said = refusal(fake, "irq", "full", "10%", "2s", program="psi-wait")
    assert status == NOT_HERE and "not measured" in said, said
    group.write("cpu.pressure", lib.line("some"))
    status, said = refusal(fake, "cpu", "full", "10%", "2s", "--cgroup", "/a",
                           program="psi-wait")
    assert status == NOT_HERE and "cpu full is not measured" in said, said
    (group.directory / "memory.pressure").unlink()
    status, said = refusal(fake, *memory, "--cgroup", "/a", program="psi-wait")
    assert status == NOT_HERE and "cgroup.pressure" in said, said
    status, said = refusal(fake, *memory, "--cgroup", "/b", program="psi-wait")
    assert status == NOT_HERE and "no such cgroup" in said, said
    (fake.pressure_dir / "cpu").unlink()
    status, said = refusal(fake, *memory, program="psi-wait")
    assert status == NOT_HERE and "psi=1" in said, said


def test_wrong_usage(fake):
    """wrong usage is told in one line, exit status 125"""
    for args in (["disk", "some", "1ms", "2s"], ["cpu", "most", "1ms", "2s"],
                 ["cpu", "some", "1", "2s"], ["cpu", "some", "1ms", "2"],
                 ["cpu", "some", "0ms", "2s"], ["cpu", "some", "0%", "2s"],
                 ["cpu", "some", "101%", "2s"], ["cpu", "some", "3s", "2s"],
                 ["cpu", "some", "1ms", "11s"], ["cpu", "some", "1ms", "1ms"],
                 ["irq", "some", "1ms", "2s"], ["cpu", "full", "1ms", "2s"],
                 ["cpu", "some", "1ms"], ["cpu", "some", "1ms", "2s", "true"],
                 ["cpu", "some", "1ms", "2s", "--"], ["cpu", "some", "0x1ms", "2s"],
                 ["cpu", "some", "1e3us", "2s"], ["-t", "5", "cpu", "some", "1ms", "2s"]):
        status, _ = refusal(fake, *args, program="psi-wait")
        assert status == USAGE, args
    assert fake.system.directory.joinpath("cpu").read_text().startswith("some avg10"), \
        "nothing was written"
