"""Reads the console of one guest and says, in lines of a table, whether stallscope said there what it must.

usage: judge.py VERSION < console
"""

import json
import re
import sys

# Fields of tcp_info by the kernel that brought them, of those that the guests' kernels differ in.
NEWER_FIELDS = {"rcv_wnd": (6, 2), "rehash": (6, 2), "total_rto": (6, 7), "total_rto_time": (6, 7)}
# From this kernel on a receiver's delayed-ACK timer shows. Seen in 7.3, read in 7.2's source.
TIMER_SHOWS = (7, 2)
# With half a millisecond between the survey and the end of a hold, one survey in five or so meets none.
SURVEYS_THAT_MAY_MISS = 4

LAB = {
    "nagle": "nagle-delayed-ack", "nodelay": "healthy", "one-write": "healthy", "writev": "healthy", "cork": "healthy",
    "msg-more": "healthy", "quickack-once": "nagle-delayed-ack", "response": "nagle-delayed-ack",
    "cork-forgotten": "cork-hold",
}
# Emulated processors are slow, and a receiver may have to wait for one: anything but a stall is right of these.
NO_STALL = ("quickack-every-read", "tiny-writes", "tiny-writes-nodelay")
STALLS = ("nagle-delayed-ack", "cork-hold")
CHECKS = {"nagle": True, "response": True, "nodelay": False, "one-write": False, "msg-more": False}


class Guest:
    """What one guest printed."""

    def __init__(self, version, console):
        self.version = version
        mark = re.compile(r"=== begin (\S+) (\d+) (\S+)\r?\n(.*?)=== end \1", re.S)
        self.results = {found[1]: (int(found[2]), found[4]) for found in mark.finditer(console)}
        releases = {found[3] for found in mark.finditer(console)}
        self.release = releases.pop() if releases else "did not boot"
        self.number = tuple(int(part) for part in re.findall(r"\d+", self.release)[:2])
        self.wrong = 0

    def say(self, what, got, problem=None):
        """One line of the table."""
        self.wrong += problem is not None
        print(f"{self.release:<36} {what:<26} {got}" + (f"   WRONG: {problem}" if problem else ""))

    def json(self, name):
        """A result's status and document, or None with a line that says why."""
        status, text = self.results.get(name, (None, ""))
        try:
            return status, json.loads(text)
        except ValueError:
            self.say(name, "no JSON", f"status {status}: {text.strip()[-200:]!r}")
            return status, None


def judge_lab(guest):
    _, document = guest.json("lab")
    if document is None:
        return
    rows = {row["mode"]: row for row in document["modes"]}
    for mode, right in list(LAB.items()) + [(mode, None) for mode in NO_STALL]:
        row = rows.get(mode)
        if row is None:
            guest.say(f"lab {mode}", "missing", "the mode has no row")
            continue
        got = f"{row['verdict']} {row['level'] or ''}".strip()
        median = row["p50_ms"]
        if median is not None:
            got += f", median {median:.2f} ms"
        problem = None
        if right is None:
            problem = "a stall" if row["verdict"] in STALLS or row["verdict"] is None else None
        elif row["verdict"] != right:
            problem = f"not {right}"
        elif right in STALLS and row["level"] not in ("proven", "confirmed"):
            problem = "not sure enough"
        elif right == "nagle-delayed-ack" and guest.number >= TIMER_SHOWS and row["level"] != "confirmed":
            problem = "not confirmed, though this kernel shows the timer"
        guest.say(f"lab {mode}", got, problem)


def judge_check(guest, user, mode):
    name = f"check-{user}-{mode}"
    status, document = guest.json(name)
    if document is None:
        return
    findings = document["findings"]
    stalls = [finding for finding in findings if finding["verdict"] in STALLS]
    shown = ", ".join(sorted({f"{finding['verdict']} {finding['level'] or ''}".strip() for finding in findings})) or "nothing"
    least = ("confirmed",) if guest.number >= TIMER_SHOWS else ("proven", "confirmed")
    problem = None
    if CHECKS[mode]:
        if status != 1 or not any(s["verdict"] == "nagle-delayed-ack" and s["level"] in least for s in stalls):
            problem = f"the stall was not {' or '.join(least)}"
    elif status != 0 or stalls:
        problem = "a stall where there is none"
    guest.say(name, shown, problem)
    judge_fields(guest, name, findings)


def judge_fields(guest, name, findings):
    """Absent on kernels that do not have them, present on those that do."""
    ends = [finding[side]["fields"] for finding in findings for side in ("sender", "receiver") if finding[side]["local"]]
    if not ends:
        guest.say(name, "no local end", "nothing to look at")
    for field, since in NEWER_FIELDS.items():
        there = {field in fields for fields in ends}
        if there - {guest.number >= since}:
            guest.say(name, f"{field} {there}", "a field that this kernel does not have, or lacks one that it has")


def judge_surveys(guest):
    """One survey alone: the timer itself where it shows, and never a proof elsewhere."""
    names = ["survey-root-nagle"] + [f"survey-nobody-nagle-{number}" for number in range(1, 6)]
    levels = []
    timers = []
    for name in names:
        _, document = guest.json(name)
        for finding in document["findings"] if document else []:
            if finding["verdict"] == "nagle-delayed-ack":
                levels.append(finding["level"])
                timer = finding["receiver"].get("timer") or {}
                timers += [timer["expires_ms"]] if timer.get("code") == 5 else []
    shown = ", ".join(f"{levels.count(level)} {level}" for level in sorted(set(levels))) or "no stall"
    problem = None
    if guest.number >= TIMER_SHOWS:
        confirmed = levels.count("confirmed")
        if confirmed < len(names) - SURVEYS_THAT_MAY_MISS:
            problem = "not confirmed from a single survey"
        elif len(timers) < confirmed or not all(0 <= left <= 200 for left in timers):
            problem = f"the time left is not shown: {timers}"
        shown += f"; left: {', '.join(f'{left} ms' for left in timers)}"
    elif {"proven", "confirmed"} & set(levels):
        problem = "surer than one survey can be"
    guest.say(f"{len(names)} single surveys", shown, problem)


def main():
    guest = Guest(sys.argv[1], sys.stdin.read())
    if not guest.results:
        print(f"{guest.version:<36} did not boot, or ended early   WRONG")
        return 1
    judge_lab(guest)
    for user in ("root", "nobody"):
        for mode in CHECKS:
            judge_check(guest, user, mode)
    judge_surveys(guest)
    return 1 if guest.wrong else 0


sys.exit(main())
