

# Part 2: `tool`, as programs see it.

# How many calls of `tool.parallel` may be under way.
PARALLEL_MAX = 32
CAPABILITY_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}\Z")


# What scripts call the ways to fail, as `error.kind`; any other is a failure of the tool itself.
FAILURE_KINDS = {
    "CapabilityUnknown": "not_found",
    "CapabilityNotAdmitted": "denied",
    "InputInvalid": "invalid_arguments",
    "EvalOver": "cancelled",
}


class ToolError(Exception):
    """A call of a tool failed. `name` says how, such as `CapabilityUnknown`; `kind` says it as scripts do."""

    def __init__(self, message, name="ToolError"):
        super().__init__(message)
        self.name = name
        self.kind = FAILURE_KINDS.get(name, "failed")

    def __reduce__(self):
        return (ToolError, (self.args[0], self.name))


ToolError.__module__ = "builtins"
ToolError.__qualname__ = "ToolError"


def make_tool(channel, capabilities):
    """Makes the object of one eval. Its methods see what they need as cells, and nothing of the worker's globals."""
    known = {capability["name"]: capability for capability in capabilities}
    spelled = {name: encode_json(name).encode("utf-8") for name in known}

    def prepare(name, value):
        if not isinstance(name, str):
            raise TypeError("the name of a tool must be a string, not " + type(name).__name__)
        if len(name) > 64:
            raise ToolError("no tool has a name of " + str(len(name)) + " characters", "CapabilityUnknown")
        if not isinstance(value, dict):
            raise TypeError(
                "the input of tool." + name + " must be a dict or keyword arguments, not " + type(value).__name__
            )
        try:
            data = input_json(value)
        except NotJson as problem:
            raise ToolError("the input of tool." + name + " was not sent: " + str(problem), "InputInvalid") from None
        return spelled.get(name) or encode_json(clean_text(name)).encode("utf-8"), data

    def run(names, calls, at_once):
        try:
            answers = channel.call_all(calls, at_once)
        except EvalOver as over:
            raise ToolError(str(over), "EvalOver") from None
        try:
            return [answer["value"] for answer in answers]
        except (KeyError, TypeError):
            # A failure: what was not started because of it has no answer.
            for name, answer in zip(names, answers):
                if answer is not None and not answer["ok"]:
                    raise failure(name, answer.get("error") or {}) from None
            return [answer.get("value") for answer in answers]

    def failure(name, error):
        kind = str(error.get("name") or "CapabilityFailed")
        message = str(error.get("message") or "the call failed")
        if name not in known:
            close = [other for other in difflib.get_close_matches(name, list(known), 3, 0.5) if other not in message]
            if close:
                message += " (did you mean " + " or ".join("tool." + other for other in close) + "?)"
        return ToolError(message, kind)

    def call(name, input=None):
        return run((name,), (prepare(name, {} if input is None else input),), 1)[0]

    def shorthand(name):
        def function(*positional, **keywords):
            if not positional:
                return call(name, keywords)
            if len(positional) == 1 and not keywords and isinstance(positional[0], dict):
                return call(name, positional[0])
            properties = ((known.get(name) or {}).get("parameters") or {}).get("properties") or {}
            wanted = " (" + ", ".join(list(properties)[:12]) + ")" if properties else ""
            raise TypeError("tool." + name + " takes keyword arguments" + wanted + " or one dict")

        function.__name__ = function.__qualname__ = name
        function.__module__ = "tool"
        function.__doc__ = (known.get(name) or {}).get("description")
        return narrow(function)

    def parallel(calls, max_workers=4):
        if isinstance(max_workers, bool) or not isinstance(max_workers, int) or not 1 <= max_workers <= PARALLEL_MAX:
            raise ValueError("max_workers must be a number from 1 to " + str(PARALLEL_MAX))
        names = []
        prepared = []
        for position, entry in enumerate(calls):
            if isinstance(entry, dict) and "name" in entry and not set(entry) - {"name", "input"}:
                name, value = entry["name"], entry.get("input")
            elif isinstance(entry, (tuple, list)) and len(entry) == 2:
                name, value = entry
            else:
                raise TypeError(
                    "call " + str(position) + " must be {'name': \u2026, 'input': {\u2026}} or (name, input); "
                    "tool.parallel makes the calls itself, so do not call the tools in the list"
                )
            names.append(name)
            prepared.append(prepare(name, {} if value is None else value))
        return run(names, prepared, max_workers)

    def listing():
        return decode_json(encode_json(capabilities))[0]

    def attribute(self, name):
        if not CAPABILITY_NAME.match(name):
            raise AttributeError("tool has no attribute " + repr(name))
        # An unknown name is called all the same: the host says what there is, and keeps a receipt.
        function = shorthand(name)
        if name in known:
            # Found by the interpreter itself from now on, which is faster.
            setattr(kind, name, staticmethod(function))
        return function

    def refuse(self, name, *_):
        raise AttributeError("tool cannot be changed")

    names = sorted(known)
    methods = {
        "__slots__": (),
        "__doc__": "What the program may call: tool.list() says what there is.",
        "__module__": "builtins",
        "call": staticmethod(narrow(call)),
        "list": staticmethod(narrow(listing, "list")),
        "parallel": staticmethod(narrow(parallel)),
        "ToolError": ToolError,
        "__getattr__": narrow(attribute),
        "__setattr__": narrow(refuse),
        "__delattr__": narrow(refuse),
        "__dir__": narrow(lambda self: ["call", "list", "parallel", *names], "__dir__"),
        "__repr__": narrow(lambda self: "<tool: " + (", ".join(names) or "nothing to call") + ">", "__repr__"),
        "__reduce__": narrow(lambda self: refuse(self, "__reduce__"), "__reduce__"),
    }
    kind = type("tool", (), methods)
    return kind()


def narrow(function, name=None):
    """The same function without the worker's globals behind it, so that no program stumbles into them.

    This is for integrity, not isolation: a program that means to can still find the frames of its callers.
    """
    code = function.__code__
    seen = narrow_globals.get(code)
    if seen is None:
        names = code.co_names + nested_names(code)
        seen = {key: globals()[key] for key in names if key in globals() and not key.startswith("__")}
        seen["__builtins__"] = builtins.__dict__
        narrow_globals[code] = seen
    made = types.FunctionType(
        code, seen, name or function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__doc__ = function.__doc__
    made.__qualname__ = name or function.__qualname__.rsplit(".", 1)[-1]
    made.__module__ = "tool"
    return made


# By code: made once, in a zygote for all its forks.
narrow_globals = {}


def nested_names(code):
    found = ()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += constant.co_names + nested_names(constant)
    return found
