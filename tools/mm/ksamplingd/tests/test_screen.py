# SPDX-License-Identifier: GPL-2.0
"""What ksamplingd-top shows on a terminal."""

import re

import lib


def test_screen(fake):
    """tiers, what sampling costs, and events, each with its numbers"""
    fake.promotes()
    text = fake.terminal().round()
    for pattern in (r"^promotion +0/s in all", r"^ksamplingd-top  [\d:]+  every 1s  by pebs",
                    r"^TIER +NODES +HOT +SERVED +PROMOTED +DEMOTED", r"^4 fast +0 ",
                    r"^22 slow +1 ", r"^quota +2\.9% of 3\.0%", r"^workload +12\.3%",
                    r"^not moved +of 0/s told  dropped 0/s", r"^loads +100\.0% +1999 ", r"q quit$"):
        assert re.search(pattern, text, re.M), f"no {pattern} in\n{text}"


def test_one_tier(fake):
    """where there is nothing to promote, it says so"""
    fake.knob("promote", 0)
    fake.knob("promote_mb_per_s", 128)
    terminal = fake.terminal()
    assert re.search(r"^promotion .* ksamplingd off \S+/s of ", terminal.round(), re.M)
    fake.remove(f"{lib.TIERS}/memory_tier22")
    text = terminal.round()
    assert re.search(r"^promotion .* ksamplingd off: all memory is of one tier", text, re.M), text


def test_graphs(fake):
    """graphs have what was there in the rounds before, newest on the right"""
    terminal = fake.terminal(columns=120)
    fake.told(ksamplingd_samples=10 ** 6)
    texts = [terminal.round() for _ in range(3)]
    places = [len(re.search(r"^samples (.*)█", text, re.M)[1]) for text in texts]
    assert places == [places[0], places[0] - 1, places[0] - 2], places
    assert re.search(r"^loads .* █████$", texts[2], re.M), texts[2]
    assert re.search(r"^quota .*▅$", texts[2], re.M), "31 of 30 permille is half of the height"
    assert not re.search(r"^demotion .*█", texts[2], re.M), "nothing is the height of nothing"
    fake.events["loads"]["running_permille"] = 500
    fake.told()
    assert re.search(r"^loads .* █████▄$", terminal.round(), re.M)


def test_ascii(fake):
    """--ascii, and a terminal without UTF-8, get no other characters"""
    for args, env in (["--ascii"], ""), ([], "LC_ALL=C"):
        text = fake.terminal(*args, columns=120, env=env).round()
        assert re.search(r"^loads .*##$", text, re.M) and text.isascii(), text


def test_narrow(fake):
    """less room has fewer numbers, none of them cut; the first lines stay"""
    fake.promotes()
    fake.told(ksamplingd_lost=5)
    terminal = fake.terminal(columns=160, lines=30)
    assert re.search(r"^loads .*█$", terminal.round(), re.M)
    for columns, pattern, absent in ((100, r"^loads .*█$", r"THROTTLED"),
                                     (66, r" SIZE$", "█"), (61, r"DEMOTED$", "SIZE"),
                                     (40, r"SERVED$", "PROMOTED"), (30, r"HOT$", "SERVED"),
                                     (20, r"NODES$", "HOT"), (10, r"^TIER", "NODES")):
        terminal.resize(columns, 30)
        text = terminal.until(pattern, absent)
        assert all(len(line) <= columns for line in text.splitlines()), text
    terminal.resize(38, 30)
    text = terminal.until(r"^samples +0/s  lost 0/s$")
    assert re.search(r"SERVED$", text, re.M) and re.search(r"q quit$", text, re.M), text
    for lines in 12, 6, 4, 3, 2, 1:
        terminal.resize(100, lines)
        terminal.until(r"ksamplingd-top" if lines < 3 else r"\A(.*\n){%d}h help .* q quit$" %
                       (lines - 1), "exit status")
    terminal.resize(100, 30)
    terminal.until(r"^loads ", "exit status")


def test_keys(fake):
    """delay, help and pause"""
    terminal = fake.terminal()
    terminal.until(r"^quota +2\.9%")
    terminal.press("h")
    text = terminal.until(r"keys", "TIER")
    assert "workload:" in text, text
    terminal.press("q")
    terminal.until("TIER", "any key")
    terminal.press("p")
    terminal.until(r"every 1s \(paused\)")
    fake.state["use_permille"] = 55
    fake.told()
    terminal.press(">")
    terminal.until(r"every 2s")
    for _ in range(2):
        text = terminal.round()
        assert "2.9% of" in text, text
    terminal.press("p", "<")
    terminal.until(r"every 1s", "paused")
    assert re.search(r"^quota +5\.5%", terminal.round(), re.M)
    terminal.press("q")
    terminal.until(r"exit status 0")


def test_notes(fake):
    """what is missing is in the first line until it is there, and the keys in the last one"""
    fake.knob("enabled", 0)
    terminal = fake.terminal()
    text = terminal.until(r"\Aksamplingd is off: echo 1.*\nksamplingd-top (.*\n)*h help .* q quit$")
    assert re.search(r"^4 fast +0 +- ", text, re.M) and "100.0%" not in text, text
    fake.knob("enabled", 1)
    text = terminal.round()
    assert re.search(r"\Aksamplingd-top .*\n\nTIER ", text) and "is off" not in text, text
    assert re.search(r"^loads +100\.0%", text, re.M), text
    fake.remove(lib.KNOBS)
    text = fake.terminal().until(r"\Athis kernel has no ksamplingd")
    assert re.search(r"^22 slow +1 ", text, re.M) and "quota" not in text, text


def test_warning(fake):
    """samples that are lost, and an event that is not counted, stand out"""
    fake.events["stores"]["running_permille"] = 499
    fake.told()
    terminal = fake.terminal()
    text = terminal.until(r"49\.9%", args=["-e"])
    assert re.search(r"\x1b\[33mstores", text) and not re.search(r"\x1b\[33mloads", text), \
        repr(text)
    fake.told(ksamplingd_lost=100)
    for warning in True, False:
        assert ("\x1b[33msamples" in terminal.round(["-e"])) == warning
    text = fake.terminal("--no-color").until(r"\x1b\[1mstores", args=["-e"])
    assert "\x1b[33m" not in text, repr(text)


def test_no_terminal(fake):
    """a terminal that is not known is told in one line"""
    text = fake.terminal(env="TERM=nothing", columns=150).until(r"exit status 1")
    assert "TERM" in text and "--batch" in text, text
