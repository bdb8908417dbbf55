# SPDX-License-Identifier: GPL-2.0
"""What psitop --openmetrics prints, by the grammar of the text format."""

import json
import os
import re

import lib
from test_numbers import refusal

DASHBOARD = lib.HERE.parent / "psi-dashboard.json"
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})\{{({LABEL}(?:,{LABEL})*)\}} (\d+(?:\.\d+)?(?:e[+-]\d+)?)")
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def labels_of(text):
    pairs = [pair.split("=", 1) for pair in re.findall(LABEL, text)]
    assert len(dict(pairs)) == len(pairs), text
    return {name: re.sub(r"\\.", lambda escape: ESCAPES[escape[0]], value[1:-1])
            for name, value in pairs}


def parse(text):
    """{metric: {labels: value}}, of text that follows all rules"""
    assert text.endswith("\n"), text
    metrics, kind = {}, {}
    lines = iter(text[:-1].split("\n"))
    for line in lines:
        if line.startswith("#"):
            name = re.fullmatch(rf"# HELP ({NAME}) [^\\]+", line)[1]
            assert name not in metrics, f"{name} stands twice"
            kind[name] = re.fullmatch(rf"# TYPE {name} (counter|gauge)", next(lines))[1]
            assert name.endswith("_total") == (kind[name] == "counter"), line
            last, metrics[name] = name, {}
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        assert name == last, f"{name} is among {last}"
        key = frozenset(labels_of(labels).items())
        assert key not in metrics[name], f"{line} stands twice"
        metrics[name][key] = float(value)
        assert not name.endswith("_ratio") or float(value) <= 1, line
    assert all(metrics.values()), "a metric without samples"
    return metrics


def metrics(fake, *args):
    status, output, said = fake.run("psitop", "--openmetrics", *args)
    assert status == 0, said
    return parse(output)


def full(fake):
    """A group that has all there is"""
    group = fake.group("/a")
    group.stall("memory", 1500000, 250000, some_avg10=12.5)
    group.write("pressure.causes", "cpu.contention some=1 full=0\n"
                                   "cpu.quota some=2500000 full=1000000\n"
                                   "memory.memcg_high count=3 total=4500000 max=2000001\n"
                                   "memory.background_kswapd count=1 total=2 max=2\n")
    fake.group("/b").write("cpu.stat", "throttled_usec 1500000\n")
    return group


def of(found, name, **labels):
    return found["psi_cgroup_" + name][frozenset(labels.items())]


def test_values(fake):
    """totals are counters in s, averages ratios, and causes have what they have"""
    full(fake)
    found = metrics(fake)
    memory = {"cgroup": "/a", "resource": "memory"}
    assert of(found, "pressure_some_seconds_total", **memory) == 1.5
    assert of(found, "pressure_full_seconds_total", **memory) == 0.25
    assert of(found, "pressure_some_ratio", **memory, window="10s") == 0.125
    assert of(found, "pressure_full_ratio", **memory, window="300s") == 0
    high = {"cgroup": "/a", "cause": "memcg_high", "kind": "tasks"}
    assert of(found, "memory_stalls_total", **high) == 3
    assert of(found, "memory_stall_seconds_total", **high) == 4.5
    assert of(found, "memory_stall_longest_seconds", **high) == 2.000001
    assert of(found, "memory_stalls_total", cgroup="/a", cause="background_kswapd",
              kind="background") == 1
    assert of(found, "cpu_cause_some_seconds_total", cgroup="/a", cause="quota") == 2.5
    assert of(found, "cpu_cause_full_seconds_total", cgroup="/a", cause="quota") == 1
    assert of(found, "throttled_seconds_total", cgroup="/b") == 1.5
    assert of(found, "pressure_some_seconds_total", cgroup="system", resource="io") == 0
    fake.group("/a").write("cpu.stat", "throttled_usec 1\n")
    assert set(metrics(fake)["psi_cgroup_throttled_seconds_total"]) == \
        {frozenset({("cgroup", "/b")})}
    assert not [name for name in metrics(fake, "--no-causes") if "pressure" not in name]


