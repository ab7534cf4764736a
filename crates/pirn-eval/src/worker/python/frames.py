# The worker of Python programs, part 1: frames, interrupts, and waiting for answers.
#
# The files of this folder are concatenated and run as one program, `python3 -c SOURCE MODE FD ...`, started in `/`.
# Standard library only. Everything the worker needs is imported here, before the working folder enters `sys.path`,
# so that a `json.py` of the project cannot take the place of ours.

import _signal
import _thread
import ast
import atexit
import base64
import builtins
import collections
import difflib
import fcntl
import functools
import gc
import importlib
import io
import json
import linecache
import math
import os
import re
import select
import signal
import socket
import struct
import sys
import threading
import time
import tokenize
import traceback
import types
import warnings

# The most bytes of one frame, without its newline; both sides keep to it.
FRAME_BYTES_MAX = 2_000_000
# What is read at once; a large frame is read in pieces.
READ_BYTES = 65_536
# Levels of the stack for reading a frame: JSON takes one for each level, and `JSON_DEPTH_MAX` is what we send ourselves.
STACK_RESERVE = 1_500
# How long a thread that reads for others waits before it looks whether the eval is over.
FOLLOW_SECONDS = 0.05
# How long a program that has called stays awake for the answer: being woken takes as long again.
AWAKE_SECONDS = 0.000_05
# Where the frames descriptor is put, out of the way of a program's own files.
FRAMES_DESCRIPTOR_MIN = 200

# That of `signal` makes enumerations of its answers, which takes a fork longer than all the rest of its start.
set_handler = _signal.signal
decode_json = json.JSONDecoder().raw_decode


def make_encoder():
    """`JSONEncoder.encode` makes this anew each time, which takes longer than a small value itself."""
    try:
        encode = json.encoder.c_make_encoder(
            None, None, json.encoder.encode_basestring, None, ":", ",", False, False, False
        )
        assert "".join(encode({"a": [1, "\u00e9"]}, 0)) == '{"a":[1,"\u00e9"]}'
        return lambda value: "".join(encode(value, 0))
    except Exception:
        # A Python without it, or with another one.
        return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), check_circular=False).encode


encode_json = make_encoder()


class Interrupts:
    """Makes of the first SIGINT one KeyboardInterrupt, and only while a program runs."""

    def __init__(self):
        self.armed = False
        # While it is above zero an interrupt is put off: frames must not be torn. Changed by the main thread only.
        self.masked = 0
        self.put_off = False
        # The exception that was raised; `interruptHandled` is told by its identity.
        self.raised = None

    def install(self):
        set_handler(signal.SIGINT, self.handle)

    def arm(self):
        self.put_off = False
        self.raised = None
        self.armed = True

    def disarm(self):
        self.armed = False

    def handle(self, _number, _frame):
        if not self.armed:
            return
        self.armed = False
        if self.masked:
            self.put_off = True
            return
        self.throw()

    def throw(self):
        self.put_off = False
        self.raised = KeyboardInterrupt("interrupted")
        raise self.raised

    def happened(self):
        return self.put_off or self.raised is not None


class Group:
    """Calls that one thread waits for together."""

    __slots__ = ("answers", "left", "failed", "cancelled", "lock")

    def __init__(self, count):
        self.answers = [None] * count
        self.left = 0
        self.failed = False
        self.cancelled = False
        self.lock = _thread.allocate_lock()
        self.lock.acquire()

    def wake(self):
        try:
            self.lock.release()
        except RuntimeError:
            # Awake already.
            pass


class EvalOver(Exception):
    """The eval that a call belongs to has ended."""


