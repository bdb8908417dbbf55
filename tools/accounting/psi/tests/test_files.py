# SPDX-License-Identifier: GPL-2.0
"""What comes with the programs: manuals, completion, scripts, and installing them."""

import re
import shutil
import subprocess

import lib
import watching
from watching import run

SOURCES = lib.HERE.parent


def options_of(program):
    return watching.options_of(lib.PROGRAMS / program)


def test_manuals(_fake):
    """the manuals have no error and all options"""
    for program in "psitop", "psi-wait":
        page = SOURCES / f"{program}.1"
        text = page.read_text().replace("\\-", "-")
        missing = {option for option in options_of(program) if option not in text}
        assert options_of(program) and not missing, missing
        if not shutil.which("man"):
            raise lib.Skip("no man")
        said = subprocess.run(["man", "--warnings", "-l", "-Tutf8", page], check=True, text=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
        assert not said, said


def complete(line, *setup):
    return watching.complete(SOURCES / "psi-tools.bash", line, *setup)


def test_completion(fake):
    """completion offers all options, and what they and the words may be"""
    assert complete("psitop --") == options_of("psitop")
    assert complete("psi-wait --") == options_of("psi-wait") | {"--"}
    assert complete("psitop -r m") == {"memory"}
    assert complete("psitop --sort ") == {"now", "avg10", "total", "name"}
    assert complete("psitop --keep ") == {"1h", "1d", "7d"}
    (fake.top / "record").touch()
    assert complete(f"psitop --replay {fake.top}/re") == {f"{fake.top}/record"}
    assert complete("psi-wait ") == {"cpu", "memory", "io", "irq"}
    assert complete("psi-wait -t 1s io ") == {"some", "full"}
    assert "2s" in complete("psi-wait io some 1ms ")
    assert "true" in complete("psi-wait io some 1ms 2s -- tru")
    fake.group("/one")
    fake.group("/one/two")
    awk = f"awk() {{ echo {fake.cgroup_dir}; }};"
    assert complete("psitop -g ", awk) == {"/one"}
    assert complete("psitop -g /one/", awk) == {"/one/two"}


def test_scripts(_fake):
    """bpftrace compiles the scripts"""
    status, said = run(lib.HERE / "tracing.sh", *sorted(SOURCES.glob("*.bt")))
    if status == 4:
        raise lib.Skip("no bpftrace, or no namespaces")
    assert status == 0, said


def fields_of(header, event):
    """of a TRACE_EVENT, or of the class of a DEFINE_EVENT"""
    of_class = re.search(rf"DEFINE_EVENT\w*\((\w+),\s+{event},", header)
    name = of_class[1] if of_class else event
    body = re.search(rf"(?:TRACE_EVENT|DECLARE_EVENT_CLASS)\({name},(.*?)TP_fast_assign",
                     header, re.S)[1]
    return {field: kind == "string"
            for kind, field in re.findall(r"__(field|string)\((?:\w+, )?(\w+)", body)}


def test_fields(_fake):
    """the scripts use tracepoints and fields that are there, and text as text"""
    header = SOURCES.parents[2] / "include/trace/events/psi.h"
    if not header.exists():
        raise lib.Skip("a kernel without the tracepoints")
    used = 0
    for script in SOURCES.glob("*.bt"):
        for event, action in re.findall(r"tracepoint:psi:(\w+)\n(.*?)\n}", script.read_text(),
                                        re.S):
            fields = fields_of(header.read_text(), event)
            for text, field in re.findall(r"(str\()?args->(\w+)", action):
                assert field in fields, f"{script}: {event} has no {field}"
                assert bool(text) == fields[field], f"{script}: {field} of {event}"
                used += 1
    assert used, "nothing is looked at"


def test_install(fake):
    """what is installed is all there, below DESTDIR and PREFIX"""
    status, said = run("make", "-s", "-C", SOURCES, "install", f"OUTPUT={lib.PROGRAMS}/",
                       f"DESTDIR={fake.top}/dest", "PREFIX=/usr")
    assert status == 0, said
    found = {str(path.relative_to(fake.top / "dest")): path
             for path in (fake.top / "dest").rglob("*") if not path.is_dir()}
    assert set(found) == {
        "usr/bin/psitop", "usr/bin/psi-wait", "usr/share/psi/psi-stacks.bt",
        "usr/share/psi/psi-cpu-waits.bt", "usr/share/psi/psi-triggers.bt",
        "usr/share/psi/psi-dashboard.json", "usr/lib/systemd/system/psitop-record.service",
        "usr/share/man/man1/psitop.1",
        "usr/share/man/man1/psi-wait.1", "usr/share/bash-completion/completions/psitop",
        "usr/share/bash-completion/completions/psi-wait"}, found
    unit = found["usr/lib/systemd/system/psitop-record.service"].read_text()
    assert "ExecStart=/usr/bin/psitop" in unit and "@PREFIX@" not in unit, unit
    status, said = run(found["usr/bin/psitop"], "--help")
    assert status == 0 and said.startswith("usage: psitop"), said
