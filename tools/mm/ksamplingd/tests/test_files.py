# SPDX-License-Identifier: GPL-2.0
"""What comes with the program: its manual, completion, and installing all."""

import shutil
import subprocess

import lib
from watching import complete, options_of, run

SOURCES = lib.HERE.parent
PROGRAM = "ksamplingd-top"


def test_manual(_fake):
    """the manual has no error and all options"""
    page = SOURCES / f"{PROGRAM}.8"
    text = page.read_text().replace("\\-", "-")
    options = options_of(lib.PROGRAMS / PROGRAM)
    missing = {option for option in options if option not in text}
    assert options and not missing, missing
    if not shutil.which("man"):
        raise lib.Skip("no man")
    said = subprocess.run(["man", "--warnings", "-l", "-Tutf8", page], check=True, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    assert not said, said


def test_completion(fake):
    """completion offers all options, and what they may be"""
    def complete_top(line):
        return complete(SOURCES / f"{PROGRAM}.bash", f"{PROGRAM} {line}")

    assert complete_top("--") == options_of(lib.PROGRAMS / PROGRAM)
    assert complete_top("-b --js") == {"--json"}
    assert "2s" in complete_top("-d ") and complete_top("--delay 10") == {"100ms"}
    assert complete_top("-n ") == set()
    assert complete_top(f"--root {fake.top}/pr") == {f"{fake.top}/proc"}


def test_install(fake):
    """what is installed is all there, below DESTDIR"""
    status, said = run("make", "-s", "-C", SOURCES, "install", f"OUTPUT={lib.PROGRAMS}/",
                       f"DESTDIR={fake.top}/dest")
    assert status == 0, said
    found = {str(path.relative_to(fake.top / "dest")): path
             for path in (fake.top / "dest").rglob("*") if not path.is_dir()}
    assert set(found) == {f"usr/sbin/{PROGRAM}", f"usr/share/man/man8/{PROGRAM}.8",
                          f"usr/share/bash-completion/completions/{PROGRAM}"}, found
    status, said = run(found[f"usr/sbin/{PROGRAM}"], "--help")
    assert status == 0 and said.startswith(f"usage: {PROGRAM}"), said
