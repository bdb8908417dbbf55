# SPDX-License-Identifier: GPL-2.0
"""What psitop says in JSON and text."""

import json
import os
import re
from pathlib import Path

import lib


def test_lines(fake):
    """each group is a line, and its numbers are those of its files"""
    fake.group("/a").stall("memory", 5000, 2000, some_avg10=12.5)
    fake.group("/a/b")
    found = fake.json()
    assert set(found) == {"system", "/a", "/a/b"}, found
    some = found["/a"]["memory"]["some"]
    assert some["avg10_pct"] == 12.5 and some["total_us"] == 5000, some
    assert found["/a"]["memory"]["full"]["total_us"] == 2000
    assert some["now_pct"] == 0, "nothing has grown"
    assert "irq" not in found["/a"]


def test_unknown(fake):
    """lines and fields that are not known are passed over"""
    fake.system.write("memory", "more avg10=9.00 avg60=9.00 avg300=9.00 total=9\n"
                                "some avg100=8.00 totals=6 avg10=1.00 avg60=2.00 avg300=3.00 total=4 also=8\n")
    fake.system.write("irq", lib.line("full", 3.0, 77))
    fake.system.write("io", "nothing of the kind\n")
    found = fake.json()["system"]
    assert found["memory"] == {"some": {"now_pct": 0, "avg10_pct": 1, "avg60_pct": 2,
                                        "avg300_pct": 3, "total_us": 4}}, found["memory"]
    assert list(found["irq"]) == ["full"] and found["irq"]["full"]["total_us"] == 77
    assert "io" not in found


def test_now(fake):
    """now is the growth of the total, in percent of the time between two rounds"""
    group = fake.group("/a")
    rounds = fake.follow("-d", "500ms")

    def now():
        found = rounds.of("/a")["cpu"]
        return found["some"]["now_pct"], found["full"]["now_pct"]

    assert now() == (0, 0)
    fake.stall([group], "cpu", 2000, 1000)
    assert now() == (0.4, 0.2)
    assert now() == (0, 0)
    fake.stall([group], "cpu", 10 ** 9)
    assert now() == (100, 0)


def test_late_averages(fake):
    """averages follow a burst, though nothing grows any more when they do"""
    group = fake.group("/a")
    rounds = fake.follow()
    rounds.of("/a")
    fake.stall([group], "memory", 5000)
    rounds.of("/a", lambda each: each["memory"]["some"]["total_us"] == 5000)
    rounds.of("/a", lambda each: each["memory"]["some"]["now_pct"] == 0)
    group.stall("memory", some_avg10=4.5)
    rounds.of("/a", lambda each: each["memory"]["some"]["avg10_pct"] == 4.5)


def test_quiet(fake):
    """nothing is read below a group whose total has not grown, but averages are in time"""
    group = fake.group("/a")
    group.stall("io", 1000, some_avg10=50)
    rounds = fake.follow()
    rounds.of("/a")
    group.stall("io", 7000, some_avg10=40)
    first = rounds.of("/a")["io"]["some"]
    assert first["now_pct"] == 0 and first["total_us"] == 1000, first
    rounds.of("/a", lambda each: each["io"]["some"]["avg10_pct"] == 40)


def test_backwards(fake):
    """a total that is smaller is that of another group, and is no growth"""
    group = fake.group("/a")
    group.stall("cpu", 10 ** 6)
    rounds = fake.follow()
    rounds.of("/a")
    group.total["cpu"] = [0, 0]
    fake.stall([group], "cpu", 5)
    seen = rounds.of("/a", lambda each: each["cpu"]["some"]["total_us"] == 5)
    assert seen["cpu"]["some"]["now_pct"] == 0, seen


def test_memory_causes(fake):
    """causes of memory have their kind and what they grow by; a new one is a new key"""
    group = fake.group("/a")
    text = ("cpu.contention some=1 full=1\n"
            "memory.direct_reclaim count=12 total=34567 max=890\n"
            "memory.background_kswapd count=1 total=2 max=3\n"
            "memory.requested_reclaim count=4 total=5 max=6\n"
            "memory.brand_new count={count} total={total} max=7\n"
            "other.thing count=1 total=2 max=3\nmemory count=1 total=2 max=3\n")
    group.write("pressure.causes", text.format(count=0, total=0))
    rounds = fake.follow()
    causes = rounds.of("/a", lambda each:
                       each["memory_causes"]["brand_new"]["now_per_s"] is not None)
    causes = causes["memory_causes"]
    assert {name: cause["kind"] for name, cause in causes.items()} == {
        "direct_reclaim": "tasks", "background_kswapd": "background",
        "requested_reclaim": "requested", "brand_new": "tasks"}, causes
    first = causes["direct_reclaim"]
    assert (first["count"], first["total_us"], first["max_us"]) == (12, 34567, 890), first
    assert first["now_ms_per_s"] == 0 and first["now_per_s"] == 0, first
    group.write("pressure.causes", text.format(count=10, total=20000))
    grown = rounds.of("/a")["memory_causes"]["brand_new"]
    assert (grown["now_per_s"], grown["now_ms_per_s"]) == (10, 20), grown