class Channel:
    """The socket to the broker: JSON lines both ways, written and read by any thread.

    No thread of our own: one of those that wait for an answer reads for all of them. That makes a call cheap
    (no hand-over between threads), and a worker without threads can be forked safely.
    """

    def __init__(self, connection, interrupts):
        self.connection = connection
        self.interrupts = interrupts
        self.main_thread = _thread.get_ident()
        self.is_forked = False
        self.poller = select.poll()
        self.poller.register(connection.fileno(), select.POLLIN)
        self.buffer = bytearray()
        # Kept: a fresh buffer of this size for each read would cost more than the rest of a call.
        self.space = memoryview(bytearray(READ_BYTES))
        self.scanned = 0
        self.frames = collections.deque()
        self.write_lock = _thread.allocate_lock()
        self.read_lock = _thread.allocate_lock()
        self.reader = None
        self.pending = {}
        # Answers that came after the eval was told to stop and before the interrupt.
        self.held = []
        self.eval_id = None
        self.call_prefix = b""
        self.calls_made = 0

    # Evals.

    def begin(self, eval_id):
        self.call_prefix = b'{"type":"capability_call","evalId":' + encode_json(eval_id).encode() + b',"callId":"'
        self.eval_id = eval_id

    def end(self):
        """No call leaves after this, and nothing stays pending."""
        with self.write_lock:
            self.eval_id = None
        for group, _ in list(self.pending.values()):
            group.cancelled = True
            group.wake()
        self.pending.clear()
        self.held.clear()

    def after_fork(self):
        """In a child that the program forked: it has no part in the protocol."""
        self.is_forked = True
        self.eval_id = None
        self.pending = {}
        self.connection.close()

    # Writing.

    def send(self, payload):
        """Sends one frame; the caller has seen to it that it is short enough."""
        previous = self.mask()
        try:
            with self.write_lock:
                self.write(payload)
        finally:
            self.unmask(previous)

    def write(self, payload):
        if self.is_forked:
            raise EvalOver("this process is a fork of the worker and cannot talk to the host")
        try:
            self.connection.sendall(payload + b"\n")
        except OSError:
            # Without a broker nothing can be reported to anybody.
            os._exit(1)

    def mask(self):
        if _thread.get_ident() != self.main_thread:
            return None
        previous = self.interrupts.masked
        self.interrupts.masked = previous + 1
        return previous

    def unmask(self, previous):
        if previous is None:
            return
        self.interrupts.masked = previous
        if previous == 0 and self.interrupts.put_off:
            self.interrupts.throw()

    # Calls.

    def call_all(self, calls, at_once):
        """Sends pairs of name and input, as JSON, at most `at_once` unanswered, and gives back the answers in their order.

        After a failure no further call is started; those under way are waited for. Calls that were not started
        have None for an answer.
        """
        if self.is_forked:
            raise EvalOver("tools cannot be called in a forked process")
        if self.reader == _thread.get_ident():
            raise RuntimeError("a tool was called while this thread waits for another call")
        flush_output()
        group = Group(len(calls))
        mine = []
        following = iter(enumerate(calls))
        is_reader = False
        previous = self.mask()
        try:
            while True:
                while group.left < at_once and not group.failed:
                    step = next(following, None)
                    if step is None:
                        break
                    self.start(group, mine, *step)
                if not group.left:
                    return group.answers
                if not is_reader:
                    is_reader = self.read_lock.acquire(False)
                if is_reader:
                    self.reader = _thread.get_ident()
                    self.pump(previous)
                else:
                    self.wait_for_lock(group, previous)
                if group.cancelled:
                    raise EvalOver("the eval is over")
        finally:
            for call_id in mine:
                self.pending.pop(call_id, None)
            if is_reader:
                self.reader = None
                self.read_lock.release()
                if self.pending:
                    # Somebody else has to read now.
                    for other, _ in list(self.pending.values()):
                        other.wake()
            self.unmask(previous)

    def start(self, group, mine, index, call):
        name, data = call
        with self.write_lock:
            if self.eval_id is None:
                raise EvalOver("tools can be called only while the eval runs")
            self.calls_made += 1
            call_id = "c" + str(self.calls_made)
            mine.append(call_id)
            self.pending[call_id] = (group, index)
            group.left += 1
            self.write(b'%b%b","name":%b,"input":%b}' % (self.call_prefix, call_id.encode(), name, data))

    def wait_for_lock(self, group, previous):
        if previous is None:
            group.lock.acquire()
            return
        self.interrupts.masked = 0
        try:
            if self.interrupts.put_off:
                self.interrupts.throw()
            group.lock.acquire()
        finally:
            self.interrupts.masked = previous + 1

    # Reading.

    def pump(self, previous):
        """Waits for bytes, and deals with every complete frame among them."""
        if self.held and self.interrupts.happened():
            held, self.held = self.held, []
            for frame in held:
                self.dispatch(frame)
            return
        if previous is None:
            if not self.poller.poll(FOLLOW_SECONDS * 1000):
                return
        else:
            # The only place of a call where an interrupt may break in.
            self.interrupts.masked = 0
            try:
                if self.interrupts.put_off:
                    self.interrupts.throw()
                if not self.stay_awake():
                    self.poller.poll()
            finally:
                self.interrupts.masked = previous + 1
        self.read()

    def stay_awake(self):
        """Looks for bytes for a while without sleeping, and lets others work meanwhile; whether some are there."""
        poll = self.poller.poll
        sleeps_at = time.perf_counter() + AWAKE_SECONDS
        while time.perf_counter() < sleeps_at:
            if poll(0):
                return True
            os.sched_yield()
        return False

    def read(self):
        try:
            count = self.connection.recv_into(self.space)
        except OSError:
            count = 0
        if not count:
            # The broker is gone, and with it everybody who could want a result.
            os._exit(0)
        self.buffer += self.space[:count]
        while True:
            end = self.buffer.find(b"\n", self.scanned)
            if end < 0:
                self.scanned = len(self.buffer)
                if self.scanned > FRAME_BYTES_MAX:
                    fail("a frame of the broker is too long")
                return
            line = self.buffer[:end].decode("utf-8")
            del self.buffer[: end + 1]
            self.scanned = 0
            self.dispatch(decode_frame(line))

    def dispatch(self, frame):
        if frame["type"] != "capability_result":
            self.frames.append(frame)
            return
        if frame.get("isStopping") and not self.interrupts.happened():
            # The interrupt is on its way, by another road. A program that went on before it came would end as if by itself, and
            # then nobody knows which program the interrupt will hit.
            self.held.append(frame)
            return
        entry = self.pending.pop(frame["callId"], None)
        if entry is None:
            # The answer of a call whose waiting was interrupted.
            return
        group, index = entry
        group.answers[index] = frame
        group.left -= 1
        if not frame["ok"]:
            group.failed = True
        group.wake()

    def receive(self):
        """The next frame that is not an answer to a call. For the main loop, while no program runs."""
        with self.read_lock:
            while not self.frames:
                self.poller.poll()
                self.read()
            return self.frames.popleft()


def decode_frame(line):
    """Reads a frame, also where the program has nearly used up the stack."""
    try:
        return with_stack(decode_json, line)[0]
    except RecursionError:
        call = re.search(r'"callId":"(c\d+)"', line[:200])
        if call is None:
            fail("the state is nested too deeply to be read")
        error = {"name": "ResultInvalid", "message": "the result is nested too deeply to be read"}
        return {"type": "capability_result", "callId": call.group(1), "ok": False, "error": error}


def with_stack(function, value):
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + STACK_RESERVE)
    try:
        return function(value)
    finally:
        sys.setrecursionlimit(limit)


def fail(message):
    """Ends the worker because of something that neither the program nor the worker can mend."""
    os.write(2, ("pirn worker: " + message + "\n").encode("utf-8", "replace"))
    os._exit(2)
