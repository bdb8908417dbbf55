# SPDX-License-Identifier: GPL-2.0
"""What ksamplingd-top says in JSON and text."""

import re

import lib


def tiers(found):
    return {tier["tier"]: tier for tier in found["tiers"]}


def test_tiers(fake):
    """a tier has the memory of its nodes; the fastest comes first"""
    fake.tier(961, "2-3,5")
    for node in 2, 3, 5:
        fake.node(node, total_kb=100, free_kb=10)
    found = fake.json()
    assert [tier["tier"] for tier in found["tiers"]] == [4, 22, 961], found
    assert tiers(found)[961]["total_bytes"] == 300 << 10, found
    assert tiers(found)[961]["free_bytes"] == 30 << 10, found
    assert tiers(found)[961]["nodes"] == "2-3,5", found


def test_fast(fake):
    """tiers down to the slowest one with CPUs are fast"""
    assert [tier["fast"] for tier in fake.json()["tiers"]] == [True, False]
    fake.write(f"{lib.NODES}/has_cpu", "1\n")
    assert [tier["fast"] for tier in fake.json()["tiers"]] == [True, True]
    fake.remove(f"{lib.NODES}/has_cpu")
    assert [tier["fast"] for tier in fake.json()["tiers"]] == [True, False]


def test_no_tiers(fake):
    """a kernel without tiers has all nodes in one"""
    fake.remove(lib.TIERS)
    tier, = fake.json()["tiers"]
    assert tier["tier"] is None and tier["nodes"] == "0-1", tier
    assert tier["total_bytes"] == 2 << 30, tier


def test_tiers_change(fake):
    """tiers and nodes that come and go are seen"""
    rounds = fake.follow()
    rounds.until(lambda each: len(each["tiers"]) == 2)
    fake.node(2)
    fake.tier(10, "2")
    found = rounds.until(lambda each: len(each["tiers"]) == 3 and each["tiers"][1]["nodes"])
    assert [tier["tier"] for tier in found["tiers"]] == [4, 10, 22], found
    fake.remove(f"{lib.TIERS}/memory_tier22")
    rounds.until(lambda each: len(each["tiers"]) == 2)
    fake.tier(10, "")
    found = rounds.until(lambda each: len(each["tiers"]) == 1)
    assert found["tiers"][0]["tier"] == 4, found


def test_hot(fake):
    """hot is what has the heat that it takes, by tier, in bytes"""
    bins = [1000, 100, 40, 20, 10] + [0] * 10 + [1]
    fake.histogram(1024, {0: bins, 1: [0] * 16})
    found = tiers(fake.json())
    assert found[4]["hot_bytes"] == found[4]["hot_most_bytes"] == 71 * lib.PAGE, found
    assert found[22]["hot_bytes"] == 0, found


def test_hot_within_bin(fake):
    """within a bin, pages go with 1 / heat"""
    fake.histogram(1536, {0: [0, 0, 30, 20] + [0] * 12, 1: [0] * 16})
    hot = tiers(fake.json())[4]["hot_bytes"]
    assert abs(hot - 30 * lib.PAGE) <= 1, hot      # 20, and 2 * 1024 / 1536 - 1 of 30


def test_hot_samples(fake):
    """hot_samples keeps base pages from being hot; huge pages may be hot all the same"""
    fake.histogram(1, {0: [1000, 100, 40] + [0] * 13, 1: [0] * 16})
    found = tiers(fake.json())[4]
    assert found["hot_bytes"] == 40 * lib.PAGE, found
    assert found["hot_most_bytes"] == 1140 * lib.PAGE, found
    fake.histogram(512, {0: [1000, 100, 40] + [0] * 13, 1: [0] * 16})
    found = tiers(fake.json())[4]
    assert found["hot_most_bytes"] == 140 * lib.PAGE, found
    fake.knob("hot_samples", 1)
    assert tiers(fake.json())[4]["hot_bytes"] == 140 * lib.PAGE


def test_hot_range(fake):
    """where the histogram does not tell which pages are hot, it is said from where to where"""
    fake.histogram(1, {0: [3 << 8, 0, 1 << 8] + [0] * 13, 1: [1 << 9] + [0] * 15})
    _, output, _ = fake.run("-1")
    if lib.PAGE == 4096:
        for pattern in r"^4 fast +0 +1\.0M-4\.0M ", r"^22 slow +1 +0-2\.0M ", \
                r"^hot set +1\.0M-6\.0M of 4\.0M ":
            assert re.search(pattern, output, re.M), output


