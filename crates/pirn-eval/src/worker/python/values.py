

# Part 3: values as JSON. Inputs and state pass whole or are refused; results are made to fit, and every loss is named.

STATE_BYTES_MAX = 1_000_000
STATE_NODES_MAX = 100_000
# Deeper values cannot be read back by every JSON reader on the way.
JSON_DEPTH_MAX = 500
# An input of more values cannot fit into a frame anyway: each takes two bytes at least.
INPUT_NODES_MAX = 1_000_000
# Room for the rest of the frame of a call.
INPUT_BYTES_MAX = FRAME_BYTES_MAX - 1_000
# Longer integers are refused by Python's own conversion to text (4,300 digits).
INTEGER_LIMIT = 1 << 14_280

RESULT_DEPTH_MAX = 12
RESULT_ENTRIES_MAX = 2_000
RESULT_NODES_MAX = 50_000
# What all strings of a result may take together, so that it fits into a frame beside the largest state.
RESULT_TEXT_BYTES_MAX = 800_000
LOSSES_MAX = 40


class NotJson(Exception):
    """A value that JSON does not have, or has only changed."""


def input_json(value):
    """The JSON of an input, exact, or NotJson."""
    if not is_flat(value):
        check_json(value, "input", INPUT_NODES_MAX)
    data = exact_json(value, "input")
    if len(data) > INPUT_BYTES_MAX:
        raise NotJson(
            "it has " + format(len(data), ",") + " bytes as JSON and " + format(INPUT_BYTES_MAX, ",") + " is the limit; "
            "write it to a file and pass the path"
        )
    return data


def state_json(value):
    """The JSON of the state, exact, or NotJson with the kind of error as second argument."""
    if not isinstance(value, dict):
        raise NotJson("`state` must be a dict, not " + type(value).__name__, "StateInvalid")
    try:
        check_json(value, "state", STATE_NODES_MAX)
        data = exact_json(value, "state")
    except NotJson as problem:
        raise NotJson(problem.args[0], problem.args[1] if len(problem.args) > 1 else "StateInvalid") from None
    if len(data) > STATE_BYTES_MAX:
        raise NotJson(
            "`state` has " + format(len(data), ",") + " bytes as JSON and " + format(STATE_BYTES_MAX, ",") + " is the limit",
            "StateTooLarge",
        )
    return data


def exact_json(value, root):
    try:
        # Checked before, so a RecursionError here is the program's own: it has used up the stack.
        return with_stack(encode_json, value).encode("utf-8")
    except UnicodeEncodeError:
        raise NotJson(root + " has a string with a lone surrogate, which UTF-8 cannot hold") from None
    except RecursionError:
        raise
    except (ValueError, TypeError, RuntimeError) as problem:
        raise NotJson(root + " cannot be written as JSON: " + str(problem)) from None


def is_flat(value):
    """Whether it is a dict of texts and small integers, as most inputs are: those need no closer look."""
    if type(value) is not dict:
        return False
    for key, entry in value.items():
        kind = type(entry)
        is_text = kind is str or kind is bool or entry is None
        if type(key) is not str or not (is_text or kind is int and -INTEGER_LIMIT < entry < INTEGER_LIMIT):
            return False
    return True


def check_json(root, name, nodes_max):
    """Refuses what JSON would lose or change. Does not recurse; shared values are fine, cycles are not."""
    stack = [iter((root,))]
    containers = []
    on_path = set()
    nodes = 0
    while stack:
        for value in stack[-1]:
            nodes += 1
            kind = type(value)
            if kind is str or kind is bool or value is None:
                continue
            if kind is int or isinstance(value, int):
                if -INTEGER_LIMIT < value < INTEGER_LIMIT:
                    continue
                raise NotJson(place(name, containers, value) + " is an integer of more than 4,300 digits")
            if isinstance(value, float):
                if value - value == 0.0:
                    continue
                raise NotJson(place(name, containers, value) + " is " + repr(float(value)) + ", which JSON does not have")
            if isinstance(value, str):
                continue
            if isinstance(value, dict):
                for key in value:
                    if not isinstance(key, str):
                        raise NotJson(
                            place(name, containers, value) + " has a key that is not a string: " + short_repr(key)
                        )
                children = iter(value.values())
            elif isinstance(value, (list, tuple)):
                children = iter(value)
            else:
                raise NotJson(place(name, containers, value) + " is " + advice(value))
            if id(value) in on_path:
                raise NotJson(place(name, containers, value) + " contains itself")
            if len(containers) >= JSON_DEPTH_MAX:
                raise NotJson(name + " is nested deeper than " + str(JSON_DEPTH_MAX))
            on_path.add(id(value))
            containers.append(value)
            stack.append(children)
            break
        else:
            stack.pop()
            if containers:
                on_path.discard(id(containers.pop()))
        if nodes > nodes_max:
            raise NotJson(name + " has more than " + format(nodes_max, ",") + " values", "StateTooLarge")


