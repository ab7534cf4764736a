

# Part 6: streams and modes.

# Text without a newline is shown at once when the last was this long ago.
LIVE_SECONDS = 0.05
SWEEP_ATTEMPTS = 200
SWEEP_PAUSE_SECONDS = 0.001
PR_SET_DUMPABLE = 4
# What many programs import; a zygote that has nothing to do does it for them, one at a time, and saves each fork that
# needs them 20 ms. Neither asyncio nor hashlib: they are rarely needed, and every fork would pay for their pages.
COMMON_MODULES = ["datetime", "pathlib", "dataclasses", "typing", "subprocess", "shutil", "csv", "glob", "textwrap"]
IDLE_MS = 50


class LiveStream(io.TextIOWrapper):
    """Text that is written through at every line, and between lines unless more of the line follows at once.

    `print` writes its text and its end apart: a second piece without a newline, or an empty one, is a line left open.
    """

    last = 0.0
    is_open_line = False

    def write(self, text):
        count = super().write(text)
        now = monotonic()
        if text[-1:] == "\n":
            self.is_open_line = False
        elif self.is_open_line or not text or now - self.last > LIVE_SECONDS:
            self.flush()
            self.is_open_line = False
        else:
            self.is_open_line = True
        self.last = now
        return count


monotonic = time.monotonic
streams = []


def open_streams():
    """New streams over descriptors 1 and 2: UTF-8 whatever the locale, and live."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            # A stream that was closed, or is none.
            pass
    streams[:] = [
        LiveStream(
            io.BufferedWriter(io.FileIO(descriptor, "wb", closefd=False), 65_536),
            encoding="utf-8",
            errors="backslashreplace",
            line_buffering=True,
        )
        for descriptor in (1, 2)
    ]
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = streams


def flush_output():
    """What was printed before a call is there before its effects."""
    try:
        sys.stdout.flush()
    except Exception:
        # The program has closed or replaced it.
        pass


def flush_streams():
    for stream in (sys.stdout, sys.stderr, *streams):
        try:
            stream.flush()
        except Exception:
            # The program has closed or replaced it; what can be flushed is.
            pass
    if libc is not None:
        libc.fflush(None)


libc = None


def load_libc():
    """For prctl and the buffers of C code. Some builds of Python have no ctypes: then there is neither."""
    global libc
    try:
        import ctypes

        libc = ctypes.CDLL(None)
        libc.prctl.restype = ctypes.c_int
        libc.fflush.argtypes = [ctypes.c_void_p]
    except Exception:
        libc = None


def set_dumpable(value):
    if libc is not None:
        libc.prctl(PR_SET_DUMPABLE, value, 0, 0, 0)


def hide(descriptor):
    """Moves the frames out of the way of the program's files, and closed in the programs that it starts."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, FRAMES_DESCRIPTOR_MIN)
    except OSError:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return socket.socket(fileno=moved)


def make_main_module():
    """The `__main__` of programs. Ours goes, so that nothing of the worker is found by importing it."""
    module = types.ModuleType("__main__")
    module.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = module
    return module


def prepare_process():
    """Everything that needs no broker; a zygote does it once for all its forks. Gives the module of programs."""
    sys.argv = [""]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = [sys.executable]
    # `python3 -c` has the current folder there, which changes later; see `enter_folder`.
    if sys.path and sys.path[0] in ("", os.getcwd()):
        del sys.path[0]
    builtins.ToolError = ToolError
    prepare_figures()
    open_streams()
    return make_main_module()


def end_fork(problem):
    """The end of a child that the program forked, where it reaches the end of the program: as of any Python program."""
    status = 0
    try:
        if isinstance(problem, SystemExit):
            code = problem.code
            status = code if isinstance(code, int) else 0 if code is None else 1
            if status == 1 and not isinstance(code, int):
                sys.stderr.write(str(code) + "\n")
        elif problem is not None:
            status = 1
            sys.stderr.write(trace_text(problem))
        finish_threads()
        run_exit_functions()
        flush_streams()
    finally:
        exit_process(status & 0xFF)


exit_process = os._exit
get_process_id = os.getpid


def rehearse():
    """Runs a program as later ones are run, so that forks find everything that Python makes at the first use."""
    ours, theirs = socket.socketpair()
    channel = Channel(theirs, Interrupts())
    frame = {"id": "", "code": "1 + 1", "cwd": "/", "engine": "fresh", "outputLimitBytes": 256, "state": {}}
    frame["capabilities"] = [{"name": "rehearsal", "description": "", "effect": "", "parameters": {}}]
    path = list(sys.path)
    payload = run_frame(channel, decode_json(encode_json(frame))[0], {}, "<eval>")
    assert b'"value":2' in payload, payload
    sys.path[:] = path
    enter_folder.entered = None
    theirs.close()
    ours.close()