def test_thread(fake):
    """permilles of the kernel are percent"""
    found = fake.json()
    for key, wanted in (("quota_pct", 3.0), ("use_pct", 2.9), ("use_last_window_pct", 3.1),
                        ("workload_pct", 12.3), ("load_share_pct", 80.1), ("sleep_us", 2000),
                        ("heat_bytes", 8192), ("hot_target_bytes", 4 << 20), ("hot_from", 1)):
        assert found[key] == wanted, (key, found[key])
    assert found["source"] == "pebs" and found["enabled"] is True and found["note"] is None


def test_rates(fake):
    """counters grow by so much in a second; one that is smaller than before has begun anew"""
    rounds = fake.follow("-d", "500ms")

    def rates():
        found, = rounds.round()
        return found["samples_per_s"], found["lost_per_s"], found["discarded_per_s"]

    assert rates() == (0, 0, 0)
    fake.told(ksamplingd_samples=1000, ksamplingd_lost=100, ksamplingd_discarded=10)
    assert rates() == (2000, 200, 20)
    fake.told(ksamplingd_samples=500)
    assert rates() == (None, 0, 0)
    assert rates() == (0, 0, 0)


def test_moves(fake):
    """what is promoted to a tier and demoted from it, in bytes"""
    rounds = fake.follow()
    found, = rounds.round()
    assert found["promoted_bytes_per_s"] == 0, found
    fake.node(0, pgpromote_success=500, pgdemote_kswapd=100, pgdemote_direct=50)
    found, = rounds.round()
    fast, slow = tiers(found)[4], tiers(found)[22]
    assert fast["promoted_bytes_per_s"] == 500 * lib.PAGE, found
    assert fast["demoted_bytes_per_s"] == {"kswapd": 100 * lib.PAGE, "direct": 50 * lib.PAGE,
                                           "khugepaged": 0}, found
    assert slow["promoted_bytes_per_s"] == 0 == slow["demoted_bytes_per_s"]["kswapd"], found
    fake.told(pgpromote_success=500, pgdemote_khugepaged=400)
    found, = rounds.round()
    assert found["promoted_bytes_per_s"] == 500 * lib.PAGE, found
    assert found["demoted_bytes_per_s"]["khugepaged"] == 400 * lib.PAGE, found


def test_served(fake):
    """the share of the accesses that a tier serves is that of the samples"""
    rounds = fake.follow()
    rounds.until(lambda each: each["samples_per_s"] == 0 and each["fast_pct"] is None)
    fake.told(ksamplingd_samples_fast=750, ksamplingd_samples_slow=250)
    found = rounds.until(lambda each: each["fast_pct"] is not None)
    assert found["fast_pct"] == 75, found
    assert tiers(found)[4]["served_pct"] == 75 and tiers(found)[22]["served_pct"] == 25, found
    fake.node(2)
    fake.tier(99, "2")
    rounds.until(lambda each: len(each["tiers"]) == 3)
    fake.told(ksamplingd_samples_fast=760, ksamplingd_samples_slow=340)
    found = rounds.until(lambda each: each["fast_pct"] is not None)
    assert found["fast_pct"] == 10 == tiers(found)[4]["served_pct"], found
    assert tiers(found)[22]["served_pct"] is None is tiers(found)[99]["served_pct"], found


def test_promotion(fake):
    """what ksamplingd promotes, and why not"""
    fake.promotes()
    rounds = fake.follow()
    found = rounds.until(lambda each: each["promotion"]["bytes_per_s"] == 0)["promotion"]
    assert found["on"] is True and found["most_bytes_per_s"] == 128 << 20, found
    assert found["most_now_bytes_per_s"] == 64 << 20 and found["past_bytes"] == 2048, found
    assert found["queued_bytes"] == 512 * lib.PAGE and found["returned_pct"] == 0.3, found
    fake.told(ksamplingd_told=2000, ksamplingd_promoted=1000, ksamplingd_dropped=100,
              ksamplingd_failed_pinned=10, ksamplingd_returned=1)
    found = rounds.round()[0]["promotion"]
    for key, pages in (("told", 2000), ("", 1000), ("dropped", 100), ("returned", 1)):
        assert found[f"{key}_bytes_per_s".lstrip("_")] == pages * lib.PAGE, found
    assert found["failed_bytes_per_s"]["pinned"] == 10 * lib.PAGE, found
    assert found["failed_bytes_per_s"]["full"] == 0, found
    fake.knob("promote", 0)
    rounds.until(lambda each: each["promotion"]["on"] is False)
    _, output, _ = fake.run("-1")
    assert re.search(r"^promotion .* ksamplingd off 0/s of 64M/s", output, re.M), output