def place(name, containers, value):
    """Where a value is, such as `input.rows[3]`; found by identity, for messages only."""
    text = name
    for parent, child in zip(containers, containers[1:] + [value]):
        if isinstance(parent, dict):
            key = next((key for key, entry in parent.items() if entry is child), "?")
            text += "." + key if key.isidentifier() and len(key) < 60 else "[" + short_repr(key) + "]"
        else:
            text += "[" + str(next((at for at, entry in enumerate(parent) if entry is child), "?")) + "]"
        if len(text) > 300:
            return text[:300] + "\u2026"
    return text


def advice(value):
    kind = type(value)
    name = type_name(kind)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return name + ", which JSON does not have: pass text (.decode()) or base64.b64encode(\u2026).decode()"
    if isinstance(value, (set, frozenset)):
        return "a " + name + ", which JSON does not have: pass a list"
    if name.startswith("numpy."):
        return name + ", which JSON does not have: pass .tolist() or .item()"
    if name.startswith("pandas."):
        return name + ", which JSON does not have: pass .to_dict('records') or .tolist()"
    if name.startswith("datetime."):
        return name + ", which JSON does not have: pass .isoformat()"
    if hasattr(kind, "__fspath__"):
        return name + ", which JSON does not have: pass str(\u2026)"
    if isinstance(value, types.CoroutineType):
        return "a coroutine that was not awaited"
    return name + ", which JSON does not have: pass strings, numbers, lists and dicts"


def type_name(kind):
    module = getattr(kind, "__module__", None)
    name = str(getattr(kind, "__qualname__", kind))
    return name if module in ("builtins", "__main__", None) else str(module) + "." + name


def short_repr(value):
    return cut_text(safe_repr(value), 80)


def safe_repr(value):
    try:
        return repr(value)
    except Exception as problem:
        return "<" + type_name(type(value)) + " whose repr raised " + type_name(type(problem)) + ">"


