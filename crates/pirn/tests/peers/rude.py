"""A server on standard input and output, with bad habits around its end.

    rude.py NAME HABIT FOLDER

It says that it was started by making the file `NAME.started` in FOLDER.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

NAME, HABIT, FOLDER = sys.argv[1:]
SLEEPER = ["sleep", "600"]
# More than a pipe holds, so that a client that does not read is noticed at once.
FLOOD = b"x" * 1023 + b"\n"
FLOOD_LINES = 128


def main():
    open(os.path.join(FOLDER, NAME + ".started"), "w").close()
    if HABIT == "ignores-the-end":
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    elif HABIT == "has-a-child":
        # With the same pipes.
        subprocess.Popen(SLEEPER)
    elif HABIT == "floods":
        threading.Thread(target=flood, daemon=True).start()
    elif HABIT == "starts-a-daemon":
        start_daemon()
    serve()
    if HABIT == "ignores-the-end":
        sleep()


def flood():
    while True:
        for _ in range(FLOOD_LINES):
            os.write(2, FLOOD)
        time.sleep(0.05)


def start_daemon():
    """As daemons do it: in a session of its own, with nothing of ours open, and no child of ours."""
    if os.fork() > 0:
        os.wait()
        return
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    os.chdir("/")
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.execvp(SLEEPER[0], SLEEPER)


def serve():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize":
            server = {"name": NAME, "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server}
        elif method == "tools/list":
            result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
        elif method == "tools/call":
            text = TOOLS[params["name"]](params.get("arguments", {}))
            result = {"content": [{"type": "text", "text": text}]}
        else:
            error = {"code": -32601, "message": "Method not found"}
            send({"id": message["id"], "error": error})
            continue
        send({"id": message["id"], "result": result})


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def hello(arguments):
    return "hello from " + NAME


def until(arguments):
    """Answers when the file is there."""
    while not os.path.exists(arguments["path"]):
        time.sleep(0.005)
    return "it is there"


def hang(arguments):
    """Makes the file, and never answers."""
    open(arguments["path"], "w").close()
    sleep()


def sleep():
    while True:
        time.sleep(600)


TOOLS = {"hello": hello, "until": until, "hang": hang}

main()
