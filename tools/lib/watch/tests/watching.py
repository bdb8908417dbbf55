# SPDX-License-Identifier: GPL-2.0
"""Programs that show numbers again and again, under the eyes of tests."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path

PATIENCE_S = 20                 # until what has to come counts as not coming


class Skip(Exception):
    """A test that cannot be made here, and why"""


class Rounds:
    """What a program prints as JSON as it goes on, an object a line"""

    def __init__(self, command):
        self.process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)

    def until(self, condition):
        """The first object that fulfils the condition."""
        end = time.monotonic() + PATIENCE_S
        for text in self.process.stdout:
            each = json.loads(text)
            if condition(each):
                return each
            assert time.monotonic() < end, f"never came; last: {text}"
        raise AssertionError(f"it ended: {self.process.stderr.read()}")

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class Terminal:
    """A program on the screen of a tmux of its own"""

    number = 0

    def __init__(self, command, columns=100, lines=24, env=""):
        if not shutil.which("tmux"):
            raise AssertionError("tmux is needed")
        Terminal.number += 1
        self.name = f"watching-{os.getpid()}-{Terminal.number}"
        # What it leaves behind when it exits is seen, too.
        shell = f"{env} {shlex.join(command)}; echo exit status $?; sleep 1000"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines),
                  shell)

    def tmux(self, *args):
        return subprocess.run(["tmux", "-L", self.name, *args], text=True, check=True,
                              capture_output=True, errors="surrogateescape").stdout

    def text(self, *args):
        return self.tmux("capture-pane", "-p", *args)

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def until(self, pattern, absent=None, args=(), still=True):
        """The screen as soon as it has one pattern and not the other, and is all drawn"""
        end, before = time.monotonic() + PATIENCE_S, None
        while True:
            text = self.text(*args)
            if (text == before or not still) and re.search(pattern, text, re.M) and \
                    not (absent and re.search(absent, text, re.M)):
                return text
            before = text
            assert time.monotonic() < end, f"no {pattern}, or {absent}, in:\n{text}"
            time.sleep(0.02)

    def comes(self, pattern, args=(), seconds=PATIENCE_S):
        """Is a pattern there for a moment, in that time?"""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, self.text(*args), re.M):
                return True
            time.sleep(0.02)
        return False

    def close(self):
        subprocess.run(["tmux", "-L", self.name, "kill-server"], check=False,
                       capture_output=True)


def run(*command, **options):
    """(exit status, all that a program said)"""
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          check=False, **options)
    return done.returncode, done.stdout + done.stderr


def options_of(program):
    """The long options that --help tells of"""
    _, said = run(program, "--help")
    return set(re.findall(r"^ +(?:-\w, +)?(--[a-z-]+)", said, re.M))


def complete(script, line, *setup):
    """What bash offers for the last word of the line, with that script and set up that way"""
    words = line.split(" ")
    status, said = run("bash", "-c", f"""
        . {script}
        {' '.join(setup)}
        COMP_WORDS=({' '.join(f"'{word}'" for word in words)})
        COMP_CWORD={len(words) - 1}
        $(complete -p {words[0]} | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """)
    assert status == 0, said
    return set(said.split())


def another_user(program):
    """A function for preexec_fn, after which a process may do no more than anybody"""
    def drop():
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

    if subprocess.run([str(program), "--help"], preexec_fn=drop, check=False,
                      capture_output=True).returncode:
        raise Skip("another user cannot run the program where it is")
    return drop


def tests(modules):
    for module in modules:
        for name, test in vars(module).items():
            if name.startswith("test_"):
                yield f"{module.__name__[5:]}: {test.__doc__}", test


def run_test(lib, test):
    """ok, skip or not ok, and why"""
    try:
        with lib.Fake() as fake:
            test(fake)
    except Skip as reason:
        return "skip", str(reason)
    except Exception:
        return "not ok", traceback.format_exc()
    return "ok", ""


def main(usage, lib, *modules):
    """Run the tests of the modules on what lib makes up; the exit status"""
    if len(sys.argv) < 2 or sys.argv[1] == "--help":
        print(usage)
        return sys.argv[1:] != ["--help"]
    lib.PROGRAMS = Path(sys.argv[1]).resolve()
    os.environ["LC_ALL"] = "C.UTF-8"
    chosen = [(name, test) for name, test in tests(modules)
              if not sys.argv[2:] or any(word in name for word in sys.argv[2:])]
    failed = False
    print(f"TAP version 13\n1..{len(chosen)}")
    for number, (name, test) in enumerate(chosen, start=1):
        verdict, why = run_test(lib, test)
        failed |= verdict == "not ok"
        if verdict == "skip":
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
            continue
        print("".join(f"# {line}\n" for line in why.splitlines()), end="")
        print(f"{verdict} {number} - {name}", flush=True)
    return failed
