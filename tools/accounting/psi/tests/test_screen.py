# SPDX-License-Identifier: GPL-2.0
"""What psitop shows on a terminal."""

import re

import lib


def rows(text):
    """The names in the table."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("GROUP")) + 1
    table = []
    for line in lines[first:]:
        if not re.search(r"(\d+\.\d|-)(\s|$)", line) or line.startswith(("─", "---")):
            break
        table.append(line.split("  ")[0] if line.strip() else line)
    return [re.match(r"\s*[-+]?\s*(\S+)", line)[1] for line in lines[first:first + len(table)]]


def five(fake):
    """Some groups under pressure."""
    groups = {path: fake.group(path) for path in ("/build", "/build/one", "/build/two", "/web")}
    groups["/web"].stall("memory", 100, some_avg10=60)
    groups["/build"].stall("cpu", 100, some_avg10=20)
    groups["/build/two"].stall("cpu", 100, some_avg10=15)
    return groups


def test_table(fake):
    """the tree has the most pressed first, among those with one parent"""
    five(fake)
    text = fake.terminal().round()
    assert rows(text) == ["system", "web", "build", "two", "one"], text
    assert re.search(r"^ *web .* 60\.0", text, re.M), text
    assert re.search(r"memory some", text) and re.search(r"now avg10", text), text
    assert "5 groups" not in text and "4 groups" in text, text


def test_steady(fake):
    """groups of nearly equal pressure keep their places; one that is pressed more moves up"""
    one, two = fake.group("/one"), fake.group("/two")
    terminal = fake.terminal("--sort", "avg10")
    for pcts, order in (((20, 21), "two one"), ((21.5, 20.5), "two one"), ((20, 22), "two one"),
                        ((30, 22), "one two"), ((31, 31.5), "two one"),
                        ((31.6, 31.5), "two one")):
        for group, pct in zip((one, two), pcts):
            group.stall("cpu", 100, some_avg10=pct)
        fake.system.stall("cpu", 100)
        text = terminal.round()
        assert rows(text)[1:] == order.split() and f" {pcts[0]:.1f} " in text, text


def test_graph(fake):
    """the graph has what was there in the rounds before, newest on the right"""
    group = fake.group("/a")
    terminal = fake.terminal(columns=200)
    terminal.until(r"^ *a +-")
    fake.stall([group], "cpu", 10 ** 9)
    places = [terminal.round().partition("█")[0].rpartition("\n")[2] for _ in range(3)]
    first, second, third = (len(before) for before in places)
    assert first > second > third, places


def test_ascii(fake):
    """--ascii, and a terminal without UTF-8, get no other characters"""
    group = fake.group("/a")
    for options in {"args": ["--ascii"]}, {"args": [], "env": "LC_ALL=C"}:
        terminal = fake.terminal(*options.pop("args"), columns=120, **options)
        fake.stall([group], "cpu", 10 ** 9)
        text = terminal.round()
        assert re.search(r"^ *a .*#", text, re.M) and text.isascii(), text


def test_narrow(fake):
    """less room has fewer columns, down to the name; more lines are not needed"""
    five(fake)
    terminal = fake.terminal(columns=160, lines=40)
    terminal.until(r"irq full")
    for columns, pattern, absent in ((100, r"io some +io full", "irq"),
                                     (80, r"^GROUP +some +full +some", "avg10 "),
                                     (40, r"^GROUP +some +some +some$", "full"),
                                     (22, r"^GROUP +some", "some +some"),
                                     (10, r"web", "some"), (4, r"^GROU$", "some")):
        terminal.resize(columns, 40)
        text = terminal.until(pattern, absent)
        assert all(len(line) <= columns for line in text.splitlines()), text
    terminal.resize(80, 40)
    terminal.until(r"% now")
    terminal.press("n")
    terminal.until(r"% avg10", "% now")
    for lines in 12, 6, 4, 3, 2, 1:
        terminal.resize(100, lines)
        terminal.until(r"psitop", "exit status")
    terminal.resize(100, 30)
    terminal.until(r"^ *web ", "exit status")


def test_explained(fake):
    """the causes of the chosen group are below the table, those that grow first"""
    group = fake.group("/a")
    causes = ("cpu.quota some=5 full=5\ncpu.contention some=0 full=0\n"
              "memory.memcg_high count={:03} total={:09} max=900\n"
              "memory.thrashing count=5 total=5000000000 max=1000\n"
              "memory.background_kswapd count=1 total=100 max=100\n")
    group.write("pressure.causes", causes.format(1, 2000))
    terminal = fake.terminal()
    terminal.until("no causes are known")
    terminal.press("Down")
    terminal.until(r"^memory +thrashing ")
    text = terminal.round()
    assert re.search(r"^memory +thrashing +0\.0 ms/s", text, re.M), text
    assert re.search(r"── /a ──", text), text
    assert re.search(r"^cpu +quota +some +0\.0 %", text, re.M), text
    assert "contention" not in text, "what never was is not told"
    assert text.index("thrashing") < text.index("memcg_high") < text.index("kswapd"), text
    assert "ahead of need" in text, text
    group.write("pressure.causes", causes.format(2, 3000))
    text = terminal.round()
    assert text.index("memcg_high") < text.index("thrashing"), text
    terminal.press("e")
    terminal.until(r"^ *a ", "memcg_high")


def test_longest(fake):
    """the longest memory stall of each group has a column if there is room, and it is told"""
    group = fake.group("/a")
    fake.group("/b")
    terminal = fake.terminal(columns=80)
    terminal.until(r"^GROUP.*full$", "longest")
    group.write("pressure.causes", "memory.swapin count=2 total=9 max=48210\n"
                                   "memory.background_kswapd count=1 total=9 max=99000\n")
    for _ in range(6):                  # a file that is missing is tried again after 5 s
        text = terminal.round()
    assert re.search(r" io +longest$", text, re.M), text
    assert re.search(r"^ *a .* 48\.21ms", text, re.M), text
    assert re.search(r"^ *b .*0  +-", text, re.M), text
    terminal.press("1")
    terminal.until(r"^ *a ", "longest")
    terminal.press("2")
    terminal.until(r"longest$")
    terminal.resize(60, 24)
    terminal.until(r"^ *a ", "longest")
    assert "longest" not in fake.terminal("--no-causes", columns=80).until(r"^ *a ")


def test_other_kernels(fake):
    """without causes, what cpu.stat and memory.events say"""
    group = fake.group("/a")
    group.write("cpu.stat", "throttled_usec 1500000\n")
    group.write("memory.events", "low 0\nhigh 3\nmax 4\n")
    terminal = fake.terminal()
    terminal.press("Down")
    terminal.until(r"^memory +limits \(memory.events\) +high 3, max 4 times")
    assert re.search(r"^cpu +throttled \(cpu.stat\) +0\.0 ms/s", terminal.round(), re.M)


def test_fold(fake):
    """groups fold and unfold, one and all"""
    five(fake)
    terminal = fake.terminal()
    terminal.until(r"^ *-? *build ")
    terminal.press("Down", "Down", "Space")
    text = terminal.until(r"^ \+build ", r"^ *two ")
    assert rows(text) == ["system", "web", "build"], text
    terminal.press("Right")
    terminal.until(r"^ -build ")
    terminal.press("Down", "Left", "Left")
    terminal.until(r"^ \+build ", r"^ *two ")
    terminal.press("+")
    terminal.until(r"^ -build ")
    terminal.press("-")
    terminal.until(r"^ \+build ", r"^ *two ")


def test_keys(fake):
    """sort, resource, list, help and pause"""
    groups = five(fake)
    terminal = fake.terminal("--sort", "avg10")
    terminal.until(r"by avg10")
    terminal.press("1")
    text = terminal.until(r"cpu some", r"memory some")
    assert rows(text)[1] == "build", text
    terminal.press("s", "s")
    assert rows(terminal.until(r"by name"))[1:] == ["build", "one", "two", "web"]
    terminal.press("0", "l")
    text = terminal.until(r"^ */build/two ")
    assert rows(text)[1:] == ["/build", "/build/one", "/build/two", "/web"], text
    terminal.press("h")
    terminal.until(r"keys", "GROUP")
    terminal.press("h")
    terminal.until(r"GROUP", "any key")
    terminal.press("p")
    terminal.until(r"paused")
    groups["/web"].stall("io", 1, some_avg10=33)
    fake.system.stall("io", 1)
    terminal.press(">")
    terminal.until(r"every 2s")
    for _ in range(2):
        text = terminal.round()
        assert " 33.0" not in text, text
    terminal.press("p")
    terminal.until(r"every 2s", "paused")
    assert re.search(r"^ */web .* 33\.0", terminal.round(), re.M)
    terminal.press("q")
    terminal.until(r"exit status 0")


def test_filter(fake):
    """the filter leaves what has it in its path, and what is above that"""
    five(fake)
    terminal = fake.terminal()
    terminal.until(r"^ *web ")
    terminal.press("/")
    terminal.type("tWx")
    terminal.until(r"0 with /tWx")
    terminal.press("BSpace", "Enter")
    text = terminal.until(r"^ *two ", r"^ *(web|one) ")
    assert rows(text) == ["system", "build", "two"], text
    assert "1 with /tW" in text, text
    terminal.press("/")
    terminal.press("Escape")
    terminal.until(r"^ *web ")


def test_pressed(fake):
    """o leaves what has pressure in the last round, and what is above that"""
    groups = five(fake)
    terminal = fake.terminal()
    terminal.until(r"^ *two ")
    terminal.press("o")
    terminal.until(r"^no group has pressure now \(o ", r"^ *(two|web|-?system) ")
    fake.stall([groups["/build/two"], groups["/build"]], "cpu", 1000)
    text = terminal.round()
    assert rows(text) == ["system", "build", "two"] and "2 pressed" in text, text
    terminal.press("2")
    terminal.until(r"^no group has pressure", r"^ *two ")
    terminal.press("0", "l")
    assert rows(terminal.until(r"^ */build/two ")) == ["/build", "/build/two", "system"]
    terminal.press("/")
    terminal.type("web\n")
    terminal.until(r"0 pressed with /web", r"^ */build/two ")
    terminal.press("o")
    assert rows(terminal.until(r"1 with /web")) == ["/web"]


def test_vanishing(fake):
    """the chosen group may go, with all below it, and so may its parent"""
    groups = five(fake)
    terminal = fake.terminal()
    terminal.until(r"^ *two ")
    terminal.press("End")
    terminal.until(r"── /build/one ──")
    for path in "/build/one", "/build/two", "/build":
        directory = groups[path].directory
        for file in directory.glob("*.*"):
            file.unlink()
        directory.rmdir()
    text = terminal.round()
    assert rows(text) == ["system", "web"] and " 1 group " in text, text
    assert "── /web ──" in text, text


def test_many(fake):
    """a table that is longer than the screen scrolls"""
    for i in range(60):
        fake.group(f"/g{i:02}")
    terminal = fake.terminal("--sort", "name")
    terminal.until(r"^ *g05 ", r"^ *g50 ")
    terminal.press("End")
    terminal.until(r"^ *g59 ", r"^ *g05 ")
    terminal.press("Home")
    terminal.until(r"^ *-?system ", r"^ *g59 ")
    terminal.press("NPage", "NPage")
    terminal.until(r"^ *g2\d ", r"^ *-?system ")


def test_without_colour(fake):
    """pressure that is high stands out with colours and without"""
    fake.group("/a").stall("cpu", 0, some_avg10=60)
    for options, code in (([], "31"), (["--no-color"], "4")):
        text = fake.terminal(*options).until(r"60\.0", args=["-e"])
        before = re.search(r"((\x1b\[[\d;]*m)+) *60\.0", text)
        assert before and code in re.findall(r"\d+", before[1]), repr(text)
    text = fake.terminal(env="NO_COLOR=1").until(r"60\.0", args=["-e"])
    assert "\x1b[31m" not in text, repr(text)
    fake.terminal(env="TERM=vt100").until(r"60\.0", "exit status")


def test_no_terminal(fake):
    """a terminal that is not known is told in one line"""
    terminal = fake.terminal(env="TERM=nothing", columns=150)
    text = terminal.until(r"exit status 1")
    assert "TERM" in text and "--batch" in text, text


def test_names(fake):
    """names with any bytes, or wide characters, do nothing to the columns"""
    fake.group("/x\x1b[2Jy")
    fake.group("/日本語" + 30 * "長")
    text = fake.terminal(columns=80).round()
    assert re.search(r"^ +x\?\[2Jy +0\.0", text, re.M), text
    wide = next(line for line in text.splitlines() if "日" in line)
    plain = next(line for line in text.splitlines() if "2Jy" in line)
    cells = len(wide) + sum(ord(character) > 0x2fff for character in wide)
    assert wide.rstrip().endswith("0.0") and cells == len(plain), text


def test_mouse(fake):
    """a click chooses the group there, the wheel moves on; all else does nothing, and hangs not"""
    for i in range(60):
        fake.group(f"/g{i:02}")
    terminal = fake.terminal("--sort", "name")

    def mouse(line, *codes):
        for code in codes:
            terminal.type(f"\x1b[M{chr(32 + code)}!{chr(33 + line)}")

    click, down, up, others = (0, 3), (65,), (64,), (1, 3, 2, 3, 66, 67, 35)
    for line, codes, chosen in ((5, click, "/g01"), (7, others, "/g01"), (9, down, "/g04"),
                                (9, up, "/g01"), (0, click, "/g01"), (23, click, "/g01"),
                                (9, up, "system"), (7, click, "/g03")):
        mouse(line, *codes)
        terminal.until(rf"── {chosen} ──")
        assert f"── {chosen} ──" in terminal.round()
    terminal.press("End")
    first = rows(terminal.until(r"── /g59 ──"))[0]
    mouse(3, *click)
    terminal.until(rf"── /{first} ──")
    fake.terminal(env="TERM=vt100").until(r"^ *g05 ", "exit status")