def test_longest(fake):
    """the longest memory stall is that of a task, of any cause; other kernels do not tell"""
    group = fake.group("/a")
    group.write("pressure.causes", "cpu.quota some=9999 full=9999 max=9999\n"
                                   "memory.direct_reclaim count=1 total=70 max=70\n"
                                   "memory.thrashing count=1 total=890 max=890\n"
                                   "memory.swapin count=1 total=71 max=71\n"
                                   "memory.background_kswapd count=1 total=4000 max=4000\n"
                                   "memory.requested_reclaim count=1 total=5000 max=5000\n")
    fake.group("/b").write("pressure.causes", "memory.thrashing count=0 total=0 max=0\n")
    fake.group("/c").write("cpu.stat", "throttled_usec 1\n")
    found = fake.json()
    assert [found[path].get("memory_longest_us") for path in ("/a", "/b", "/c")] == [890, 0, None]
    assert "memory_longest_us" not in fake.json("--no-causes")["/a"]


def test_system_causes(fake):
    """causes of the system are those of the root, but not in a container"""
    root = lib.Group(fake.cgroup_dir, ".pressure")
    root.write("pressure.causes", "memory.thrashing count=1 total=2 max=2\n")
    assert fake.json()["system"]["memory_causes"]["thrashing"]["total_us"] == 2
    root.write("cgroup.type", "domain\n")
    found = fake.json()
    assert "memory_causes" not in found["system"]
    assert found["/"]["memory_causes"]["thrashing"]["total_us"] == 2


def test_cpu_causes(fake):
    """causes of cpu have both lines, and what they grow by"""
    group = fake.group("/a")
    text = "cpu.contention some={:09} full=0\ncpu.quota some={:09} full={:09}\n"
    group.write("pressure.causes", text.format(5, 20, 10))
    rounds = fake.follow("-d", "500ms")
    rounds.of("/a")
    group.write("pressure.causes", text.format(5, 2020, 1010))
    found = rounds.of("/a")["cpu_causes"]
    quota = found["quota"]
    assert (quota["some_us"], quota["full_us"]) == (2020, 1010), quota
    assert (quota["some_now_pct"], quota["full_now_pct"]) == (0.4, 0.2), quota
    assert found["contention"]["some_now_pct"] == 0


def test_throttled(fake):
    """where there is no pressure.causes, what cpu.stat says of throttling"""
    group = fake.group("/a")
    group.write("cpu.stat", "usage_usec 7\nnr_throttled 2\nthrottled_usec 0012000\n")
    fake.group("/b")
    rounds = fake.follow()
    assert rounds.of("/a")["throttled_us"] == 12000
    group.write("cpu.stat", "usage_usec 7\nnr_throttled 2\nthrottled_usec 0013000\n")
    assert rounds.of("/a")["throttled_now_ms_per_s"] == 1
    assert "throttled_us" not in rounds.of("/b")


def test_no_causes(fake):
    """--no-causes leaves them out"""
    fake.group("/a").write("pressure.causes", "memory.other count=1 total=2 max=2\n")
    assert "memory_causes" in fake.json()["/a"]
    assert "memory_causes" not in fake.json("--no-causes")["/a"]


def test_documented(fake):
    """every key of the JSON is in the document"""
    group = fake.group("/a")
    group.write("pressure.causes", "cpu.contention some=1 full=1\n"
                                   "memory.other count=1 total=2 max=2\n")
    fake.group("/b").write("cpu.stat", "throttled_usec 1\n")
    fake.system.write("irq", lib.line("full"))
    for tid in range(1, 2002):
        fake.task(tid, group=group)
    known = set(re.findall(r"``(\w+)``", lib.document()))

    def keys(value):
        if isinstance(value, dict):
            yield from value
            value = list(value.values())
        if isinstance(value, list):
            for below in value:
                yield from keys(below)

    unknown = {key for each in fake.json("--tasks").values() for key in keys(each)} - known
    assert not unknown, unknown


def test_bytes(fake):
    """a name with any bytes makes no wrong JSON, and does nothing to a terminal"""
    name = b"x\xff\xc3\xa9\x1b[31m"
    os.mkdir(os.fsencode(fake.cgroup_dir) + b"/" + name)
    assert "/x\ufffd\u00e9\x1b[31m" in fake.json()
    _, output, _ = fake.run("psitop", "-1")
    assert "\x1b" not in output and "?[31m" in output, output


