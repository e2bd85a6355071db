#!/usr/bin/python3
"""An executor for DeviceAgent in Python: turns the robot's head.

It implements org.deviceagent.Executor1 (docs/dbus-executor.md) with one operation, turnHead {"angle": -60..60}, which takes its
time, can be cancelled, paused and gone on with. Replace class Head by your hardware; the rest is what the agent relies on:

- a task id runs once, for ever: it is on disk before the motor turns;
- whoever asks after a restart hears the truth;
- the event comes from the encoder, not from the command.

Needs Python 3.9 and dbus-next (Debian: python3-dbus-next). Run: head_executor.py --state FILE [--bus ADDRESS]
"""

import argparse
import asyncio
import datetime
import json
import os
import signal
import sys

from dbus_next import BusType, DBusError, Variant
from dbus_next.aio import MessageBus
from dbus_next.constants import NameFlag, PropertyAccess, RequestNameReply
from dbus_next.service import ServiceInterface, dbus_property, method
from dbus_next.service import signal as dbus_signal

NAME = "com.example.Head"
PATH = "/com/example/Head"
METHOD = "turnHead"
LEAST, MOST = -60, 60  # degrees
SPEED = 20.0  # degrees a second
TICK = 0.05  # seconds between two looks at the encoder
FEEDBACK = 0.5  # seconds between two signs of life: often enough to be seen, seldom enough to disturb nobody
KEEP = 1000  # ended tasks that are remembered


class Record:
    """What became of each task, on disk. A line of it is written and synced before anything happens that it speaks of."""

    def __init__(self, path):
        self.path = path
        self.tasks = {}
        try:
            with open(path, encoding="utf-8") as f:
                self.tasks = json.load(f)
        except FileNotFoundError:
            pass  # the first start
        except ValueError as why:  # to forget what ran is to run it twice: a person has to look
            raise RuntimeError(f"cannot read {path}: {why}") from why
        for task in self.tasks.values():
            if task["state"] == "running":  # it ended with the process that ran it
                task.update(state="ended", outcome="failed", reason="service_restarted")
        self.save()

    def put(self, task_id, **fields):
        self.tasks[task_id] = {**self.tasks.get(task_id, {}), **fields}
        ended = [i for i, t in self.tasks.items() if t["state"] != "running"]
        for old in ended[: max(0, len(ended) - KEEP)]:
            del self.tasks[old]
        self.save()

    def save(self):
        """Replaces the file as a whole: after a power cut there is the old one or the new one."""
        beside = self.path + ".new"
        with open(beside, "w", encoding="utf-8") as f:
            json.dump(self.tasks, f)
            f.flush()
            os.fsync(f.fileno())
        os.replace(beside, self.path)
        folder = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY)
        try:
            os.fsync(folder)  # the name, too, must be on disk
        finally:
            os.close(folder)


class Head:
    """The hardware: a motor and its encoder. This one is simulated; yours reads a bus of its own."""

    def __init__(self):
        self.angle = 0.0
        self.target = None

    @property
    def turning(self):
        return self.target is not None

    def turn(self, target):
        self.target = float(target)

    def stop(self):
        self.target = None

    def step(self, seconds):
        """Lets time pass. True: the target is reached."""
        if self.target is None:
            return False
        left = self.target - self.angle
        way = SPEED * seconds
        if abs(left) <= way:
            self.angle, self.target = self.target, None
            return True
        self.angle += way if left > 0 else -way
        return False


class Task:
    """The one task that runs."""

    def __init__(self, task_id, angle, start):
        self.id, self.angle, self.start = task_id, angle, start
        self.paused = False
        self.cancelled = False

    def percent(self, now):
        whole = abs(self.angle - self.start)
        return 100.0 if whole == 0 else max(0.0, min(100.0, 100.0 * (1 - abs(self.angle - now) / whole)))


