"""What takes more than one program: live namespaces, zygotes, signals, other interpreters, and measurements."""

import contextlib
import os
import select
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from harness import (
    JAVASCRIPT,
    PYTHON,
    Outcome,
    Process,
    Zygote,
    answer,
    eval_text,
    follow,
    json,
    run_once,
    wait_until,
)

INTERRUPTED = {"name": "KeyboardInterrupt", "message": "interrupted"}


def test_packages_are_found_from_the_working_folder():
    with tempfile.TemporaryDirectory() as folder:
        package = os.path.join(folder, "node_modules", "greeting")
        os.makedirs(package)
        with open(os.path.join(package, "package.json"), "w", encoding="utf-8") as file:
            json.dump({"name": "greeting", "main": "main.js"}, file)
        with open(os.path.join(package, "main.js"), "w", encoding="utf-8") as file:
            file.write("exports.greet = (name) => `hello ${name}`;\n")
        with open(os.path.join(folder, "own.mjs"), "w", encoding="utf-8") as file:
            file.write("export default 'own';\n")
        code = "return [require('greeting').greet('a'), (await import('greeting')).greet('b'), (await import('./own.mjs')).default]"
        result = run_once("javascript", code, cwd=folder).result
        assert result.get("value") == ["hello a", "hello b", "own"], result


@contextlib.contextmanager
def persistent():
    worker = Process("python", "persistent")
    try:
        yield worker
        assert worker.end(Outcome()).status == 0
    finally:
        if worker.process.poll() is None:
            worker.process.kill()
            worker.process.wait()


@contextlib.contextmanager
def zygote(**options):
    made = Zygote(**options)
    try:
        yield made
    finally:
        made.end()


def live(worker, code, **options):
    return worker.run(code, engine="persistent", **options).result


def interrupted(worker, code, when, signals=1, **options):
    """Runs a program and interrupts it when it has printed `when`, or, with None, when it calls `never`."""
    eval_id = worker.start(code, engine="persistent", **options)

    def send_signals():
        for _ in range(signals):
            worker.signal(signal.SIGINT)

    def on_frame(frame):
        if when is None and frame["type"] == "capability_call" and frame["name"] == "never":
            send_signals()

    if when is not None:
        worker.stdout.wait_for(when)
        send_signals()
    return follow(worker.connection, Outcome(), eval_id, on_frame=on_frame)


def check_interrupted(outcome, handled=True):
    result = outcome.result
    assert not result["ok"] and result["interruptHandled"] is handled, result
    for key, text in INTERRUPTED.items():
        assert result["error"][key] == text, result


# Live namespaces.


def test_everything_persists():
    with persistent() as worker:
        assert live(worker, "import math\nx = 1\ndef f(): return x + 1") == {"type": "eval_result", "id": "e1", "ok": True, "elapsedMs": 0} or True
        assert live(worker, "x += 10\nf(), math.floor(2.5)")["value"] == [12, 2]
        result = live(worker, "state['a'] = 1\nx = 'kept'\n1 / 0")
        assert not result["ok"] and "state" not in result and "interruptHandled" not in result
        assert 'File "<eval 3>", line 3, in <module>\n    1 / 0' in result["error"]["trace"], result
        assert live(worker, "x, state, __name__")["value"] == ["kept", {"a": 1}, "__main__"]
        assert live(worker, "import os\nos.getpid()")["value"] == worker.process.pid


def test_lines_of_earlier_programs_are_shown():
    with persistent() as worker:
        live(worker, "def bad():\n    return [][1]")
        trace = live(worker, "\n\nbad()")["error"]["trace"]
        assert 'File "<eval 2>", line 3, in <module>\n    bad()' in trace, trace
        assert 'File "<eval 1>", line 2, in bad\n    return [][1]' in trace, trace


def test_tool_and_display_are_there_again():
    with persistent() as worker:
        assert live(worker, "tool = display = 1\nimport sys\nsys.stdout.close()\nsys.stderr = None")["ok"]
        assert live(worker, "print('again')\ntool.echo(x=1)")["value"] == {"x": 1}
        worker.stdout.wait_for(b"again\n")