def test_failures(fake):
    """each reason has the counter of its name"""
    fake.promotes()
    rounds = fake.follow()
    nothing = dict.fromkeys(lib.FAILURES, 0)
    for why in lib.FAILURES:
        assert rounds.round()[0]["promotion"]["failed_bytes_per_s"] == nothing
        fake.told(**{f"ksamplingd_failed_{why}": 5})
        failed = rounds.round()[0]["promotion"]["failed_bytes_per_s"]
        assert failed == nothing | {why: 5 * lib.PAGE}, failed


def test_alone(fake):
    """without NUMA balancing, all that is promoted is what ksamplingd promotes"""
    fake.promotes()
    fake.without("pgpromote_success")
    rounds = fake.follow()
    assert rounds.round()[0]["promoted_bytes_per_s"] == 0
    fake.told(ksamplingd_promoted=1000)
    found, = rounds.round()
    assert found["promoted_bytes_per_s"] == 1000 * lib.PAGE, found
    assert found["promoted_bytes_per_s"] == found["promotion"]["bytes_per_s"], found
    fast, slow = tiers(found)[4], tiers(found)[22]
    assert fast["promoted_bytes_per_s"] == found["promoted_bytes_per_s"], found
    assert slow["promoted_bytes_per_s"] == 0, found
    fake.node(2)
    fake.write(f"{lib.NODES}/has_cpu", "0,2\n")
    fake.tier(10, "2")
    fake.without("pgpromote_success")
    found = rounds.until(lambda each: len(each["tiers"]) == 3 and tiers(each)[10]["fast"])
    assert tiers(found)[4]["promoted_bytes_per_s"] is None, found


def test_totals(fake):
    """totals are those of /proc/vmstat, by the same names"""
    fake.promotes()
    fake.told(**{name: 1000 + number for number, name in enumerate(fake.vm)})
    wanted = {name: value for name, value in fake.vm.items() if name != "nr_free_pages"}
    assert fake.json()["totals"] == wanted
    fake.without("ksamplingd_told")
    assert fake.json()["totals"] == wanted | {"ksamplingd_told": None}


def test_no_promotion(fake):
    """a kernel that does not promote has nothing there, and all else"""
    found = fake.json()["promotion"]
    failed = found.pop("failed_bytes_per_s")
    assert found and not any(value is not None for value in found.values()), found
    assert set(failed) == set(lib.FAILURES) and set(failed.values()) == {None}, failed
    _, output, _ = fake.run("-1")
    assert re.search(r"^promotion +0/s in all$", output, re.M), output
    assert "not moved" not in output, output


def test_events(fake):
    """each event has its period, its share of the time, and what becomes of its samples"""
    fake.events["loads"] |= {"running_permille": 497, "no_page": 7, "samples": 1000}
    fake.told()
    rounds = fake.follow()
    found = rounds.until(lambda each: each["events"][0]["samples_per_s"] == 0)["events"]
    assert [event["event"] for event in found] == ["loads", "stores"], found
    assert found[0]["running_pct"] == 49.7 and found[0]["period"] == 1999, found
    assert found[1]["running_pct"] == 100, found
    assert found[0]["totals"]["no_page"] == 7 and found[0]["totals"]["kernel"] == 0, found
    fake.events["loads"] |= {"samples": 3000, "lost": 200}
    fake.told()
    found = rounds.round()[0]["events"]
    assert (found[0]["samples_per_s"], found[0]["lost_per_s"]) == (2000, 200), found
    fake.events = {"ibs_op": {"period": 4096, "samples": 10 ** 9}}
    fake.told()
    found = rounds.until(lambda each: each["events"][0]["event"] == "ibs_op")["events"]
    assert len(found) == 1 and found[0]["samples_per_s"] is None, found


