

# Part 5: running one program.

# Frames of a trace: the first show how the program got there, the last where it failed.
TRACE_HEAD = 10
TRACE_TAIL = 20
CHAIN_MAX = 5
# Of an error's message and trace, whatever the limit of the output.
ERROR_BYTES_MAX = 32_768
# The sources that tracebacks of later evals may need.
SOURCES_MAX = 200
RECURSION_LIMIT = sys.getrecursionlimit()
VALUE_NAME = "__eval_value__"
AWAIT_COMPLAINTS = ("can't be used in 'await' expression", "a coroutine or an awaitable is required", "a coroutine was expected")


class Evaluation:
    """One eval: what it is given, what it made, and how it ended."""

    def __init__(self, channel, frame, namespace, filename):
        self.channel = channel
        self.interrupts = channel.interrupts
        self.frame = frame
        self.namespace = namespace
        self.filename = filename
        self.is_fresh = frame["engine"] != "persistent"
        self.limit = max(256, int(frame["outputLimitBytes"]))
        self.images = Images(channel, frame["id"])
        self.losses = Losses()
        self.result = {}
        self.state = None
        self.ended_by = None

    def run(self):
        """Runs the program, and gives back the payload of its result."""
        started = time.monotonic()
        try:
            self.run_armed()
        except BaseException as problem:
            # An interrupt in the last moment, or an error whose own text raised.
            self.interrupts.disarm()
            self.fail(problem, describe_plainly(problem))
        self.channel.end()
        flush_streams()
        elapsed = int((time.monotonic() - started) * 1000)
        head = {"type": "eval_result", "id": self.frame["id"], "ok": "error" not in self.result, "elapsedMs": elapsed}
        head.update(self.result)
        if self.losses.lines and head["ok"]:
            head["lossy"] = self.losses.as_list()
        if self.interrupts.happened():
            head["interruptHandled"] = self.ended_by is not None and self.ended_by is self.interrupts.raised
        return self.encode(head)

    def encode(self, head):
        data = encode_json(head).encode("utf-8", "backslashreplace")
        if self.state is not None and head["ok"]:
            data = data[:-1] + b',"state":' + self.state + b"}"
        if len(data) <= FRAME_BYTES_MAX:
            return data
        small = {key: head[key] for key in ("type", "id", "elapsedMs", "interruptHandled") if key in head}
        small["ok"] = False
        message = "the result has " + format(len(data), ",") + " bytes and " + format(FRAME_BYTES_MAX, ",")
        message += " is the limit; state was not committed" if self.is_fresh else " is the limit"
        small["error"] = {"name": "ResultTooLarge", "message": message, "trace": ""}
        return encode_json(small).encode("utf-8")

    def run_armed(self):
        self.interrupts.arm()
        process = get_process_id()
        ended_by = None
        try:
            self.execute()
        except BaseException as problem:
            ended_by = problem
        if get_process_id() != process:
            end_fork(ended_by)
        if ended_by is not None and not is_plain_exit(ended_by):
            self.fail(ended_by, describe(ended_by, self.filename, self.limit))
        if not self.interrupts.happened():
            self.images.show_open_figures()
            self.images.finish()
        else:
            self.images.close_figures()
        if self.is_fresh:
            if not self.interrupts.happened():
                finish_threads()
                run_exit_functions()
            if "error" not in self.result:
                self.keep_state()
        flush_streams()
        self.interrupts.disarm()

    def execute(self):
        enter_folder(self.frame["cwd"])
        code = load(self.frame["code"], self.filename)
        space = self.namespace
        if code.co_flags & CO_COROUTINE:
            run_coroutine(eval(code, space))
        else:
            exec(code, space)
        value = space.pop(VALUE_NAME, None)
        if value is None:
            return
        if is_figure(value) or is_pillow_image(value):
            self.images.show(value)
            self.result["valueText"] = cut_text(safe_repr(value), self.limit)
            return
        plain, text = Converter(self.limit, self.losses).result(value)
        if text is None:
            self.result["value"] = plain
        else:
            self.result["valueText"] = text

    def keep_state(self):
        # The program may have lowered it, and the writer of JSON recurses.
        sys.setrecursionlimit(max(RECURSION_LIMIT, sys.getrecursionlimit()))
        if "state" not in self.namespace:
            error = ("StateInvalid", "`state` was deleted; it must stay a dict")
        else:
            try:
                self.state = state_json(self.namespace["state"])
                return
            except NotJson as problem:
                error = (problem.args[1], problem.args[0])
        self.result = {"error": {"name": error[0], "message": cut_text(error[1], self.limit), "trace": ""}}

    def fail(self, problem, error):
        self.ended_by = problem
        self.result = {"error": error}
        self.namespace.pop(VALUE_NAME, None)