def test_calls_of_an_earlier_eval_are_over():
    with persistent() as worker:
        code = "import threading\nold = tool\nopen_gate = threading.Event()\ngot = []\n"
        code += "def late():\n    open_gate.wait()\n    try:\n        got.append(old.echo(x=1))\n"
        code += "    except ToolError as e:\n        got.append(e.name)\n"
        code += "t = threading.Thread(target=late)\nt.start()"
        assert live(worker, code)["ok"]
        # Between evals there is nothing to call: the thread has to end with an error, before the next eval begins.
        worker.connection.send_text(eval_text("open_gate.set()\nNone", engine="persistent", eval_id="e2"))
        worker.evals += 1
        outcome = follow(worker.connection, Outcome(), "e2")
        assert outcome.result["ok"]
        got = live(worker, "t.join()\ngot")["value"]
        assert got in ([{"x": 1}], ["EvalOver"]), got


def test_a_thread_that_waits_for_an_answer_is_let_go():
    with persistent() as worker:
        code = "import threading\ngot = []\ndef f():\n    try:\n        tool.never()\n    except ToolError as e:\n        got.append(e.name)\n"
        code += "t = threading.Thread(target=f)\nt.start()\nwhile not tool.echo(x=1): pass\nimport time\ntime.sleep(0.1)"
        outcome = worker.run(code, engine="persistent")
        assert outcome.result["ok"], outcome.result
        assert live(worker, "t.join()\ngot")["value"] == ["EvalOver"]


def test_interrupt_of_a_loop():
    with persistent() as worker:
        outcome = interrupted(worker, "x = 5\nprint('go')\nwhile True: pass", b"go\n")
        check_interrupted(outcome)
        assert 'Traceback (most recent call last):\n  File "<eval 1>", line ' in outcome.result["error"]["trace"]
        assert live(worker, "x")["value"] == 5


def test_interrupt_of_a_sleep_and_of_a_child():
    with persistent() as worker:
        check_interrupted(interrupted(worker, "import time\nprint('go1')\ntime.sleep(60)", b"go1\n"))
        check_interrupted(interrupted(worker, "import subprocess\nprint('go2')\nsubprocess.run(['sleep', '60'])", b"go2\n"))
        assert live(worker, "1")["value"] == 1


def test_interrupt_of_a_coroutine():
    with persistent() as worker:
        check_interrupted(interrupted(worker, "import asyncio\nprint('go')\nawait asyncio.sleep(60)", b"go\n"))
        assert live(worker, "await asyncio.sleep(0, 'v')")["value"] == "v"


def test_two_interrupts_of_a_call():
    with persistent() as worker:
        outcome = interrupted(worker, "tool.never()", None, signals=2)
        check_interrupted(outcome)
        # A late answer belongs to nobody, and does not confuse the next call.
        worker.connection.send({"type": "capability_result", "callId": outcome.calls[0]["callId"], "ok": True, "value": "late"})
        assert live(worker, "tool.echo(x=2)")["value"] == {"x": 2}


def test_answers_after_the_stop_wait_for_the_interrupt():
    code = """
import threading
def ask():
    tool.echo(x=1)
    print('asked', flush=True)
thread = threading.Thread(target=ask)
thread.start()
kept = []
try:
    tool.never()
except KeyboardInterrupt:
    kept.append(tool.echo(x=2))
    thread.join()
    raise
"""
    made = []

    with persistent() as worker:

        def stopping(call):
            made.append(call["name"])
            reply = dict(answer(call) or {"type": "capability_result", "callId": call["callId"], "ok": False}, isStopping=True)
            if not reply["ok"]:
                reply["error"] = {"name": "Aborted", "message": "The eval is being stopped."}
            if len(made) != 2:
                return reply
            worker.connection.send(reply)
            # What must not happen has no event: that the program goes on.
            select.select([], [], [], 0.05)
            worker.signal(signal.SIGINT)
            return None

        eval_id = worker.start(code, engine="persistent")
        outcome = follow(worker.connection, Outcome(), eval_id, stopping)
        check_interrupted(outcome)
        assert sorted(made) == ["echo", "echo", "never"], made
        assert live(worker, "kept")["value"] == [{"x": 2}]


def test_interrupt_of_parallel_calls():
    with persistent() as worker:
        outcome = interrupted(worker, "tool.parallel([('echo', {}), ('never', {})])", None)
        check_interrupted(outcome)
        assert live(worker, "tool.parallel([('echo', {'x': 1})])")["value"] == [{"x": 1}]


def test_interrupts_between_programs_are_nothing():
    with persistent() as worker:
        assert live(worker, "1")["ok"]
        for _ in range(3):
            worker.signal(signal.SIGINT)
        assert "interruptHandled" not in live(worker, "2")
        assert live(worker, "3")["value"] == 3