def test_notes(fake):
    """what is missing is told in one line, with what to do, and tiers are shown all the same"""
    def note(*words):
        found = fake.json()
        assert len(found["tiers"]) == 2 and found["tiers"][0]["total_bytes"], found
        for form in "-1", "-1j":
            status, output, errors = fake.run(form)
            assert status == 0 and output, errors
            assert errors == f"ksamplingd-top: {found['note']}\n", errors
        for word in words:
            assert word in found["note"], found
        return found

    fake.state["source"] = "none"
    fake.told()
    note("no PMU", "dmesg", "/proc/sys/vm/ksamplingd/source")
    fake.state |= {"source": "pebs", "enabled": 0}
    fake.told()
    fake.knob("enabled", 0)
    found = note("is off", "echo 1 >/proc/sys/vm/ksamplingd/enabled")
    assert found["use_pct"] is None and found["tiers"][0]["hot_bytes"] is None, \
        "what was when it was on is no news"
    assert found["enabled"] is False and found["source"] is None, found
    fake.promotes()
    fake.remove("sys/kernel/debug/ksamplingd")
    found = note("mount -t debugfs")
    assert found["quota_pct"] == 3, found
    assert found["promotion"]["on"] is True and found["promotion"]["queued_bytes"] is None, found
    fake.remove(lib.KNOBS)
    found = note("CONFIG_KSAMPLINGD")
    assert found["enabled"] is None, found


def test_shortage(fake):
    """what there is not enough of for 10 s is told with what to do: tiers, CPU time, counters"""
    rounds = fake.follow("-d", "4s")

    def after(number, lost=0, running=1000, **state):
        fake.state |= state
        fake.events["stores"]["running_permille"] = running
        for _ in range(number):
            fake.told(ksamplingd_lost=fake.vm["ksamplingd_lost"] + lost)
            note = rounds.round()[0]["note"]
        return note

    # Samples may be lost before the quota is used, and a quota that is met is as it should be.
    for fine in {"lost": 9}, {"use_permille": 35}, {"use_permille": 29, "sleep_us": 100000}:
        assert after(4, **fine) is None, fine
    for up in ({"use_permille": 30}, {"use_permille": 30, "sleep_us": 2000, "lost": 1},
               {"use_permille": 36}):
        assert after(2, **up) is None, "not for 10 s yet"
        assert "quota_permille" in after(1, **up), up
        assert after(1, use_permille=29) is None, up
    fake.knob("quota_permille", 80)
    assert after(4, use_permille=90) is None and "quota" in after(3, use_permille=91)
    fake.knob("quota_permille", "0 ")
    assert after(4) is None, "no quota is not used up"
    assert after(4, running=500) is None and after(2, running=499) is None
    assert "end perf" in after(1, running=499)
    fake.remove(f"{lib.TIERS}/memory_tier22")
    assert "no slow tier" in after(1) and "no slow tier" in after(2, running=0)
    assert "end perf" in after(1, running=0)


def test_no_permission(fake):
    """who is not root is told so, and sees what everybody may"""
    fake.top.chmod(0o755)
    user = lib.another_user(lib.PROGRAMS / "ksamplingd-top")
    fake.promotes()
    (fake.top / "sys/kernel/debug").chmod(0o700)
    found = fake.json(**user)
    assert "as root" in found["note"], found
    assert found["quota_pct"] == 3 and found["samples_per_s"] == 0, found
    assert found["use_pct"] is None and found["tiers"][0]["total_bytes"], found
    told = found["promotion"]
    assert told["on"] is True and told["most_bytes_per_s"] == 128 << 20, told
    assert told["bytes_per_s"] == 0 == found["totals"]["ksamplingd_promoted"], found
    assert told["queued_bytes"] is None is told["most_now_bytes_per_s"], told
    _, output, _ = fake.run("-1", **user)
    assert re.search(r"^promotion .* ksamplingd 0/s of 128M/s  queued -  returned -$", output,
                     re.M), output


def test_told_once(fake):
    """what is missing is told again when it is something else"""
    fake.knob("enabled", 0)
    rounds = fake.follow()
    rounds.until(lambda each: each["note"])
    for value in 1, 0, 1:
        fake.knob("enabled", value)
        for _ in range(3):
            rounds.until(lambda each: bool(each["note"]) == (not value))
    rounds.process.kill()
    said = rounds.errors()
    assert said.count("is off") == said.count("\n") == 2, said