def test_no_characters(fake):
    """half a pair of UTF-16 is no character, and one of 8 bits that controls is not printed"""
    for name in b"x\xed\xa0\x80", b"y\xe0\x80\x80", b"z\xc2\x9b31m":
        os.mkdir(os.fsencode(fake.cgroup_dir) + b"/" + name)
    found = fake.json()
    assert "/x" + 3 * "\ufffd" in found and "/y" + 3 * "\ufffd" in found, found.keys()
    for locale in "C", "C.UTF-8":
        _, output, _ = fake.run("psitop", "-1", env={"LC_ALL": locale})
        assert "31m" in output and not {"\x9b", "\udc9b"} & set(output), repr(output)


def test_come_and_go(fake):
    """groups that are made and removed are seen, at any depth"""
    rounds = fake.follow()
    rounds.of("system")
    os.makedirs(fake.cgroup_dir / "a/b/c")
    rounds.of("/a/b/c")
    (fake.cgroup_dir / "a/b/c").rmdir()
    assert {each["group"] for each in rounds.round()} == {"system", "/a", "/a/b"}


def test_switched(fake):
    """a group that is switched off has no numbers, and has them again afterwards"""
    group = fake.group("/a")
    rounds = fake.follow()
    rounds.of("/a", lambda each: "io" in each)
    for resource in "cpu", "memory", "io":
        (group.directory / f"{resource}.pressure").rename(fake.top / resource)
    # Files in a directory can still be read if they are open; those of cgroup2 cannot.
    again = fake.follow()
    again.of("/a", lambda each: "io" not in each)
    for resource in "cpu", "memory", "io":
        (fake.top / resource).rename(group.directory / f"{resource}.pressure")
    again.of("/a", lambda each: "io" in each)


def test_many_files(fake):
    """more files than a process may have open are read all the same"""
    for i in range(60):
        fake.group(f"/g{i}").stall("io", 1 + i)
    _, output, _ = lib.output_of(["bash", "-c", 'ulimit -n 90; exec "$@"', "-",
                                  *fake.command("psitop", "-j", "-n", "2")])
    last = {each["group"]: each for each in map(json.loads, output.splitlines())}
    assert all(last[f"/g{i}"]["io"]["some"]["total_us"] == 1 + i for i in range(60))
    assert len(last) == 61


def test_kept_open(fake):
    """files stay open once they are read again and again, those of idle groups do not"""
    group = fake.group("/a")
    rounds = fake.follow("--no-causes")

    def is_open():
        return any(os.readlink(link).endswith("/a/cpu.pressure")
                   for link in Path(f"/proc/{rounds.process.pid}/fd").iterdir())

    for _ in range(9):
        rounds.round()
    assert not is_open()
    for _ in range(3):
        fake.stall([group], "cpu", 1000)
        rounds.round()
    assert is_open()


def test_order(fake):
    """the most pressed group comes first; other keys and resources on request"""
    fake.group("/a").stall("cpu", 300, some_avg10=1)
    fake.group("/b").stall("memory", 100, some_avg10=50)
    fake.group("/c").stall("io", 200, some_avg10=7)
    fake.group("/a/d")

    def groups(*args):
        return [group for group in fake.json(*args) if group != "system"]

    assert groups() == ["/b", "/c", "/a", "/a/d"], groups()
    assert groups("--sort", "total") == ["/a", "/c", "/b", "/a/d"]
    assert groups("--sort", "name") == ["/a", "/a/d", "/b", "/c"]
    assert groups("--resource", "io")[0] == "/c"
    assert groups("--rows", "1") == ["/b"], groups("--rows", "1")
    assert groups("--filter", "/A") == ["/a", "/a/d"]


def test_text(fake):
    """text has the same order, the names at the end, and the causes below"""
    group = fake.group("/a")
    group.stall("memory", 100, some_avg10=50)
    group.write("pressure.causes", "memory.memcg_high count=3 total=2500000 max=70000\n"
                                   "memory.other count=0 total=0 max=0\n")
    fake.group("/b")
    status, output, _ = fake.run("psitop", "-1")
    assert status == 0
    lines = output.splitlines()
    titles = [i for i, line in enumerate(lines) if line.endswith("GROUP")]
    assert len(titles) == 1, output
    rows = lines[titles[0] + 1:]
    assert rows[0].split() == ["0.0", "0.0", "0.0", "0.0", "0.0", "50.0", "0.0", "0.0", "0.0",
                               "0.0", "0.0", "0.0", "-", "-", "/a"], rows
    assert rows[1].split()[:2] == ["memory", "memcg_high"] and "longest 70ms" in rows[1], rows
    assert [row.split()[-1] for row in rows[2:4]] == ["system", "/b"], rows
    _, output, _ = fake.run("psitop", "-b", "-n", "3", "-r", "io")
    assert output.count("GROUP") == 3 and "memory some" not in output, output