def clean_text(text):
    """Text that UTF-8 can hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def cut_text(text, bytes_max, marker="\u2026"):
    """At most so many bytes of UTF-8, cut between characters, the marker included."""
    text = clean_text(text[: bytes_max + 1])
    data = text.encode("utf-8")
    if len(data) <= bytes_max:
        return text
    mark = marker.encode("utf-8")
    if len(mark) > bytes_max:
        return data[:bytes_max].decode("utf-8", "ignore")
    return data[: bytes_max - len(mark)].decode("utf-8", "ignore") + marker


def cut_middle(text, bytes_max, marker="\n[\u2026 cut \u2026]\n"):
    """As `cut_text`, keeping the beginning and the end."""
    text = clean_text(text)
    data = text.encode("utf-8")
    if len(data) <= bytes_max:
        return text
    room = bytes_max - len(marker.encode("utf-8"))
    if room < 64:
        return cut_text(text, bytes_max)
    head = room // 3
    return data[:head].decode("utf-8", "ignore") + marker + data[len(data) - (room - head) :].decode("utf-8", "ignore")


class Losses:
    """What a result could not carry, in words, bounded."""

    def __init__(self):
        self.lines = []
        self.more = 0

    def note(self, where, what):
        if len(self.lines) < LOSSES_MAX:
            self.lines.append(cut_text(where + ": " + what, 300))
        else:
            self.more += 1

    def as_list(self):
        return self.lines + (["and " + str(self.more) + " more"] if self.more else [])


class Converter:
    """Makes a result of any value: plain JSON where it is that, text where it is not."""

    def __init__(self, text_bytes_max, losses):
        self.text_bytes_max = text_bytes_max
        self.text_bytes_left = RESULT_TEXT_BYTES_MAX
        self.nodes_left = RESULT_NODES_MAX
        self.losses = losses
        self.path = set()

    def result(self, value):
        """`(value, text)`, one of them None."""
        plain = unwrap(value)
        if plain is None or isinstance(plain, (bool, int, float, str, list, tuple, dict, set, frozenset)):
            if isinstance(plain, (list, tuple)) and plain and all(is_drawing(entry) for entry in plain):
                return None, cut_text(safe_repr(value), min(self.text_bytes_max, 200))
            return self.convert(plain, "value", 1), None
        return None, self.cut(rich_text(value), "value")

    def convert(self, value, where, depth):
        self.nodes_left -= 1
        value = unwrap(value)
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self.cut(str.__str__(value), where)
        if isinstance(value, int):
            if -INTEGER_LIMIT < value < INTEGER_LIMIT:
                return int(value)
            self.losses.note(where, "an integer of " + format(value.bit_length(), ",") + " bits became text")
            return "<integer of " + str(value.bit_length()) + " bits>"
        if isinstance(value, float):
            if value - value == 0.0:
                return float(value)
            self.losses.note(where, repr(float(value)) + " became null")
            return None
        if isinstance(value, (list, tuple, dict, set, frozenset)):
            return self.convert_container(value, where, depth)
        self.losses.note(where, "a " + type_name(type(value)) + " became text")
        return self.cut(safe_repr(value), where)

    def convert_container(self, value, where, depth):
        if id(value) in self.path:
            self.losses.note(where, "a cycle became text")
            return "<cycle>"
        if depth > RESULT_DEPTH_MAX:
            self.losses.note(where, "nested deeper than " + str(RESULT_DEPTH_MAX) + " became text")
            return "<nested deeper than " + str(RESULT_DEPTH_MAX) + ">"
        if isinstance(value, (set, frozenset)):
            self.losses.note(where, "a " + type_name(type(value)) + " became a list")
        self.path.add(id(value))
        try:
            if isinstance(value, dict):
                return self.convert_dict(value, where, depth)
            made = []
            for at, entry in enumerate(value):
                if at >= RESULT_ENTRIES_MAX or self.is_spent():
                    self.losses.note(where, self.left_out(len(value) - at))
                    break
                made.append(self.convert(entry, where + "[" + str(at) + "]", depth + 1))
            return made
        finally:
            self.path.discard(id(value))

    def convert_dict(self, value, where, depth):
        made = {}
        for at, (key, entry) in enumerate(value.items()):
            if at >= RESULT_ENTRIES_MAX or self.is_spent():
                self.losses.note(where, self.left_out(len(value) - at))
                break
            if not isinstance(key, str):
                text = key_text(key)
                if not isinstance(key, (int, float)) and key is not None:
                    self.losses.note(where, "the key " + short_repr(key) + " became text")
                elif text in made or text in value:
                    self.losses.note(where, "the keys " + short_repr(key) + " and " + short_repr(text) + " became one")
                key = text
            key = self.cut(str.__str__(key), where)
            below = where + "." + key if key.isidentifier() and len(key) < 60 else where + "[" + short_repr(key) + "]"
            made[key] = self.convert(entry, below, depth + 1)
        return made

    def is_spent(self):
        return self.nodes_left <= 0 or self.text_bytes_left <= 0

    def left_out(self, count):
        return format(count, ",") + (" entry was" if count == 1 else " entries were") + " left out"

    def cut(self, text, where):
        room = max(0, min(self.text_bytes_max, self.text_bytes_left))
        made = cut_text(text, room)
        if len(made) < len(text):
            self.losses.note(where, "a text of " + format(len(text), ",") + " characters was cut")
        elif made != text:
            self.losses.note(where, "a text with a lone surrogate was changed")
        self.text_bytes_left -= len(made.encode("utf-8"))
        return made


def key_text(key):
    """As JSON writers spell keys."""
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int) and not -INTEGER_LIMIT < key < INTEGER_LIMIT:
        return "<integer of " + str(key.bit_length()) + " bits>"
    return repr(key + 0) if isinstance(key, (int, float)) else safe_repr(key)


def unwrap(value):
    """numpy's numbers, and arrays of a size that people read, as Python's."""
    kind = type(value)
    if kind in (str, int, float, bool, list, dict) or value is None or "numpy" not in sys.modules:
        return value
    if not str(getattr(kind, "__module__", "")).startswith("numpy"):
        return value
    numpy = sys.modules["numpy"]
    try:
        if isinstance(value, numpy.generic) and isinstance(value.item(), (bool, int, float, str)):
            return value.item()
        if isinstance(value, numpy.ndarray) and value.size <= RESULT_ENTRIES_MAX and value.dtype.kind in "biufU":
            return value.tolist()
    except Exception:
        # A broken or half-loaded numpy: its repr is tried next.
        pass
    return value


def rich_text(value):
    """A table or any other object as people read it."""
    try:
        if str(type(value).__module__).startswith("pandas.") and "pandas" in sys.modules:
            options = ("display.width", 200, "display.max_columns", 30, "display.max_colwidth", 100)
            with sys.modules["pandas"].option_context(*options):
                return repr(value)
    except Exception:
        # As any other object.
        pass
    return safe_repr(value)


def is_drawing(value):
    """Whether it is a part of a figure, as the plotting functions return them."""
    return str(getattr(type(value), "__module__", "")).startswith("matplotlib.")