def serve(connection, main, is_persistent):
    """Answers evals: one, or, in a persistent worker, one after the other."""
    interrupts = Interrupts()
    channel = Channel(connection, interrupts)
    interrupts.install()
    os.register_at_fork(after_in_child=functools.partial(after_fork, channel))
    version = ".".join(str(part) for part in sys.version_info[:3])
    channel.send(encode_json({"type": "ready", "runtime": "python", "version": version}).encode("utf-8"))
    evals = 0
    while True:
        frame = channel.receive()
        if frame["type"] != "eval":
            fail("the broker sent " + str(frame["type"])[:64] + " where an eval was due")
        evals += 1
        filename = "<eval " + str(evals) + ">" if is_persistent else "<eval>"
        if is_persistent:
            linecache.cache.pop("<eval " + str(evals - SOURCES_MAX) + ">", None)
            open_streams_again()
            interrupts.install()
        payload = run_frame(channel, frame, main.__dict__, filename)
        interrupts.install()
        channel.send(payload)
        finalize = channel.receive()
        if finalize["type"] != "finalize" or finalize["id"] != frame["id"]:
            fail("the broker sent " + str(finalize["type"])[:64] + " where finalize was due")
        channel.send(
            encode_json({"type": "eval_complete", "id": frame["id"], "token": finalize["token"]}).encode("utf-8")
        )
        if not is_persistent:
            exit_process(0)


def run_frame(channel, frame, namespace, filename):
    channel.begin(frame["id"])
    evaluation = Evaluation(channel, frame, namespace, filename)
    if frame["engine"] == "fresh":
        namespace["state"] = frame.get("state") or {}
    else:
        namespace.setdefault("state", {})
    namespace["tool"] = namespace["tools"] = make_tool(channel, frame["capabilities"])
    namespace["display"] = make_display(evaluation.images)
    return evaluation.run()


def open_streams_again():
    """After a program of a persistent worker may have closed or replaced them."""
    if any(stream.closed for stream in streams):
        open_streams()
    sys.stdout, sys.stderr = streams


def after_fork(channel):
    channel.after_fork()
    set_handler(signal.SIGINT, _signal.default_int_handler)


