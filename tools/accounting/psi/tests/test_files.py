# SPDX-License-Identifier: GPL-2.0
"""What comes with the programs: manuals, completion, scripts, and installing them."""

import re
import shutil
import subprocess

import lib

SOURCES = lib.HERE.parent


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False, **options)
    return done.returncode, done.stdout + done.stderr


def options_of(program):
    _, said = run(lib.PROGRAMS / program, "--help")
    return set(re.findall(r"^ +(?:-\w, +)?(--[a-z-]+)", said, re.M))


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
    words = line.split(" ")
    script = f"""
        . {SOURCES}/psi-tools.bash
        {' '.join(setup)}
        COMP_WORDS=({' '.join(f"'{word}'" for word in words)})
        COMP_CWORD={len(words) - 1}
        $(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    status, said = run("bash", "-c", script)
    assert status == 0, said
    return set(said.split())


def test_completion(fake):
    """completion offers all options, and what they and the words may be"""
    assert complete("psitop --") == options_of("psitop")
    assert complete("psi-wait --") == options_of("psi-wait") | {"--"}
    assert complete("psitop -r m") == {"memory"}
    assert complete("psitop --sort ") == {"now", "avg10", "total", "name"}
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


def names_in(script, table):
    return re.findall(rf'@{table}\[\d+\] = "(\w+)";', (SOURCES / script).read_text())


def test_names(_fake):
    """the scripts know causes and states by the numbers that the tracepoints have"""
    header = SOURCES.parents[2] / "include/trace/events/psi.h"
    if not header.exists():
        raise lib.Skip("a kernel without the tracepoints")
    text = header.read_text()
    assert names_in("psi-stacks.bt", "name") == re.findall(r'EMe?\(PSI_CAUSE_\w+,\s+"(\w+)"', text)
    states = re.findall(r'\{ \d, "(\w+)" \}', text)
    assert names_in("psi-triggers.bt", "state") == states


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
        "usr/share/man/man1/psitop.1",
        "usr/share/man/man1/psi-wait.1", "usr/share/bash-completion/completions/psitop",
        "usr/share/bash-completion/completions/psi-wait"}, found
    status, said = run(found["usr/bin/psitop"], "--help")
    assert status == 0 and said.startswith("usage: psitop"), said