class Executor(ServiceInterface):
    def __init__(self, record):
        super().__init__("org.deviceagent.Executor1")
        self.record = record
        self.head = Head()
        self.head.stop()  # whatever a process before this one has left turning
        self.task = None
        self.seq = 0

    # Calls. Each answers at once: accepted says that the task will run, never that it is done.

    @method()
    def Invoke(self, task_id: "s", method: "s", params: "a{sv}") -> "bs":
        if task_id in self.record.tasks:
            return [False, "task_known"]
        if method != METHOD:
            return [False, "unknown_method"]
        angle = params.get("angle", Variant("s", "")).value
        if isinstance(angle, bool) or not isinstance(angle, (int, float)) or not LEAST <= angle <= MOST or set(params) != {"angle"}:
            return [False, "input_invalid"]
        if self.task is not None:
            return [False, "executor_busy"]
        self.record.put(task_id, state="running")  # on disk before the motor turns
        self.task = Task(task_id, angle, self.head.angle)
        self.head.turn(angle)
        asyncio.get_running_loop().create_task(self.work(self.task))
        return [True, ""]

    @method()
    def Query(self, task_id: "s") -> "sa{sv}":
        task = self.record.tasks.get(task_id)
        if task is None:
            self.record.put(task_id, state="sealed")  # who asks may send the work anew under another id: this one must never run
            task = self.record.tasks[task_id]
        if task["state"] == "sealed":
            return ["unknown", {"sealed": Variant("b", True)}]
        if task["state"] == "running":
            return ["running", {"paused": Variant("b", self.task.paused)}]
        details = {"outcome": Variant("s", task["outcome"]), "reason": Variant("s", task["reason"]), "output": Variant("a{sv}", {})}
        if "event" in task:
            details["event"] = Variant("a{sv}", {"event": Variant("s", "head.turned"), **self.fields(task_id, task["event"])})
        return ["ended", details]

    @method()
    def Cancel(self, task_id: "s", method: "s") -> "bs":
        if task_id not in self.record.tasks:
            self.record.put(task_id, state="sealed")  # the cancel has overtaken its task, which must not begin later
            return [False, "unknown_task"]
        if self.task is not None and self.task.id == task_id:
            self.task.cancelled = True  # work() stops the motor and says so
        return [True, ""]

    @method()
    def Pause(self, task_id: "s") -> "bs":
        if self.task is None or self.task.id != task_id or self.task.cancelled:
            return [False, "not_running"]
        if not self.task.paused:
            self.task.paused = True
            self.head.stop()
            asyncio.get_running_loop().call_soon(self.Held, task_id, True)
        return [True, ""]

    @method()
    def Resume(self, task_id: "s") -> "bs":
        if self.task is None or self.task.id != task_id or not self.task.paused:
            return [False, "not_paused"]
        self.task.paused = False
        self.head.turn(self.task.angle)
        asyncio.get_running_loop().call_soon(self.Held, task_id, False)
        return [True, ""]

    @method()
    def Read(self, keys: "as") -> "a{sv}":
        return {key: value for key, value in self.values().items() if key in keys}

    @dbus_property(access=PropertyAccess.READ)
    def Health(self) -> "s":
        return "ok"

    # Signals.

    @dbus_signal()
    def Feedback(self, task_id, percent, note) -> "sds":
        return [task_id, percent, note]

    @dbus_signal()
    def Held(self, task_id, paused) -> "sb":
        return [task_id, paused]

    @dbus_signal()
    def Result(self, task_id, outcome, reason) -> "sssa{sv}":
        return [task_id, outcome, reason, {}]

    @dbus_signal()
    def Event(self, event, fields) -> "sa{sv}":
        return [event, fields]

    @dbus_signal()
    def Context(self) -> "a{sv}as":
        return [self.values(), []]

    # The work.

    def values(self):
        """The context, as the encoder sees it."""
        return {"head.angle": Variant("d", self.head.angle), "head.is_turning": Variant("b", self.head.turning)}

    def fields(self, task_id, seen):
        """An event's fields. They are what the encoder saw, so their class is independent."""
        return {
            "task_id": Variant("s", task_id),
            "resource": Variant("s", "head"),
            "source": Variant("s", "head_encoder"),
            "source_class": Variant("s", "independent"),
            "occurred_at": Variant("s", seen["at"]),
            "seq": Variant("x", seen["seq"]),
            "data": Variant("a{sv}", {"angle": Variant("d", seen["angle"])}),
        }

    async def work(self, task):
        """Follows one task to its end. It is the only one that ends it, so a task has one Result."""
        self.Context()
        told = 0.0
        while not task.cancelled:
            await asyncio.sleep(TICK)
            if task.paused or task.cancelled:
                continue
            if self.head.step(TICK):
                return self.end(task, "done", "")
            told += TICK
            if told >= FEEDBACK:
                told = 0.0
                self.Feedback(task.id, task.percent(self.head.angle), "")
                self.Context()
        self.head.stop()
        self.end(task, "cancelled", "")

    def end(self, task, outcome, reason):
        """Says what the encoder saw, then how the task ended; on disk first, so that a Query never knows less than the signal said."""
        fields = {"state": "ended", "outcome": outcome, "reason": reason}
        if outcome == "done":
            self.seq += 1
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
            fields["event"] = {"angle": self.head.angle, "seq": self.seq, "at": now}
        self.record.put(task.id, **fields)
        self.task = None
        self.Context()
        if outcome == "done":
            self.Event("head.turned", self.fields(task.id, fields["event"]))
        self.Result(task.id, outcome, reason)


async def serve(options):
    if options.bus:
        bus = MessageBus(bus_address=options.bus)
    else:
        bus = MessageBus(bus_type=BusType.SYSTEM)
    await bus.connect()
    bus.export(PATH, Executor(Record(options.state)))
    # The name comes last: whoever sees it finds all there. Nobody queues for it; two services of one name would both turn the head.
    if await bus.request_name(NAME, NameFlag.DO_NOT_QUEUE) != RequestNameReply.PRIMARY_OWNER:
        raise RuntimeError(f"cannot take the name {NAME}: another program has it")
    gone = asyncio.ensure_future(bus.wait_for_disconnect())
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await asyncio.wait([gone, asyncio.ensure_future(stop.wait())], return_when=asyncio.FIRST_COMPLETED)
    return 0 if stop.is_set() else 1  # without the bus: end, and let systemd start it again


def main():
    parser = argparse.ArgumentParser(description="Turns the robot's head for DeviceAgent.")
    parser.add_argument("--bus", default="", help="address of the bus; default: the system bus")
    parser.add_argument("--state", default="/var/lib/head-executor/tasks.json", help="what became of each task")
    try:
        return asyncio.run(serve(parser.parse_args()))
    except (OSError, RuntimeError, DBusError) as why:
        print(f"head_executor: {why}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
