"""Drives the worker programs as the broker does: over a socket for frames and two pipes for output."""

import array
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "..", "src", "worker")
PYTHON_PARTS = ["frames", "tools", "values", "images", "program", "modes"]
JAVASCRIPT_PARTS = ["values", "realm", "main"]
# Far more than any case takes, so that a worker that hangs fails its case.
WAIT_SECONDS = 30

CATALOG = [
    {
        "name": "echo",
        "description": "Gives its input back.",
        "effect": "read",
        "parameters": {"type": "object", "properties": {"x": {}, "y": {}}},
    },
    {"name": "read_text", "description": "Reads a file.", "effect": "read", "parameters": {"type": "object"}},
    {"name": "fails", "description": "Always fails.", "effect": "process", "parameters": {"type": "object"}},
    {"name": "never", "description": "Never answers.", "effect": "process", "parameters": {"type": "object"}},
]


def read_source(folder, parts, ending):
    text = ""
    for part in parts:
        with open(os.path.join(SOURCES, folder, part + ending), encoding="utf-8") as file:
            text += file.read()
    return text


PYTHON = read_source("python", PYTHON_PARTS, ".py")
JAVASCRIPT = read_source("javascript", JAVASCRIPT_PARTS, ".cjs")


class Reader(threading.Thread):
    """Reads a pipe to its end, and knows what it has read so far."""

    def __init__(self, descriptor):
        super().__init__(daemon=True)
        self.descriptor = descriptor
        self.data = b""
        self.changed = threading.Condition()
        self.start()

    def run(self):
        while True:
            chunk = os.read(self.descriptor, 65_536)
            with self.changed:
                if not chunk:
                    os.close(self.descriptor)
                    return
                self.data += chunk
                self.changed.notify_all()

    def wait_for(self, text):
        with self.changed:
            if not self.changed.wait_for(lambda: text in self.data, WAIT_SECONDS):
                raise AssertionError("%r did not come; there is %r" % (text, self.data))

    def text(self):
        self.join(WAIT_SECONDS)
        return self.data.decode("utf-8", "replace")


class Connection:
    """The broker's end of the frames."""

    def __init__(self, connection):
        self.connection = connection
        self.connection.settimeout(WAIT_SECONDS)
        self.buffer = b""

    def send(self, frame):
        self.connection.sendall(json.dumps(frame, ensure_ascii=False).encode() + b"\n")

    def send_text(self, text):
        self.connection.sendall(text.encode() + b"\n")

    def receive(self):
        """The next frame, or None at the end."""
        while b"\n" not in self.buffer:
            try:
                chunk = self.connection.recv(1 << 20)
            except ConnectionResetError:
                return None
            if not chunk:
                if self.buffer:
                    raise AssertionError("a torn frame: %r" % self.buffer[:200])
                return None
            self.buffer += chunk
        line, _, self.buffer = self.buffer.partition(b"\n")
        if len(line) > 2_000_000:
            raise AssertionError("a frame of %d bytes" % len(line))
        return json.loads(line.decode("utf-8"))

    def close(self):
        self.connection.close()


class Outcome:
    """What one eval did."""

    def __init__(self):
        self.calls = []
        self.displays = []
        self.result = None
        self.is_complete = False
        self.stdout = ""
        self.stderr = ""
        self.status = None


def answer(call):
    """As the capabilities of the catalog do."""
    frame = {"type": "capability_result", "callId": call["callId"]}
    if call["name"] in ("echo", "read_text"):
        return dict(frame, ok=True, value=call["input"])
    if call["name"] == "never":
        return None
    if call["name"] == "fails":
        return dict(frame, ok=False, error={"name": "CapabilityFailed", "message": "it failed: " + str(call["input"])})
    names = ", ".join(entry["name"] for entry in CATALOG)
    return dict(frame, ok=False, error={"name": "CapabilityUnknown", "message": "There is no such tool: " + names[:4]})


def eval_text(code, state="{}", cwd=None, engine="fresh", limit=51_200, eval_id="e1"):
    frame = {"type": "eval", "id": eval_id, "code": code, "cwd": cwd or tempfile.gettempdir(), "engine": engine}
    frame["capabilities"] = CATALOG
    frame["outputLimitBytes"] = limit
    text = json.dumps(frame)
    if engine == "fresh":
        text = text[:-1] + ',"state":' + (state if isinstance(state, str) else json.dumps(state)) + "}"
    return text


def follow(connection, outcome, eval_id="e1", answers=answer, on_frame=None):
    """Answers one eval to its end."""
    while True:
        frame = connection.receive()
        if frame is None:
            return outcome
        if on_frame is not None:
            on_frame(frame)
        if frame["type"] == "capability_call":
            assert frame["evalId"] == eval_id and outcome.result is None, frame
            outcome.calls.append(frame)
            reply = answers(frame)
            if reply is not None:
                connection.send(reply)
        elif frame["type"] == "display":
            assert frame["evalId"] == eval_id and outcome.result is None, frame
            outcome.displays.append(frame)
        elif frame["type"] == "eval_result":
            assert outcome.result is None and frame["id"] == eval_id, frame
            outcome.result = frame
            connection.send({"type": "finalize", "id": eval_id, "token": "token-" + eval_id})
        elif frame["type"] == "eval_complete":
            assert frame == {"type": "eval_complete", "id": eval_id, "token": "token-" + eval_id}, frame
            outcome.is_complete = True
            return outcome
        else:
            raise AssertionError("unexpected frame %r" % frame)