def test_chosen(fake):
    """which groups are printed is as in JSON"""
    for path in "/a", "/a/b", "/c":
        fake.group(path)
    for args in ["--cgroup", "/a"], ["--filter", "B"], ["--rows", "2"], ["-s", "name"]:
        printed = {dict(labels)["cgroup"] for samples in metrics(fake, *args).values()
                   for labels in samples}
        assert printed == set(fake.json(*args)), (args, printed)


def test_escapes(fake):
    """a name may have any bytes; names that become the same are one"""
    for name in b'q"\\n\n}', b"x\xff", b"x\xfe", b"\x1b[31m\xc3\xa9":
        os.mkdir(os.fsencode(fake.cgroup_dir) + b"/" + name)
        (fake.cgroup_dir / os.fsdecode(name) / "cpu.pressure").write_text(lib.line("some"))
    found = metrics(fake)["psi_cgroup_pressure_some_seconds_total"]
    assert {dict(labels)["cgroup"] for labels in found} == \
        {"system", '/q"\\n\n}', "/x\ufffd", "/\x1b[31m\u00e9"}, found


def test_one_round(fake):
    """without --delay or --count it is one round, and it takes no time"""
    fake.group("/a")
    status, output, _ = fake.run("psitop", "--openmetrics", env={"SHIM_TICKS": "/nothing"})
    assert status == 0 and parse(output)
    _, output, _ = fake.run("psitop", "--openmetrics", "-n", "3")
    assert output.count("# TYPE psi_cgroup_pressure_some_seconds_total") == 3


def test_output(fake):
    """--output replaces the file in each round, and never changes the one that is read"""
    group = fake.group("/a")
    path = fake.top / "psi.prom"
    path.write_text("old")
    with open(path, encoding="utf-8") as old:
        rounds = lib.Rounds(fake.command("psitop", "--openmetrics", "--output", str(path),
                                         "--delay", "5s"))
        fake.started.append(rounds)
        assert of(parse(path.read_text()), "pressure_some_seconds_total", cgroup="/a",
                  resource="io") == 0
        fake.stall([group], "io", 1000000)
        assert rounds.round() == []
        assert old.read() == "old"
    assert of(parse(path.read_text()), "pressure_some_seconds_total", cgroup="/a",
              resource="io") == 1
    assert path.stat().st_mode & 0o777 == 0o644
    assert [file.name for file in fake.top.iterdir() if file.name.startswith("psi.")] == \
        ["psi.prom"]


def test_cannot_write(fake):
    """a file that cannot be written is told in one line, and the old one stays"""
    fake.group("/a")
    status, said = refusal(fake, "--openmetrics", "--output", "/nothing/psi.prom")
    assert status == 1 and "/nothing/psi.prom" in said, said
    full_disk = fake.top / "psi.prom.tmp"
    full_disk.symlink_to("/dev/full")
    path = fake.top / "psi.prom"
    path.write_text("old")
    status, said = refusal(fake, "--openmetrics", "--output", str(path))
    assert status == 1 and path.read_text() == "old", said
    full_disk.unlink()
    path.unlink()
    path.mkdir()
    status, said = refusal(fake, "--openmetrics", "--output", str(path))
    assert status == 1 and not full_disk.exists(), said


def test_wrong_usage(fake):
    """what does not go together is told in one line"""
    for args in ["--output", "x"], ["--openmetrics", "--json"], ["--openmetrics", "--tasks"]:
        assert refusal(fake, *args)[0] == 2, args


def test_dashboard(fake):
    """the dashboard asks for metrics and labels that there are"""
    full(fake)
    found = metrics(fake)
    labels = {name: {label for sample in samples for label, _ in sample} | {"instance"}
              for name, samples in found.items()}
    text = DASHBOARD.read_text()
    queries = [target["expr"] for panel in json.loads(text)["panels"]
               for target in panel["targets"]]
    for query in queries:
        name, selector, _ = re.search(rf"({NAME})\{{(.*?)\}}(.*)", query).groups()
        assert set(re.findall(r"(\w+)=", selector)) <= labels[name], query
        assert name.endswith("_total") == ("rate(" in query), query
    assert queries and set(re.findall(r"psi_cgroup_\w+", text)) <= set(found), text


def test_documented(fake):
    """every metric is in the document"""
    full(fake)
    document = lib.document()
    missing = [name for name in metrics(fake) if f"``{name}``" not in document]
    assert not missing, missing