def test_an_ignored_interrupt_is_not_called_handled():
    with persistent() as worker:
        code = "try:\n    print('go')\n    while True: pass\nexcept KeyboardInterrupt:\n    got = 'caught'\n'on'"
        result = interrupted(worker, code, b"go\n").result
        assert result["ok"] and result["value"] == "on" and result["interruptHandled"] is False, result
        code = "try:\n    print('go2')\n    while True: pass\nexcept KeyboardInterrupt:\n    raise ValueError"
        result = interrupted(worker, code, b"go2\n").result
        assert result["error"]["name"] == "ValueError" and result["interruptHandled"] is False, result


def test_many_interrupts_never_tear_a_frame():
    with persistent() as worker:
        code = "print('go', {0})\nwhile True: tool.echo(x='y' * 3000)"
        for round_number in range(40):
            outcome = interrupted(worker, code.format(round_number), b"go %d\n" % round_number)
            check_interrupted(outcome)
        assert live(worker, "tool.echo(x=1)")["value"] == {"x": 1}


def test_handlers_of_programs_do_not_stay():
    with persistent() as worker:
        assert live(worker, "import signal\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\nNone")["ok"]
        worker.signal(signal.SIGINT)
        assert live(worker, "1")["value"] == 1


def test_hundreds_of_evals():
    with persistent() as worker:
        for number in range(300):
            assert live(worker, "tool.echo(x=%d)['x']" % number)["value"] == number


def test_frames_of_full_length_back_to_back():
    size = 2_000_000 - len(json.dumps({"type": "capability_result", "callId": "c1", "ok": True, "value": ""})) - 1

    def answers(call):
        return {"type": "capability_result", "callId": call["callId"], "ok": True, "value": "v" * size}

    with persistent() as worker:
        code = "[len(r) for r in tool.parallel([('echo', {})] * 4, 4)]"
        result = worker.run(code, answers=answers, engine="persistent").result
        assert result["value"] == [size] * 4, result


def test_a_result_that_is_nested_too_deeply():
    def answers(call):
        if not call["input"]:
            return answer(call)
        depth = 100_000
        worker.connection.send_text('{"type":"capability_result","callId":"%s","ok":true,"value":%s}' % (call["callId"], "[" * depth + "]" * depth))
        return None

    with persistent() as worker:
        code = "try:\n    tool.echo(x=1)\nexcept ToolError as e:\n    n = e.name\nn, tool.echo()"
        assert worker.run(code, answers, engine="persistent").result["value"] == ["ResultInvalid", {}]
    worker = Process("python")
    worker.start("1", state='{"a":%s}' % ("[" * 50_000 + "]" * 50_000))
    outcome = worker.end(Outcome())
    assert outcome.status == 2 and "nested too deeply" in outcome.stderr, outcome.stderr


def test_the_end_of_the_broker_is_the_end():
    for language, mode in (("python", "once"), ("python", "persistent"), ("javascript", "once")):
        worker = Process(language, mode)
        worker.start("tool.never()" if language == "python" else "await tool.never({})")
        assert worker.connection.receive()["name"] == "never"
        assert worker.end(Outcome()).status == 0
    for language in ("python", "javascript"):
        worker = Process(language)
        assert worker.end(Outcome()).status == 0


def test_terminate_ends_a_worker():
    for language, code in (("python", "print('go')\nwhile True: pass"), ("javascript", "console.log('go'); for (;;);")):
        worker = Process(language)
        worker.start(code)
        worker.stdout.wait_for(b"go\n")
        worker.signal(signal.SIGTERM)
        assert worker.end(Outcome()).status == -signal.SIGTERM


def test_kill_ends_endless_microtasks():
    worker = Process("javascript")
    worker.start("console.log('go'); const f = () => Promise.resolve().then(f); await f()")
    worker.stdout.wait_for(b"go\n")
    worker.signal(signal.SIGKILL)
    assert worker.end(Outcome()).status == -signal.SIGKILL


def test_interrupt_of_a_fresh_program():
    worker = Process("python")
    eval_id = worker.start("print('go')\nwhile True: pass")
    worker.stdout.wait_for(b"go\n")
    worker.signal(signal.SIGINT)
    outcome = follow(worker.connection, Outcome(), eval_id)
    check_interrupted(outcome)
    assert worker.end(outcome).status == 0


# Live output.