class Zygote:
    """A warm interpreter that forks one worker per eval, and leaves nothing of it behind."""

    def __init__(self, control, main, host_namespace):
        self.control = control
        self.main = main
        self.host_namespace = host_namespace
        self.current = None
        self.unimported = [name for name in COMMON_MODULES if name not in sys.modules]
        self.idle_ms = IDLE_MS
        self.wake_read, self.wake_write = os.pipe()
        for descriptor in (self.wake_read, self.wake_write):
            os.set_blocking(descriptor, False)
        self.check_namespace()

    def check_namespace(self):
        """Everything in our process namespace is killed after each eval, so it must not be the host's."""
        try:
            own = os.readlink("/proc/self/ns/pid")
        except OSError as problem:
            fail("cannot tell its process namespace: " + str(problem))
        wanted = self.host_namespace
        if not re.fullmatch(r"pid:\[\d+\]", own) or not re.fullmatch(r"(pid:\[)?\d+\]?", wanted):
            fail("cannot tell its process namespace from " + repr(own) + " and " + repr(wanted))
        if re.sub(r"\D", "", own) == re.sub(r"\D", "", wanted):
            fail("is in the process namespace of the host, where it must not kill what evals leave behind")

    # What the program could send its parent; only the broker ends the zygote, by killing the sandbox.
    IGNORED = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2]
    IGNORED += [signal.SIGALRM, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU]

    def run(self):
        for number in self.IGNORED:
            set_handler(number, _signal.SIG_IGN)
        set_handler(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.wake_write, warn_on_full_buffer=False)
        set_dumpable(0)
        rehearse()
        gc.collect()
        gc.freeze()
        poller = select.poll()
        poller.register(self.control.fileno(), select.POLLIN)
        poller.register(self.wake_read, select.POLLIN)
        while True:
            is_idle = self.current is None and self.unimported
            ready = [descriptor for descriptor, _ in poller.poll(self.idle_ms if is_idle else None)]
            if is_idle and not ready:
                self.import_ahead()
            if self.wake_read in ready:
                self.reap()
            if self.control.fileno() in ready:
                self.obey()

    def import_ahead(self):
        name = self.unimported.pop(0)
        try:
            importlib.import_module(name)
        except Exception:
            # A program that imports it will see why.
            pass
        imported_ahead.append(name)
        self.idle_ms = 0
        if not self.unimported:
            gc.collect()
            gc.freeze()

    def obey(self):
        data, descriptors = receive_with_descriptors(self.control)
        if not data:
            self.sweep()
            exit_process(0)
        message = decode_json(data.decode("utf-8"))[0]
        if message["type"] == "fork" and len(descriptors) == 3 and self.current is None:
            self.fork(message["id"], descriptors)
        elif message["type"] == "signal":
            self.signal(message)
        else:
            fail("the broker sent " + str(message["type"])[:64] + " out of order")

    def fork(self, eval_id, descriptors):
        process = os.fork()
        if process == 0:
            try:
                self.become_worker(descriptors)
            finally:
                # Whatever happens in the child, it never comes back to the loop of the zygote.
                exit_process(70)
        self.current = (eval_id, process)
        for descriptor in descriptors:
            os.close(descriptor)
        self.tell({"type": "forked", "id": eval_id, "pid": process})

    def become_worker(self, descriptors):
        # Not a session: a new one is a new group of the scheduler, which waits for its first turn on a busy machine.
        os.setpgid(0, 0)
        set_dumpable(1)
        signal.set_wakeup_fd(-1)
        set_handler(signal.SIGCHLD, _signal.SIG_DFL)
        for number in self.IGNORED:
            set_handler(number, _signal.SIG_DFL)
        self.control.close()
        os.close(self.wake_read)
        os.close(self.wake_write)
        frames, output, errors = descriptors
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.close(output)
        os.close(errors)
        serve(hide(frames), self.main, False)

    def signal(self, message):
        if self.current is None or message["id"] != self.current[0]:
            # It has ended in the meantime.
            return
        process = self.current[1]
        number = {"INT": signal.SIGINT, "TERM": signal.SIGTERM, "KILL": signal.SIGKILL}[message["signal"]]
        try:
            os.killpg(process, number)
        except OSError:
            try:
                # Not yet the leader of its group.
                os.kill(process, number)
            except OSError:
                pass

    def reap(self):
        try:
            os.read(self.wake_read, 4096)
        except BlockingIOError:
            pass
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            if self.current is not None and process == self.current[1]:
                eval_id = self.current[0]
                self.current = None
                self.sweep()
                self.tell({"type": "ended", "id": eval_id, "status": exit_status(status)})

    def sweep(self):
        """Kills everything that is left in this process namespace."""
        self.check_namespace()
        for _ in range(SWEEP_ATTEMPTS):
            try:
                os.kill(-1, signal.SIGKILL)
            except ProcessLookupError:
                return
            except PermissionError:
                break
            # The first process of the namespace reaps what has lost its parent.
            time.sleep(SWEEP_PAUSE_SECONDS)
            try:
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            except ChildProcessError:
                pass
        fail("could not kill what the eval left behind")

    def tell(self, message):
        try:
            self.control.send(encode_json(message).encode("utf-8"))
        except OSError:
            self.sweep()
            exit_process(0)


def exit_status(status):
    """The exit code, or the negative number of the signal, as Python's own `subprocess` has it."""
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def receive_with_descriptors(control):
    size = struct.calcsize("3i")
    flags = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
    data, ancillary, _, _ = control.recvmsg(65_536, socket.CMSG_SPACE(size), flags)
    descriptors = []
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            count = len(content) // struct.calcsize("i")
            descriptors += struct.unpack(str(count) + "i", content[: count * struct.calcsize("i")])
    return data, descriptors


def main(arguments):
    if len(arguments) < 2 or not arguments[1].isdigit():
        fail("expected MODE FD, got " + repr(arguments)[:200])
    mode = arguments[0]
    descriptor = int(arguments[1])
    program = prepare_process()
    load_libc()
    if mode == "zygote":
        os.set_inheritable(descriptor, False)
        Zygote(socket.socket(fileno=descriptor), program, arguments[2] if len(arguments) > 2 else "").run()
    elif mode in ("once", "persistent"):
        serve(hide(descriptor), program, mode == "persistent")
    else:
        fail("there is no mode " + repr(mode)[:64])


main(sys.argv[1:])
