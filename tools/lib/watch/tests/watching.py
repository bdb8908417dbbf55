# SPDX-License-Identifier: GPL-2.0
"""Programs that show numbers again and again, under the eyes of tests.

Their time is that of tests/shim.c: nothing depends on how fast they are.
"""

import functools
import json
import os
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

PATIENCE_S = 60                 # what takes longer hangs: it takes a second on a busy machine
MARK = re.compile(rb"\x1b\]2;(asleep|awake) \d+ \d+x\d+\x07")  # of the shim

os.umask(0o022)                 # another user is to look at what is made up
_ours = tempfile.TemporaryDirectory(prefix="watching-", dir="/tmp")
SCRATCH = Path(_ours.name)      # where anybody can get at
SCRATCH.chmod(0o755)


class Skip(Exception):
    """A test that cannot be made here, and why"""


@functools.cache
def shim():
    """What has to be in the environment of a program for the shim"""
    library = SCRATCH / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-O1", "-o", library,
                    Path(__file__).with_name("shim.c"), "-ldl"], check=True, timeout=PATIENCE_S)
    return {"LD_PRELOAD": str(library)}


class Watched:
    """A program that does nothing in its sleep until the test lets a round pass"""

    number = 0

    def __init__(self):
        Watched.number += 1
        self.ticks = 0
        fifo = SCRATCH / f"ticks-{Watched.number}"
        os.mkfifo(fifo)
        self.fifo = os.open(fifo, os.O_RDWR)
        self.environment = shim() | {"SHIM_TICKS": str(fifo)}

    def tick(self):
        self.ticks += 1
        os.write(self.fifo, b"\n")

    def close(self):
        os.close(self.fifo)


class Rounds(Watched):
    """What a program prints as JSON as it goes on, an object a line"""

    def __init__(self, command):
        super().__init__()
        self.process = subprocess.Popen(command, env=os.environ | self.environment,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.printed()

    def printed(self):
        """All until it is asleep"""
        output = self.process.stdout.fileno()
        text = b""
        while not re.search(b"asleep.*\x07", text):
            assert select.select([output], [], [], PATIENCE_S)[0], f"it hangs; last: {text}"
            more = os.read(output, 1 << 20)
            assert more, f"it ended: {self.errors()}"
            text += more
        return MARK.sub(b"", text)

    def errors(self):
        """All that it has to say about errors, after it has ended"""
        return self.process.communicate(timeout=PATIENCE_S)[1].decode()

    def round(self):
        """The objects of the next round"""
        self.tick()
        return [json.loads(line) for line in self.printed().splitlines()]

    def until(self, condition):
        """The first object that fulfils the condition, of the next rounds"""
        for _ in range(100):
            for each in self.round():
                if condition(each):
                    return each
        raise AssertionError(f"never came; last: {each}")

    def close(self):
        super().close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()


class Terminal(Watched):
    """A program on the screen of a tmux of its own"""

    def __init__(self, command, columns=100, lines=24, env=""):
        super().__init__()
        self.name = f"watching-{os.getpid()}-{self.number}"
        words = [f"{name}={value}" for name, value in self.environment.items()]
        # What it leaves behind when it exits is seen, too.
        shell = f"{shlex.join(words)} {env} {shlex.join(command)}; echo exit status $?; " \
                "printf '\\033]2;ended\\007'; sleep 1000"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines),
                  shell)
        self.until()

    def tmux(self, *args):
        return subprocess.run(["tmux", "-L", self.name, *args], text=True, check=True,
                              capture_output=True, errors="surrogateescape",
                              timeout=PATIENCE_S).stdout

    def press(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def until(self, pattern="", absent=None, args=()):
        """The screen as soon as it is all drawn, and has one pattern and not the other"""
        end = time.monotonic() + PATIENCE_S
        while True:
            title, size, text = re.fullmatch(r"(.*) (\d+x\d+)\n(.*)", self.tmux(
                "display-message", "-p", "#{pane_title} #{pane_width}x#{pane_height}", ";",
                "capture-pane", "-p", *args), re.S).groups()
            if title in ("ended", f"asleep {self.ticks} {size}") and \
                    re.search(pattern, text, re.M) and \
                    not (absent and re.search(absent, text, re.M)):
                return text
            assert time.monotonic() < end, f"{title}: no {pattern}, or {absent}, in:\n{text}"
            time.sleep(0.02)

    def round(self, args=()):
        """The screen after the next round"""
        self.tick()
        return self.until(args=args)

    def close(self):
        super().close()
        subprocess.run(["tmux", "-L", self.name, "kill-server"], check=False,
                       capture_output=True, timeout=PATIENCE_S)


def output_of(command, env=(), **options):
    """(exit status, output, errors) of a program for which no time passes"""
    done = subprocess.run(command, env=os.environ | shim() | dict(env), text=True, check=False,
                          capture_output=True, errors="surrogateescape", timeout=PATIENCE_S,
                          **options)
    return done.returncode, done.stdout, done.stderr


def run(*command):
    """(exit status, all that a program said)"""
    done = subprocess.run([str(word) for word in command], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S)
    return done.returncode, done.stdout


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
    """Options of subprocess.run() with which a copy of the program may do no more than anybody"""
    if os.getuid():
        raise Skip("only root can be another user")
    copy = SCRATCH / program.name
    shutil.copy(program, copy)
    copy.chmod(0o755)
    return {"executable": copy, "user": 65534, "group": 65534, "extra_groups": []}


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
    args = sys.argv[1:]
    if args[:1] == ["--no-terminal"]:
        del args[0]
        modules = [module for module in modules if module.__name__ != "test_screen"]
    if not args or args[0] == "--help":
        print(usage)
        return not args
    lib.PROGRAMS = Path(args[0]).resolve()
    os.environ["LC_ALL"] = "C.UTF-8"
    for name in "COLUMNS", "LINES", "NO_COLOR":
        os.environ.pop(name, None)
    chosen = [(name, test) for name, test in tests(modules)
              if not args[1:] or any(word in name for word in args[1:])]
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