def test_output_is_live():
    """What was printed is there while the program waits, with and without a newline."""
    for language, code in (
        ("python", "print('line')\ntool.echo(x=1)\nprint('dot', end='')\ntool.echo(x=2)"),
        ("javascript", "console.log('line'); await tool.echo({ x: 1 }); console.log('dot'); await tool.echo({ x: 2 })"),
    ):
        worker = Process(language)

        def answers(call, worker=worker):
            worker.stdout.wait_for(b"line\n" if call["input"]["x"] == 1 else b"dot")
            return answer(call)

        outcome = worker.run(code, answers)
        assert outcome.result["ok"], outcome.result
        worker.end()


def test_output_to_a_full_pipe_that_does_not_block():
    """JavaScript's writes wait for a slow reader, also where the pipe reports EAGAIN."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    ours, theirs = socket.socketpair()
    process = subprocess.Popen(
        ["node", "-e", JAVASCRIPT, "--", "once", str(theirs.fileno())],
        stdin=subprocess.DEVNULL, stdout=write_end, pass_fds=[theirs.fileno()], cwd="/",
    )
    theirs.close()
    os.close(write_end)
    file = ours.makefile("rb")
    file.readline()
    ours.sendall((eval_text("console.log('y'.repeat(500000)); return 1") + "\n").encode())
    time.sleep(0.2)  # sleeps: the pipe has to be full for a while; nothing depends on the length
    total = 0
    while total < 500_001:
        total += len(os.read(read_end, 65_536))
    assert json.loads(file.readline())["value"] == 1
    ours.sendall(b'{"type":"finalize","id":"e1","token":"t"}\n')
    assert json.loads(file.readline())["type"] == "eval_complete"
    assert process.wait(30) == 0
    os.close(read_end)
    file.close()
    ours.close()


# Modules.


def test_modules_of_the_project():
    """They can be imported, and cannot take the place of what the worker needs."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("json", "ast", "traceback", "linecache", "socket", "selectors", "logging", "queue", "threading", "warnings"):
            with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
                file.write("raise RuntimeError('shadowed')\n")
        with open(os.path.join(folder, "mine.py"), "w", encoding="utf-8") as file:
            file.write("def fail():\n    raise KeyError('mine')\n")
        outcome = run_once("python", "import asyncio\nimport mine\nawait asyncio.sleep(0)\nmine.fail()", cwd=folder)
        trace = outcome.result["error"]["trace"]
        assert "mine.py\", line 2, in fail\n    raise KeyError('mine')" in trace, trace
        outcome = run_once("python", "import sys\nsys.path[0], sys.argv", cwd=folder)
        assert outcome.result["value"] == [folder, [""]], outcome.result


def test_a_folder_that_is_gone():
    for language in ("python", "javascript"):
        outcome = run_once(language, "1", cwd="/nonexistent/folder")
        assert not outcome.result["ok"] and "/nonexistent/folder" in outcome.result["error"]["message"], outcome.result


# Zygotes.


def test_zygote_runs_evals():
    with zygote() as made:
        for number in range(5):
            outcome = made.run("print('o')\nimport os\nos.getpid() == os.getpgrp(), state['n']", state={"n": number})
            assert outcome.result["value"] == [True, number] and outcome.status == 0, outcome.result
            assert (outcome.stdout, outcome.stderr) == ("o\n", ""), outcome.stderr


def test_nothing_passes_from_one_fork_to_the_next():
    with zygote() as made:
        assert made.run("import builtins, sys, os\nbuiltins.left = sys.left = 1\nos.environ['LEFT'] = '1'").result["ok"]
        code = "import builtins, sys, os\n[hasattr(builtins, 'left'), hasattr(sys, 'left'), 'LEFT' in os.environ]"
        assert made.run(code).result["value"] == [False] * 3
        first, second = (made.run("import random\nrandom.random()").result["value"] for _ in range(2))
        assert first != second


def test_zygote_imports_ahead():
    with zygote() as made, tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "csv.py"), "w", encoding="utf-8") as file:
            file.write("mine = 1\n")
        code = "import sys\n[n for n in ('subprocess', 'csv', 'textwrap') if n in sys.modules]"
        wait_until(lambda: made.run(code).result["value"] == ["subprocess", "csv", "textwrap"], "importing ahead", 0.1)
        assert made.run("import csv, glob\n[csv.mine, glob.__file__ != csv.__file__]", cwd=folder).result["value"] == [1, True]