def test_cgroup(fake):
    """one group with what is below it, by its path or that of its directory"""
    fake.group("/a")
    fake.group("/a/b")
    fake.group("/c")
    for path in "/a", "a", "a/", f"{fake.cgroup_dir}/a":
        assert set(fake.json("--cgroup", path)) == {"/a", "/a/b"}, path
    assert set(fake.json("--cgroup", "/")) == {"/", "/a", "/a/b", "/c"}


def test_cgroup_gone(fake):
    """a group at the top that goes is the end, with a word"""
    group = fake.group("/a")
    rounds = fake.follow("--cgroup", "/a")
    rounds.of("/a")
    for file in group.directory.iterdir():
        file.unlink()
    group.directory.rmdir()
    try:
        rounds.until(lambda each: False)
    except AssertionError as ended:
        assert "/a: the cgroup is gone" in str(ended), ended
    assert rounds.process.wait() == 1


def test_cgroup_made_anew(fake):
    """another group of the name is not the one that was looked at"""
    group = fake.group("/a")
    fake.group("/other")
    rounds = fake.follow("--cgroup", "/a")
    rounds.of("/a")
    group.directory.rename(fake.top / "gone")
    (fake.cgroup_dir / "other").rename(group.directory)
    try:
        rounds.until(lambda each: False)
    except AssertionError as ended:
        assert "/a: the cgroup is gone" in str(ended), ended


def test_container(fake):
    """the group at the root of a container is below the system, or stands for it"""
    fake.group("/a")
    root = lib.Group(fake.cgroup_dir, ".pressure")
    root.write("cgroup.type", "domain\n")
    assert set(fake.json()) == {"system", "/", "/a"}
    for file in fake.pressure_dir.iterdir():
        file.unlink()
    fake.pressure_dir.rmdir()
    assert set(fake.json()) == {"/", "/a"}
    fake.pressure_dir.mkdir()


def refusal(fake, *args, program="psitop", **options):
    """(exit status, the one line)"""
    status, output, errors = fake.run(program, *args, **options)
    assert output == "" and errors.count("\n") == 1, output + errors
    return status, errors


def test_no_pressure(fake):
    """a kernel without pressure is told in one line, with what to do"""
    for file in fake.pressure_dir.iterdir():
        file.unlink()
    status, said = refusal(fake, "-1")
    assert status == 1 and "psi=1" in said and "CONFIG_PSI" in said, said
    fake.pressure_dir.rmdir()
    assert refusal(fake, "-1") == (status, said)
    # Files that can be opened, but not read, are no pressure either.
    (fake.cgroup_dir / "cpu.pressure").mkdir()
    assert refusal(fake, "-1") == (status, said)
    assert refusal(fake, "-1", "--cgroup", "/") == (status, said)
    fake.pressure_dir.mkdir()


def test_no_cgroups(fake):
    """a system without cgroup2 is told in one line, and the system is shown"""
    fake.cgroup_dir.rmdir()
    status, output, errors = fake.run("psitop", "-1")
    assert status == 0 and "system" in output, output
    assert errors == "psitop: no cgroup2 is mounted: only the system is shown\n", errors
    status, said = refusal(fake, "-1", "--cgroup", "/a")
    assert status == 1 and "mount" in said, said


def test_no_permission(fake):
    """files that must not be read are told in one line, with what to do"""
    fake.top.chmod(0o755)
    (fake.pressure_dir / "cpu").chmod(0)
    status, said = refusal(fake, "-1", **lib.another_user(lib.PROGRAMS / "psitop"))
    assert status == 1 and "no permission" in said and "root" in said, said


def test_wrong_usage(fake):
    """wrong usage is told in one line, exit status 2"""
    for args in (["-d", "1"], ["-d", "1ms"], ["-d", "xs"], ["-n", "0"], ["-n", "-1"],
                 ["-n", "9x"], ["-r", "disk"], ["-s", "size"], ["word"], ["--rows", "x"],
                 ["-f", "x" * 64], ["--nothing"], ["-d"]):
        status, _ = refusal(fake, *args)
        assert status == 2, args
    status, said = refusal(fake, "-1", "--cgroup", "/nothing")
    assert status == 1 and "no such cgroup" in said, said
    status, said = refusal(fake)
    assert status == 1 and "--batch" in said, said
