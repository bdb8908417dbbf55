# SPDX-License-Identifier: GPL-2.0
"""What psitop records, and shows again."""

import json
import random
import re
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import lib
from watching import options_of, run

FRAME_ROUNDS = 64
HEAD = struct.Struct("<4sIIIIIQ")       # magic, sum, kind, size, full size, 0, date
CAUSES = ("cpu.contention some={0:09} full=000000000\n"
          "memory.memcg_high count={0:09} total={1:09} max={0:09}\n")
BEGIN = 1767225600 + 1000               # the first second of the shim's clock


class Load:
    """Three groups, one of which has causes and one what other kernels have"""

    def __init__(self, fake, seed=1):
        self.fake, self.random, self.second = fake, random.Random(seed), 0
        self.groups = [fake.group(path) for path in ("/a", "/a/b", "/c")]
        self.more = 0
        self.write()

    def write(self):
        self.groups[0].write("pressure.causes", CAUSES.format(self.second, 17 * self.second))
        self.groups[2].write("cpu.stat", f"throttled_usec {1000 * self.second:09}\n")
        self.groups[2].write("memory.events", f"high {self.second:09}\nmax {3:09}\n")

    def go_on(self, come_and_go=True):
        """Let a second's worth of pressure come, and sometimes a group come or go"""
        self.second += 1
        for group in (*self.groups, self.fake.system):
            for resource in group.total:
                some = self.random.choice((0, self.random.randrange(10 ** 6)))
                group.stall(resource, some, some // 3, self.random.randrange(10001) / 100)
        self.write()
        if come_and_go and self.second % 5 == 0:
            self.more += 1
            directory = self.fake.cgroup_dir / f"a/b/{self.more}"
            directory.mkdir()
            lib.Group(directory, ".pressure").stall("cpu", 5)
        if come_and_go and self.second % 7 == 0:
            shutil.rmtree(self.fake.cgroup_dir / f"a/b/{self.more}", ignore_errors=True)


def record(fake, rounds, *args, load=None):
    """What psitop prints while it records, as text of each round, and the file"""
    load = load or Load(fake)
    file = fake.top / "record"
    process = lib.Rounds(fake.command("psitop", "--record", str(file), *args))
    fake.started.append(process)
    printed = []
    for _ in range(rounds):
        load.go_on()
        process.tick()
        printed.append(process.printed().decode())
    process.close()
    fake.started.remove(process)
    return printed, file


def replay(fake, file, *args):
    """What psitop prints of a record"""
    status, output, errors = fake.run("psitop", "--replay", str(file), *args)
    assert status == 0, (status, errors)
    return output


def refusal(fake, *args):
    status, output, errors = fake.run("psitop", *args)
    assert status == 2 and output == "" and errors.count("\n") == 1, (status, output, errors)
    return errors


def records(file):
    """(offset, kind, size with the head) of each record"""
    data, offset = file.read_bytes(), 0
    while offset < len(data):
        magic, _, kind, size, *_ = HEAD.unpack_from(data, offset)
        assert magic == b"PSI1"
        yield offset, kind, HEAD.size + size
        offset += HEAD.size + size


def sealed(kind, payload, date):
    """A record with that payload, and the sum that goes with it"""
    packed = zlib.compress(payload)
    rest = HEAD.pack(b"", 0, kind, len(packed), len(payload), 0, date)[8:] + packed
    return b"PSI1" + struct.pack("<I", zlib.crc32(rest)) + rest


def test_same_json(fake):
    """what is replayed are the lines that were printed, with groups that come and go"""
    printed, file = record(fake, 20, "--json")
    assert any("memory_causes" in text and "throttled_us" in text for text in printed)
    assert any("/a/b/2" in text for text in printed)
    assert replay(fake, file, "--json") == "".join(printed)


def test_real_clock(fake):
    """the same at whatever times psitop reads, and with fractions of them"""
    load, file = Load(fake), fake.top / "record"
    command = fake.command("psitop", "--record", str(file), "--json", "-d", "20ms", "-n", "20")
    with open(fake.top / "printed", "w+", encoding="utf-8") as printed:
        with subprocess.Popen(command, stdout=printed) as process:
            while process.poll() is None:
                load.go_on(False)
        printed.seek(0)
        assert process.returncode == 0 and replay(fake, file, "--json") == printed.read()


def test_same_text(fake):
    """the same as text, and other options have their effect"""
    printed, file = record(fake, 8, "--batch")
    assert "memcg_high" in printed[-1] and "memory.events" in printed[-1]
    assert replay(fake, file, "--batch") == "".join(printed)
    assert replay(fake, file, "-1") == printed[0]
    assert replay(fake, file, "-b", "-n", "3") == "".join(printed[:3])
    assert "memcg_high" not in replay(fake, file, "-b", "--no-causes")
    assert "memory some" not in replay(fake, file, "-1", "-r", "io")


def test_quiet(fake):
    """--quiet prints nothing, and records the same"""
    printed, file = record(fake, 3, "--quiet")
    assert printed == ["", "", ""]
    assert len(replay(fake, file, "-b").split("GROUP")) == 4


def test_no_causes_recorded(fake):
    """--no-causes leaves them out of the record"""
    _, file = record(fake, 3, "--json", "--no-causes")
    assert "memory_causes" not in replay(fake, file, "--json")


def test_switched_recorded(fake):
    """a group that is switched off and on again is replayed so"""
    Load(fake)
    names = "io.pressure", "pressure.causes"
    for name in names:
        (fake.cgroup_dir / "a" / name).rename(fake.top / name)
    process = fake.follow("--record", str(fake.top / "record"), "-d", "6s")
    printed = []
    for _ in range(4):
        process.tick()
        printed.append(process.printed().decode())
        for name in names if len(printed) == 1 else ():
            (fake.top / name).rename(fake.cgroup_dir / "a" / name)
    first, last = ({each["group"]: each for each in map(json.loads, text.splitlines())}["/a"]
                   for text in (printed[0], printed[-1]))
    assert "io" not in first and "io" in last, (first, last)
    assert "memory_causes" not in first and "memory_causes" in last, (first, last)
    assert replay(fake, fake.top / "record", "--json") == "".join(printed)


def test_jump(fake):
    """--at begins with the first round that is not before that time, in any frame"""
    printed, file = record(fake, 3 * FRAME_ROUNDS + 5, "--json")
    assert [kind for _, kind, _ in records(file)].count(1) == 3
    for second in (0, 1, 2, 62, 63, 64, 65, 100, 127, 128, 129, 130, 191, 192, 197):
        clock = BEGIN + second
        at = f"2026-01-01 {clock // 3600 % 24:02}:{clock // 60 % 60:02}:{clock % 60:02}"
        expected = printed[max(second, 1) - 1:][:3]
        for text in (at, at[11:]):
            found = replay(fake, file, "--json", "--at", text, "-n", "3")
            assert found == "".join(expected), (text, found, expected)
    # A time of day is the last one that the record may have.
    assert "2026-01-01 00:17:00" in replay(fake, file, "-1", "--at", "00:17")
    assert "2026-01-01 00:16:41" in replay(fake, file, "-1", "--at", "2026-01-01")
    for at in "00:30", "2026-01-02":
        refusal(fake, "--replay", str(file), "-1", "--at", "2026-01-01 00:30")
    assert "2026-01-01 00:16:41" in replay(fake, file, "-1", "--at", "00:30"), "the day before"


def test_part(fake):
    """--cgroup shows the rounds in which that group is there"""
    printed, file = record(fake, 20, "--json")
    lines = [line for line in "".join(printed).splitlines()
             if '"group":"/a/b"' in line or '"group":"/a/b/' in line]
    found = replay(fake, file, "--json", "--cgroup", "/a/b").splitlines()
    assert sorted(found) == sorted(lines)
    found = replay(fake, file, "--json", "--cgroup", "a/b/2")
    assert found.splitlines() == [line for line in lines if '"/a/b/2"' in line], found
    assert refusal(fake, "--replay", str(file), "-1", "--cgroup", "/nothing")


def test_torn(fake):
    """a record that was not written to its end is passed over, and cut off before more come"""
    load = Load(fake)
    printed, file = record(fake, 4, "--json", load=load)
    whole = file.read_bytes()
    *_, (last, _, _) = records(file)
    for end in range(last, len(whole)):
        file.write_bytes(whole[:end])
        assert replay(fake, file, "--json") == "".join(printed[:3]), end
    more, _ = record(fake, 2, "--json", load=load)
    assert file.read_bytes()[:last] == whole[:last]
    assert [kind for _, kind, _ in records(file)] == [0, 2, 2, 2, 0, 2, 2]
    assert replay(fake, file, "--json") == "".join(printed[:3] + more)
    for end in range(1, 40):
        file.write_bytes(whole[:end])
        refusal(fake, "--replay", str(file), "-1")
    more, _ = record(fake, 1, "--json", load=load)
    assert replay(fake, file, "--json") == "".join(more)


def test_damaged_frame(fake):
    """what is damaged costs the rest of its frame, and nothing else"""
    printed, file = record(fake, 2 * FRAME_ROUNDS + 4, "--json")
    data = bytearray(file.read_bytes())
    of_kind = {kind: [record for record in records(file) if record[1] == kind]
               for kind in range(3)}
    offset, _, size = of_kind[2][9]
    data[offset + size // 2] ^= 0x10
    file.write_bytes(data)
    # The first frame has one round less: the first reading is not printed.
    expected = printed[:9] + printed[FRAME_ROUNDS - 1:]
    assert replay(fake, file, "--json") == "".join(expected)
    data[of_kind[1][0][0]] ^= 1
    file.write_bytes(data)
    expected = printed[:9] + printed[2 * FRAME_ROUNDS - 1:]
    assert replay(fake, file, "--json") == "".join(expected)


def test_random_damage(fake):
    """no damage makes psitop crash, nor print a round that was not"""
    printed, file = record(fake, 6, "--json")
    lines, whole, seed = set("".join(printed).splitlines()), file.read_bytes(), random.Random(7)
    heads = [offset for offset, _, _ in records(file)]
    for number in range(200):
        data = bytearray(whole)
        for _ in range(seed.choice((1, 1, 3, 30))):
            at = seed.randrange(len(data))
            if number % 2:
                at = seed.choice(heads) + seed.randrange(HEAD.size)
            data[at:at + seed.choice((0, 1, 1, 9))] = seed.randbytes(seed.choice((0, 1, 1, 9)))
        file.write_bytes(data)
        status, output, errors = fake.run("psitop", "--replay", str(file), "--json")
        assert status in (0, 2) and (status == 2) == (errors.count("\n") == 1), (status, errors)
        assert set(output.splitlines()) <= lines, output


def test_random_content(fake):
    """nor does one for which the sums are right"""
    _, file = record(fake, 6, "--json")
    whole, seed = file.read_bytes(), random.Random(3)
    parts = [(kind, zlib.decompress(whole[offset + HEAD.size:offset + size]),
              HEAD.unpack_from(whole, offset)[-1]) for offset, kind, size in records(file)]
    for _ in range(300):
        data = b""
        for kind, payload, date in parts:
            payload = bytearray(payload)
            for _ in range(seed.choice((0, 1, 5))):
                at = seed.randrange(len(payload) + 1)
                payload[at:at + seed.choice((0, 1, 1, 40))] = \
                    seed.randbytes(seed.choice((0, 1, 1, 9, 200)))
            data += sealed(seed.choice((kind, kind, kind, 0, 1, 2)), bytes(payload), date)
        file.write_bytes(data)
        status, _, errors = fake.run("psitop", "--replay", str(file),
                                     seed.choice(("--json", "--batch")))
        assert status in (0, 2) and errors.count("\n") <= 2, (status, errors)


def test_lock(fake):
    """a second psitop that records into the file is refused, and it is not changed"""
    file = str(fake.top / "record")
    process = fake.follow("--record", file)
    process.round()
    before = Path(file).read_bytes()
    assert "another psitop" in refusal(fake, "--record", file, "-1")
    assert Path(file).read_bytes() == before
    process.round()
    assert len(list(records(Path(file)))) == 3


def test_not_a_record(fake):
    """a file that is something else is not touched, and an empty one is a new record"""
    file = fake.top / "file"
    for text in "something else\n", "PS", "P" * 10000:
        file.write_text(text)
        if not "PSI1".startswith(text):
            assert "not a record" in refusal(fake, "--record", str(file), "-1")
            assert file.read_text() == text
        refusal(fake, "--replay", str(file), "-1")
    refusal(fake, "--replay", str(fake.top / "nothing"), "-1")
    refusal(fake, "--record", str(fake.top / "nothing/file"), "-1")
    file.write_text("")
    refusal(fake, "--replay", str(file), "-1")
    fake.run("psitop", "--record", str(file), "-1")
    assert "GROUP" in replay(fake, file, "-1")


def test_full_disk(fake):
    """a disk that is full ends the program with one line"""
    Load(fake)
    file = fake.top / "record"
    status, _, errors = lib.output_of(
        ["bash", "-c", 'trap "" XFSZ; ulimit -f 2; exec "$@"', "-",
         *fake.command("psitop", "--record", str(file), "-q")])
    assert status == 1 and errors.startswith("psitop: cannot record: "), errors
    assert errors.count("\n") == 1 and "GROUP" in replay(fake, file, "-b")
    assert "regular" in refusal(fake, "--record", "/dev/full", "-1")
    assert "regular" in refusal(fake, "--replay", "/dev/zero", "-1")


def test_keep(fake):
    """with --keep, the newest rounds are there, and only so many more"""
    keep = 100
    load = Load(fake)
    printed, file = record(fake, 4 * FRAME_ROUNDS + 10, "--json", "--keep", f"{keep}s", load=load)
    old = file.with_name("record.old")
    assert {path.name for path in fake.top.glob("record*")} == {"record", "record.old"}
    found = replay(fake, file, "--json")
    assert "".join(printed).endswith(found)
    rounds = [text for text in printed if text in found]
    assert keep <= len(rounds) <= 2 * keep + 2 * FRAME_ROUNDS, len(rounds)
    # The newer file stands for itself, and goes on after a new start.
    count = len(list(records(old)))
    more, _ = record(fake, 2, "--json", "--keep", f"{keep}s", load=load)
    assert replay(fake, file, "--json") == found + "".join(more)
    assert len(list(records(old))) == count
    old.unlink()
    assert "".join(printed + more).endswith(replay(fake, file, "--json"))


def test_screen(fake):
    """the screen has the time of the record, and goes forward and backward to the same"""
    _, file = record(fake, 3 * FRAME_ROUNDS + 5, "--json")
    terminal = fake.terminal("--replay", str(file), columns=120)
    terminal.until(r"^psitop  2026-01-01 00:16:41 ")
    seen = []
    # Graphs have what was before, also where another frame begins, at 00:17:44.
    for keys in "." * 5 + " " + "." * 12 + "]" + "." * 3:
        seen.append(terminal.until(r"^psitop  2026-01-01 00:1"))
        terminal.press(*([keys] if keys != " " else ["."] * 50))
        terminal.until(absent=re.escape(seen[-1].partition("  every")[0]))
    for text in seen[-3:]:
        assert "▁" in text or "█" in text, text
    terminal.type("@00:18:49\n")
    terminal.until(r"^psitop  2026-01-01 00:18:49 ")
    for text in reversed(seen):
        clock = re.match(r"psitop  2026-01-01 ([\d:]+)", text)[1]
        terminal.type(f"@{clock}\n")
        assert terminal.until(rf"^psitop  2026-01-01 {clock} .*every") == text
    terminal.press(",")                 # there is none before the first
    terminal.press(".")
    terminal.until(r"^psitop  2026-01-01 00:16:42 ")
    terminal.press(",")
    assert terminal.until(r"^psitop  2026-01-01 00:16:41 ") == seen[0]
    terminal.type("@nonsense\n")
    terminal.until(r"^psitop  2026-01-01 00:16:41  every")
    terminal.press("}")
    terminal.until(r"^psitop  2026-01-01 00:19:57 ")
    terminal.press("{")
    terminal.until(r"^psitop  2026-01-01 00:16:41 ")


def test_play(fake):
    """p plays the record, and it stops at the end"""
    _, file = record(fake, 4, "--json")
    terminal = fake.terminal("--replay", str(file), columns=120)
    terminal.until(r"00:16:41  every 1s \(paused\)")
    terminal.press("p")
    terminal.until("00:16:41  every 1s  ")
    assert "00:16:42" in terminal.round()
    terminal.round()
    assert "00:16:44" in terminal.round()
    assert "00:16:44  every 1s (paused)" in terminal.round()


def test_resized(fake):
    """a record, its help and what is typed are drawn anew at once, in any size down to 1x1"""
    _, file = record(fake, 2, "--json")
    for keys, pattern in ("", r"^GROUP"), ("h", r"^up down"), ("@", r"^type a time"):
        terminal = fake.terminal("--replay", str(file))
        terminal.type(keys)
        for columns, lines in (120, 40), (2, 2), (1, 30), (90, 1), (1, 1), (100, 24):
            terminal.resize(columns, lines)
            # until() takes no screen but one that was drawn in that size.
            terminal.until(pattern if lines > 3 and columns > 20 else "", "exit status")


def test_folded(fake):
    """what is folded remains so in other rounds, and a group may be chosen by what it was"""
    _, file = record(fake, FRAME_ROUNDS + 40, "--json")
    terminal = fake.terminal("--replay", str(file), "--sort", "name", columns=120)
    terminal.until(r"^ *b ")
    terminal.press("Down", "Space")
    terminal.until(r"^ \+a ")
    terminal.type("@00:18:20\n")
    terminal.until(r"^psitop  2026-01-01 00:18:20 ")
    terminal.press("t")         # a record has no tasks
    terminal.type("@00:16:50\n")
    text = terminal.until(r"^psitop  2026-01-01 00:16:50 ")
    assert re.search(r"^ \+a ", text, re.M) and "── /a ──" in text, text


def test_record_on_screen(fake):
    """what the screen shows can be recorded beside it"""
    load, file = Load(fake), fake.top / "record"
    terminal = fake.terminal("--record", str(file))
    for _ in range(3):
        load.go_on()
        terminal.round()
    terminal.press("q")
    terminal.until("exit status 0")
    found = replay(fake, file, "--json")
    assert found.count('"system"') == 3 and "memory_causes" in found


def test_record_usage(fake):
    """options that need each other, or exclude each other, are told so"""
    file = str(fake.top / "record")
    for args in (["--keep", "1h"], ["--quiet"], ["--at", "03:15"],
                 ["--record", file, "--replay", file], ["--record", file, "--keep", "7"],
                 ["--record", file, "--keep", "x"]):
        refusal(fake, "-1", *args)
    assert not Path(file).exists()
    _, file = record(fake, 1, "--json")
    for option in "--tasks", "--openmetrics":
        refusal(fake, "-1", "--replay", str(file), option)
    for at in "", "yesterday", "25:00", "2026-13-01", "03:15 x", "99999999999999-01-01":
        refusal(fake, "-1", "--replay", str(file), "--at", at)


def test_service(fake):
    """the unit is one that systemd takes, and uses options that there are"""
    unit = fake.top / "psitop-record.service"
    text = (lib.HERE.parent / "psitop-record.service").read_text()
    # The manual may not be installed here.
    unit.write_text(re.sub("(?m)^Documentation=.*", "", text).replace("@PREFIX@/bin",
                                                                     str(lib.PROGRAMS)))
    used = set(re.findall(r"--[a-z-]+", re.search(r"^ExecStart=(.*)", text, re.M)[1]))
    assert used and used <= options_of(lib.PROGRAMS / "psitop"), used
    if not shutil.which("systemd-analyze"):
        raise lib.Skip("no systemd-analyze")
    status, said = run("systemd-analyze", "verify", "--recursive-errors=no", unit)
    assert status == 0 and str(unit.name) not in said, said