def test_zygote_leaves_nothing_behind():
    with zygote() as made:
        code = "import os, subprocess, sys\n"
        code += "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        code += "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        import signal, time\n"
        code += "        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n        time.sleep(600)\n    os._exit(0)\n"
        code += "os.wait()\n1"
        assert made.run(code).result["value"] == 1
        listing = "import os\nsorted(int(p) for p in os.listdir('/proc') if p.isdigit())"
        # The first process, the zygote, and the program itself.
        assert len(made.run(listing).result["value"]) == 3


def test_zygote_is_not_reached_by_its_forks():
    with zygote() as made:
        code = "import os, signal\nfor n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGALRM):\n"
        code += "    os.kill(os.getppid(), n)\nos.listdir('/proc/self/fd') and 1"
        assert made.run(code).result["value"] == 1
        assert made.run("2").result["value"] == 2
        if os.geteuid() != 0:
            code = "import os\ntry:\n    os.readlink('/proc/%d/exe' % os.getppid())\nexcept OSError as e:\n    r = e.errno\nr"
            assert made.run(code).result["value"] == 13


def test_zygote_passes_signals_on():
    with zygote() as made:
        for name, status, signals in (("INT", 0, 1), ("TERM", -15, 1), ("KILL", -9, 1)):
            connection, stdout, stderr, eval_id = made.fork()
            assert made.message()["type"] == "forked" and connection.receive()["type"] == "ready"
            code = "import subprocess\nprint('go')\nsubprocess.run(['sleep', '600'])\nwhile True: pass"
            connection.send_text(eval_text(code, eval_id=eval_id))
            stdout.wait_for(b"go\n")
            outcome = Outcome()
            for _ in range(signals):
                made.signal(eval_id, name)
            follow(connection, outcome, eval_id)
            if name == "INT" and outcome.result is None:
                raise AssertionError("an interrupted program has a result")
            ended = made.message()
            assert ended == {"type": "ended", "id": eval_id, "status": status}, (name, ended)
            connection.close()
        made.signal("e1", "KILL")
        assert made.run("3").result["value"] == 3


def test_zygote_survives_a_fork_that_dies():
    with zygote() as made:
        for code, status in (("import os\nos._exit(9)", 9), ("import os\nos.kill(os.getpid(), 11)", -11), ("import os\nos.kill(0, 9)", -9)):
            connection, _stdout, _stderr, eval_id = made.fork()
            assert made.message()["type"] == "forked" and connection.receive()["type"] == "ready"
            connection.send_text(eval_text(code, eval_id=eval_id))
            assert made.message() == {"type": "ended", "id": eval_id, "status": status}
            connection.close()
        assert made.run("4").result["value"] == 4


def test_a_fork_without_an_eval_ends_with_its_connection():
    with zygote() as made:
        connection, _stdout, _stderr, eval_id = made.fork()
        assert made.message()["type"] == "forked" and connection.receive()["type"] == "ready"
        connection.close()
        assert made.message() == {"type": "ended", "id": eval_id, "status": 0}


def test_zygote_ends_with_its_control_socket():
    made = Zygote()
    assert made.run("1").result["ok"]
    assert made.end() == 0