def test_nothing(fake):
    """a directory that has nothing of a kernel is told in one line"""
    fake.remove("proc")
    fake.remove("sys")
    status, output, errors = fake.run("-1")
    assert status == 1 and output == "" and errors.count("\n") == 1, output + errors
    assert str(fake.top) in errors, errors


def test_odd_files(fake):
    """files that are cut off, or have something else in them, do no harm"""
    fake.promotes()
    for path in (lib.STATUS, lib.HISTOGRAM, lib.PROMOTION, "proc/vmstat", f"{lib.NODES}/node0/meminfo",
                 f"{lib.NODES}/node0/vmstat", f"{lib.NODES}/has_cpu",
                 f"{lib.TIERS}/memory_tier4/nodelist"):
        whole = (fake.top / path).read_text()
        for text in ("", "\n", "x", "9" * 100, "-1 -1", "node 5 pages", "event", "hot_from",
                     "\nnode 0 pages 1 2", "hot_from 0\nnode 0 pages" + " 5" * 16 + "\n",
                     "0-99999999", "5-", whole[:len(whole) // 2], "\nevent a\n" * 20,
                     "event " + "n" * 100 + " period 1\n", "\nnode 99999999 pages 1\n"):
            (fake.top / path).write_text(text)
            status, output, errors = fake.run("-1")
            assert status == 0 and output, (path, text, status, errors)
            fake.json()
        (fake.top / path).write_text(whole)


def test_text(fake):
    """text has the same numbers"""
    fake.promotes()
    fake.histogram(1024, {0: [0, 0, 256 << 10] + [0] * 13, 1: [0, 0, 1 << 10] + [0] * 13})
    status, output, errors = fake.run("-b", "-n", "2")
    assert status == 0 and errors == "", errors
    assert output.count("TIER") == 2 and output.count("by pebs") == 2, output
    for pattern in (r"^4 fast +0 +1\.0G +- +0 +0 +1\.0G +256M$", r"^22 slow +1 +4\.0M ",
                    r"^quota +2\.9% of 3\.0% of a CPU  last window 3\.1%$",
                    r"^workload +12\.3% of a CPU", r"^samples +0/s  lost 0/s  discarded 0/s$",
                    r"^accesses +fast -  slow -  loads 80\.1%$",
                    r"^hot set +1\.0G of 4\.0M  from heat 1\.0k  kept in 8\.0K$",
                    r"^promotion +0/s in all  ksamplingd 0/s of 64M/s  queued 2\.0M  "
                    r"returned 0\.3%$",
                    r"^not moved +of 0/s told  dropped 0/s  failed 0/s$", r"^demotion +0/s$",
                    r"^loads +100\.0% +1999 +0 +0 +0 +0$", r"^stores +100\.0% +20011 "):
        assert re.search(pattern, output, re.M) or \
            lib.PAGE != 4096, (pattern, output)


def keys_of(value):
    if isinstance(value, dict):
        return set(value).union(*map(keys_of, value.values()))
    return set().union(*map(keys_of, value)) if isinstance(value, list) else set()


def test_manual(fake):
    """every key of the JSON is in the manual"""
    fake.promotes()
    text = (lib.HERE.parent / "ksamplingd-top.8").read_text().replace("\\-", "-")
    found = fake.json()
    for name in found.pop("totals"):
        assert re.search(rf"\b({name}|{name.split('_')[0]}_)(?!\w)", text), name
    keys = keys_of(found) | {"totals"}
    missing = {key for key in keys if not re.search(rf"\b{key}\b", text)}
    assert len(keys) > 50 and not missing, missing


def test_wrong_usage(fake):
    """wrong usage is told in one line, exit status 2"""
    for args in (["-d", "1"], ["-d", "1ms"], ["-d", "xs"], ["-n", "0"], ["-n", "-1"], ["word"],
                 ["-n", "9x"], ["--nothing"], ["--root"]):
        status, output, errors = fake.run(*args)
        assert status == 2 and output == "" and errors.count("\n") == 1, (args, errors)
    status, output, errors = fake.run()
    assert status == 1 and output == "" and "--batch" in errors, errors