CO_COROUTINE = 0x0080


def load(source, filename):
    """Compiles a program so that its last expression is kept."""
    lines = source.splitlines(True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if "await" in source or "async" in source else 0
    tree = compile(source, filename, "exec", flags | ast.PyCF_ONLY_AST, True)
    if "await" in source:
        tree = PlainCalls().visit(tree)
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        target = ast.copy_location(ast.Name(VALUE_NAME, ast.Store()), last)
        tree.body[-1] = ast.copy_location(ast.Assign([target], last.value, None), last)
    return compile(tree, filename, "exec", flags, True)


class PlainCalls(ast.NodeTransformer):
    """Takes the `await` from `await tools.name(...)`: calls give back plain values in Python."""

    def visit_Await(self, node):
        self.generic_visit(node)
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            owner = call.func.value
            if isinstance(owner, ast.Name) and owner.id in ("tool", "tools"):
                return call
        return node


def run_coroutine(coroutine):
    folder = sys.path[0]
    del sys.path[0]
    try:
        # Not needed by most programs, and costly; imported without the project's folder, like all that is ours.
        import asyncio
        import asyncio.base_events
    finally:
        sys.path.insert(0, folder)
    return asyncio.run(coroutine)


def enter_folder(folder):
    os.chdir(folder)
    entered = enter_folder.entered
    if entered is not None and entered in sys.path:
        sys.path.remove(entered)
    sys.path.insert(0, folder)
    enter_folder.entered = folder
    for name in imported_ahead:
        # A module of the project's with such a name goes first, as for any program that is run there.
        path = os.path.join(folder, name)
        if os.path.exists(path + ".py") or os.path.isdir(path):
            sys.modules.pop(name, None)


enter_folder.entered = None
# By a zygote, beyond what the worker needs.
imported_ahead = []


def is_plain_exit(problem):
    return isinstance(problem, SystemExit) and (problem.code is None or problem.code is False or problem.code == 0)


def finish_threads():
    """As at the end of any Python program: threads that are no daemons are waited for."""
    main = threading.main_thread()
    if any(thread is not main and not thread.daemon and thread.is_alive() for thread in threading.enumerate()):
        threading._shutdown()


def run_exit_functions():
    """They belong to the program, so they run before its result, not after it."""
    if not atexit._ncallbacks():
        return
    try:
        atexit._run_exitfuncs()
    except Exception as problem:
        note("an exit function failed: " + type_name(type(problem)) + ": " + cut_text(str(problem), 500))


# Errors.


def describe(problem, filename, limit):
    """An error for its author: the program's own lines only."""
    limit = min(limit, ERROR_BYTES_MAX)
    if isinstance(problem, SystemExit):
        status = problem.code
        message = "exit status " + str(int(status)) if isinstance(status, int) else str(status)
    elif isinstance(problem, SyntaxError) and problem.filename == filename:
        message = str(problem.msg) + " (line " + str(problem.lineno) + ", column " + str(problem.offset) + ")"
    else:
        message = safe_text(problem)
    if isinstance(problem, TypeError) and is_about_await(message, filename):
        message += "; calls of `tool` give back plain values in Python: leave out the await, or use tool.parallel"
    if isinstance(problem, MemoryError) and not message:
        message = "out of memory"
    return {
        "name": type_name(type(problem)),
        "message": cut_text(message, limit),
        "trace": cut_middle(trace_text(problem), limit),
    }


def is_about_await(message, filename):
    if any(complaint in message for complaint in AWAIT_COMPLAINTS):
        return True
    # What `asyncio.gather` says about the answer of a call.
    return message.startswith("unhashable type: 'dict'") and "gather(" in "".join(linecache.getlines(filename))


def describe_plainly(problem):
    """As `describe`, without running anything of the program."""
    kind = type(problem)
    known = isinstance(problem, (KeyboardInterrupt, MemoryError, RecursionError))
    return {
        "name": type_name(kind),
        "message": "interrupted" if isinstance(problem, KeyboardInterrupt) else "the error has no readable text",
        "trace": type_name(kind) + "\n" if known else "",
    }


def safe_text(problem):
    try:
        return str(problem)
    except Exception as other:
        return "<error whose text raised " + type_name(type(other)) + ">"


def trace_text(problem):
    parts = []
    seen = set()
    while problem is not None and id(problem) not in seen and len(parts) < CHAIN_MAX:
        seen.add(id(problem))
        parts.append(one_trace(problem))
        if problem.__cause__ is not None:
            problem = problem.__cause__
            parts[-1] = "\nThe above exception was the direct cause of the following exception:\n\n" + parts[-1]
        elif problem.__context__ is not None and not problem.__suppress_context__:
            problem = problem.__context__
            parts[-1] = "\nDuring handling of the above exception, another exception occurred:\n\n" + parts[-1]
        else:
            break
    text = "".join(reversed(parts))
    return text.lstrip("\n")


def one_trace(problem):
    lines = []
    runs = own_frames(problem.__traceback__)
    if runs:
        lines.append("Traceback (most recent call last):\n")
    for at, (code, line, count) in enumerate(runs):
        if at == TRACE_HEAD and len(runs) > TRACE_HEAD + TRACE_TAIL:
            lines.append("  [" + str(len(runs) - TRACE_HEAD - TRACE_TAIL) + " more frames]\n")
        if TRACE_HEAD <= at < len(runs) - TRACE_TAIL:
            continue
        lines.append(frame_text(code, line))
        if count > 1:
            lines.append("  [the same frame " + str(count - 1) + " more times]\n")
    lines += last_lines(problem)
    return "".join(lines)


def own_frames(step):
    """The program's frames as `[code, line, how often in a row]`."""
    runs = []
    while step is not None:
        code = step.tb_frame.f_code
        if is_own_file(code.co_filename):
            if runs and runs[-1][0] is code and runs[-1][1] == step.tb_lineno:
                runs[-1][2] += 1
            else:
                runs.append([code, step.tb_lineno, 1])
        step = step.tb_next
    return runs


def frame_text(code, line):
    name = getattr(code, "co_qualname", code.co_name)
    text = '  File "' + code.co_filename + '", line ' + str(line) + ", in " + name + "\n"
    source = linecache.getline(code.co_filename, line).strip()
    return text + ("    " + cut_text(source, 300) + "\n" if source else "")


def last_lines(problem):
    try:
        # Without a limit of zero it would read the sources of every frame.
        details = traceback.TracebackException(type(problem), problem, problem.__traceback__, limit=0)
        lines = list(details.format_exception_only())
    except Exception:
        return [type_name(type(problem)) + ": " + safe_text(problem) + "\n"]
    for inner in getattr(problem, "exceptions", None) or ():
        if len(lines) > 10:
            break
        lines.append("  - " + type_name(type(inner)) + ": " + cut_text(safe_text(inner), 300) + "\n")
    return lines


def is_own_file(filename):
    if filename.startswith("<eval"):
        return True
    folder = enter_folder.entered
    return folder is not None and filename.startswith(folder.rstrip("/") + "/") and "site-packages" not in filename