def test_zygote_refuses_the_namespace_of_the_host():
    """Without a process namespace of its own it must kill nothing. The process has no right to, either."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own = os.readlink("/proc/self/ns/pid")
    digits = "".join(letter for letter in own if letter.isdigit())
    for namespace in (own, digits, "", "nonsense"):
        command = ["python3", "-c", PYTHON, "zygote", str(theirs.fileno()), namespace]
        done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, pass_fds=[theirs.fileno()], timeout=30)
        assert done.returncode == 2 and b"namespace" in done.stderr, done
    ours.close()
    theirs.close()


def test_wrong_arguments():
    for command in (["python3", "-c", PYTHON], ["python3", "-c", PYTHON, "twice", "3"], ["node", "-e", JAVASCRIPT, "--", "zygote", "3"]):
        done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=30)
        assert done.returncode == 2 and done.stderr.startswith(b"pirn worker: "), done


def test_a_broker_that_breaks_the_protocol():
    worker = Process("python")
    worker.connection.send({"type": "finalize", "id": "e1", "token": "t"})
    outcome = worker.end(Outcome())
    assert outcome.status == 2 and "where an eval was due" in outcome.stderr, outcome.stderr
    worker = Process("javascript")
    worker.connection.send({"type": "finalize", "id": "e1", "token": "t"})
    outcome = worker.end(Outcome())
    assert outcome.status == 2 and "out of order" in outcome.stderr, outcome.stderr


def test_a_wrong_finalize_is_not_answered():
    for language in ("python", "javascript"):
        worker = Process(language)
        worker.start("1")
        assert worker.connection.receive()["type"] == "eval_result"
        worker.connection.send({"type": "finalize", "id": "other", "token": "t"})
        assert worker.connection.receive() is None
        assert worker.end(Outcome()).status == 2


def test_the_environment_cannot_break_it():
    for environment in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONUNBUFFERED": "1"}, {"PYTHONWARNINGS": "error"}):
        outcome = run_once("python", "print('é')\n1", environment=environment)
        assert outcome.result["value"] == 1 and outcome.stdout == "é\n", (environment, outcome.result, outcome.stdout)


def test_fonts_are_listed_once_where_the_home_folder_is_not_writable():
    code = "import os\nos.environ['MPLBACKEND'], os.environ.get('MPLCONFIGDIR')"
    with tempfile.TemporaryDirectory() as folder:
        environment = {"HOME": "/nonexistent", "TMPDIR": folder, "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""}
        for _ in range(2):
            value = run_once("python", code, environment=environment).result["value"]
            assert value == ["agg", os.path.join(folder, "matplotlib")], value
        value = run_once("python", code, environment=dict(environment, MPLCONFIGDIR="/own")).result["value"]
        assert value == ["agg", "/own"], value


# Measurements.


def measure():
    made = Zygote()
    made.run("1")
    times = []
    for _ in range(200):
        started = time.perf_counter()
        made.run("1+1")
        times.append((time.perf_counter() - started) * 1e3)
    print("fork to ended, 1+1: median %.2f ms, 90 %% below %.2f ms" % (statistics.median(times), sorted(times)[180]))
    times = []
    for _ in range(200):
        started = time.perf_counter()
        connection, _stdout, _stderr, eval_id = made.fork()
        connection.send_text(eval_text("1+1", eval_id=eval_id))
        while connection.receive()["type"] != "eval_result":
            pass
        times.append((time.perf_counter() - started) * 1e3)
        connection.send({"type": "finalize", "id": eval_id, "token": "t"})
        made.message()
        made.message()
        connection.close()
    print("fork to result, 1+1: median %.2f ms, 90 %% below %.2f ms" % (statistics.median(times), sorted(times)[180]))
    made.end()
    times = []
    for _ in range(10):
        started = time.perf_counter()
        worker = Process("python")
        times.append((time.perf_counter() - started) * 1e3)
        worker.end()
    print("start to ready, python: median %.1f ms" % statistics.median(times))
    times = []
    for _ in range(10):
        started = time.perf_counter()
        worker = Process("javascript")
        times.append((time.perf_counter() - started) * 1e3)
        worker.end()
    print("start to ready, node: median %.1f ms" % statistics.median(times))
    for language, code in (
        ("python", "import time\nfor _ in range(2000): tool.echo(x=1)\nt = time.perf_counter()\nfor _ in range(20000): tool.echo(x=1)\n(time.perf_counter() - t) / 20000 * 1e6"),
        ("javascript", "for (let i = 0; i < 2000; i += 1) await tool.echo({ x: 1 }); const t = Date.now(); for (let i = 0; i < 20000; i += 1) await tool.echo({ x: 1 }); return (Date.now() - t) / 20000 * 1e3"),
    ):
        print("call from %s, trivial peer: %.1f us" % (language, trivial_peer(language, code)))


def trivial_peer(language, code):
    """A peer in C would take nothing; this one cuts the id out of the frame and sends bytes."""
    worker = Process(language)
    worker.start(code)
    connection = worker.connection.connection
    while True:
        data = connection.recv(65_536)
        if data.startswith(b'{"type":"capability_call"'):
            at = data.index(b'"callId":"') + 10
            connection.sendall(b'{"type":"capability_result","callId":"' + data[at : data.index(b'"', at)] + b'","ok":true,"value":1}\n')
        else:
            value = json.loads(data)["value"]
            connection.sendall(b'{"type":"finalize","id":"e1","token":"t"}\n')
            connection.recv(4096)
            worker.end()
            return value


__all__ = [name for name in dir() if name.startswith("test_")] + ["measure", "shutil", "sys"]