class Process:
    """A worker that is a process of its own."""

    def __init__(self, language, mode="once", interpreter=None, environment=None):
        ours, theirs = socket.socketpair()
        if language == "python":
            command = [interpreter or "python3", "-c", PYTHON, mode, str(theirs.fileno())]
        else:
            command = [interpreter or "node", "-e", JAVASCRIPT, "--", mode, str(theirs.fileno())]
        self.process = subprocess.Popen(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env=dict(os.environ, **(environment or {})),
        )
        theirs.close()
        self.stdout = Reader(os.dup(self.process.stdout.fileno()))
        self.stderr = Reader(os.dup(self.process.stderr.fileno()))
        self.process.stdout.close()
        self.process.stderr.close()
        self.connection = Connection(ours)
        ready = self.connection.receive()
        if ready is None:
            raise AssertionError("the worker did not start: " + self.stderr.text())
        assert ready["type"] == "ready" and ready["runtime"] == language and ready["version"], ready
        self.evals = 0

    def start(self, code, **options):
        self.evals += 1
        eval_id = "e" + str(self.evals)
        self.connection.send_text(eval_text(code, eval_id=eval_id, **options))
        return eval_id

    def run(self, code, answers=answer, on_frame=None, **options):
        eval_id = self.start(code, **options)
        return follow(self.connection, Outcome(), eval_id, answers, on_frame)

    def signal(self, number):
        os.kill(self.process.pid, number)

    def end(self, outcome=None):
        """Waits for its end, and adds what it printed to the outcome."""
        self.connection.close()
        try:
            status = self.process.wait(WAIT_SECONDS)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            try:
                # What its programs have started would keep the pipes open.
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if outcome is not None:
            outcome.status = status
            outcome.stdout = self.stdout.text()
            outcome.stderr = self.stderr.text()
        return outcome


def run_once(language, code, interpreter=None, answers=answer, environment=None, **options):
    worker = Process(language, interpreter=interpreter, environment=environment)
    try:
        outcome = worker.run(code, answers, **options)
    except BaseException:
        worker.process.kill()
        raise
    finally:
        outcome_or_none = locals().get("outcome")
        worker.end(outcome_or_none)
    return outcome


# The first process of a namespace: it starts the zygote and reaps what loses its parent.
FIRST_PROCESS = """
import os, sys
child = os.fork()
if child == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while True:
    ended, status = os.wait()
    if ended == child:
        os._exit(min(255, os.waitstatus_to_exitcode(status) & 0xFF))
"""


class Zygote:
    """A zygote in a process namespace of its own."""

    def __init__(self, namespace=None, interpreter=None):
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(WAIT_SECONDS)
        host = os.readlink("/proc/self/ns/pid") if namespace is None else namespace
        inner = [interpreter or "python3", "-c", PYTHON, "zygote", str(theirs.fileno()), host]
        privileges = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
        command = ["unshare", *privileges, "--pid", "--fork", "--kill-child", "--mount", "--mount-proc"]
        self.process = subprocess.Popen(
            [*command, sys.executable, "-c", FIRST_PROCESS, *inner],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()
        self.stderr = Reader(os.dup(self.process.stderr.fileno()))
        self.process.stderr.close()
        self.evals = 0

    def fork(self):
        """Has it fork a worker; gives its connection, its outputs and its id."""
        self.evals += 1
        eval_id = "e" + str(self.evals)
        ours, theirs = socket.socketpair()
        stdout_read, stdout_write = os.pipe()
        stderr_read, stderr_write = os.pipe()
        rights = array.array("i", [theirs.fileno(), stdout_write, stderr_write])
        message = json.dumps({"type": "fork", "id": eval_id}).encode()
        self.control.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        theirs.close()
        os.close(stdout_write)
        os.close(stderr_write)
        return Connection(ours), Reader(stdout_read), Reader(stderr_read), eval_id

    def message(self):
        data = self.control.recv(65_536)
        return json.loads(data) if data else None

    def signal(self, eval_id, name):
        self.control.send(json.dumps({"type": "signal", "id": eval_id, "signal": name}).encode())

    def run(self, code, **options):
        connection, stdout, stderr, eval_id = self.fork()
        forked = self.message()
        assert forked["type"] == "forked" and forked["id"] == eval_id and forked["pid"] > 1, forked
        ready = connection.receive()
        assert ready["type"] == "ready", ready
        connection.send_text(eval_text(code, eval_id=eval_id, **options))
        outcome = follow(connection, Outcome(), eval_id)
        ended = self.message()
        assert ended["type"] == "ended" and ended["id"] == eval_id, ended
        outcome.status = ended["status"]
        outcome.stdout, outcome.stderr = stdout.text(), stderr.text()
        connection.close()
        return outcome

    def end(self):
        self.control.close()
        try:
            return self.process.wait(WAIT_SECONDS)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()


def wait_until(condition, what, pause_seconds=0.005):
    """For what nobody reports."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(what + " did not happen")
        select.select([], [], [], pause_seconds)


__all__ = [name for name in dir() if not name.startswith("_")] + ["signal"]
