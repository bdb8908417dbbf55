# SPDX-License-Identifier: GPL-2.0
"""What comes with the program: its manual, and installing both."""

import re
import shutil
import subprocess

import lib

SOURCES = lib.HERE.parent


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def test_manual(_fake):
    """the manual has no error and all options"""
    page = SOURCES / "ksamplingd-top.8"
    text = page.read_text().replace("\\-", "-")
    _, said = run(lib.PROGRAMS / "ksamplingd-top", "--help")
    options = set(re.findall(r"^ +(?:-\w, +)?(--[a-z-]+)", said, re.M))
    missing = {option for option in options if option not in text}
    assert options and not missing, missing
    if not shutil.which("man"):
        raise lib.Skip("no man")
    said = subprocess.run(["man", "--warnings", "-l", "-Tutf8", page], check=True, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    assert not said, said


def test_install(fake):
    """what is installed is all there, below DESTDIR"""
    status, said = run("make", "-s", "-C", SOURCES, "install", f"OUTPUT={lib.PROGRAMS}/",
                       f"DESTDIR={fake.top}/dest")
    assert status == 0, said
    found = {str(path.relative_to(fake.top / "dest")): path
             for path in (fake.top / "dest").rglob("*") if not path.is_dir()}
    assert set(found) == {"usr/sbin/ksamplingd-top", "usr/share/man/man8/ksamplingd-top.8"}, found
    status, said = run(found["usr/sbin/ksamplingd-top"], "--help")
    assert status == 0 and said.startswith("usage: ksamplingd-top"), said
