

# Part 4: figures and images.

IMAGES_MAX = 8
# Before base64; the frame holds 2,000,000 bytes.
IMAGE_BYTES_MAX = 1_400_000
# Larger ones are made smaller at once: no model sees more, and drawing them takes seconds.
IMAGE_PIXELS_MAX = 4_000_000
# Attempts to make an image smaller.
SHRINK_ATTEMPTS = 4


class Images:
    """Sends the figures and images of one eval."""

    def __init__(self, channel, eval_id):
        self.channel = channel
        self.eval_id = eval_id
        self.sent = 0
        self.left_out = 0
        self.shown = set()

    def show(self, value):
        """Sends it when it is an image; says whether it is one."""
        if is_figure(value):
            data = self.draw(value)
            self.shown.add(id(value))
        elif is_pillow_image(value):
            data = self.pillow(value)
        elif hasattr(type(value), "_repr_png_"):
            data = value._repr_png_()
            if data is None:
                return False
            data = base64.b64decode(data) if isinstance(data, str) else bytes(data)
        else:
            return False
        self.send(data)
        return True

    def send(self, data):
        if self.sent >= IMAGES_MAX:
            self.left_out += 1
            return
        if data is None or len(data) > IMAGE_BYTES_MAX:
            note("an image of more than " + format(IMAGE_BYTES_MAX, ",") + " bytes was left out")
            return
        self.sent += 1
        frame = {"type": "display", "evalId": self.eval_id, "mimeType": "image/png"}
        frame["data"] = base64.b64encode(data).decode("ascii")
        self.channel.send(encode_json(frame).encode("utf-8"))

    def draw(self, figure):
        if self.sent >= IMAGES_MAX:
            return b""
        width, height = figure.get_size_inches() if hasattr(figure, "get_size_inches") else (6.4, 4.8)
        dpi = min(float(figure.dpi), math.sqrt(IMAGE_PIXELS_MAX / max(1.0, width * height)))
        for _ in range(SHRINK_ATTEMPTS):
            target = io.BytesIO()
            figure.savefig(target, format="png", dpi=dpi, bbox_inches="tight")
            size = target.tell()
            if size <= IMAGE_BYTES_MAX:
                return target.getvalue()
            dpi *= 0.9 * math.sqrt(IMAGE_BYTES_MAX / size)
        return None

    def pillow(self, image):
        if self.sent >= IMAGES_MAX:
            return b""
        if image.mode not in ("1", "L", "LA", "I", "I;16", "P", "RGB", "RGBA"):
            image = image.convert("RGB")
        if image.width * image.height > IMAGE_PIXELS_MAX:
            image = shrink(image, math.sqrt(IMAGE_PIXELS_MAX / (image.width * image.height)))
        for _ in range(SHRINK_ATTEMPTS):
            target = io.BytesIO()
            image.save(target, format="PNG")
            size = target.tell()
            if size <= IMAGE_BYTES_MAX:
                return target.getvalue()
            image = shrink(image, 0.9 * math.sqrt(IMAGE_BYTES_MAX / size))
        return None

    def show_open_figures(self):
        """Shows and closes what pyplot still holds, in the order in which it was made."""
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers is None:
            return
        try:
            for manager in list(helpers.Gcf.get_all_fig_managers()):
                figure = manager.canvas.figure
                # One that has nothing but its background was made by a program that failed, or is of no interest.
                if id(figure) not in self.shown and len(figure.get_children()) > 1:
                    self.show(figure)
            self.close_figures()
        except Exception as problem:
            note("a figure could not be drawn: " + type_name(type(problem)) + ": " + cut_text(str(problem), 500))
            self.close_figures()

    def close_figures(self):
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers is not None:
            try:
                helpers.Gcf.destroy_all()
            except Exception:
                # They end with the process.
                pass

    def finish(self):
        if self.left_out:
            note(str(IMAGES_MAX) + " images are shown per eval; " + str(self.left_out) + " more were left out")


def is_figure(value):
    figures = sys.modules.get("matplotlib.figure")
    kind = getattr(figures, "FigureBase", None) or getattr(figures, "Figure", None)
    return kind is not None and isinstance(value, kind) and hasattr(value, "savefig")


def is_pillow_image(value):
    kind = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return kind is not None and isinstance(value, kind)


def shrink(image, scale):
    mode = "RGBA" if image.mode in ("LA", "P", "RGBA") else "RGB"
    return image.convert(mode).resize((max(1, int(image.width * scale)), max(1, int(image.height * scale))))


def note(text):
    """A remark of the worker, on the program's standard error."""
    try:
        sys.stderr.write("[eval] " + text + "\n")
    except Exception:
        # The program has closed it.
        pass


def make_display(images):
    def display(*values):
        for value in values:
            try:
                is_image = images.show(value)
            except Exception as problem:
                raise ValueError("the image could not be drawn: " + str(problem)) from problem
            if not is_image:
                print(value if isinstance(value, str) else rich_text(value))

    made = narrow(display)
    made.__doc__ = "Shows figures and images; prints anything else."
    return made


def prepare_figures():
    """Figures are drawn without a window. Set by environment, so that matplotlib need not be imported for it."""
    os.environ["MPLBACKEND"] = "agg"
    warnings.filterwarnings("ignore", r"(?s)(Matplotlib is currently using agg|FigureCanvasAgg is non-interactive)")
    prepare_font_cache()


def prepare_font_cache():
    """Where the home folder is not writable, a private folder keeps matplotlib's list of fonts for the session.

    Without it every eval that draws would search all fonts again, which takes seconds, and warn about it.
    """
    temp = os.environ.get("TMPDIR")
    if not temp or "MPLCONFIGDIR" in os.environ:
        return
    home = os.path.expanduser("~")
    settings = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "matplotlib")
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), "matplotlib")
    if os.access(settings, os.W_OK) and os.access(cache, os.W_OK):
        return
    target = os.path.join(temp, "matplotlib")
    try:
        if not os.path.isdir(target):
            os.mkdir(target, 0o700)
            for name in os.listdir(cache) if os.path.isdir(cache) else ():
                if name.startswith("fontlist-") and name.endswith(".json"):
                    with open(os.path.join(cache, name), "rb") as source:
                        data = source.read()
                    with open(os.path.join(target, name), "wb") as copy:
                        copy.write(data)
    except OSError:
        # matplotlib then finds a folder of its own.
        return
    os.environ["MPLCONFIGDIR"] = target
    rules = os.path.join(settings, "matplotlibrc")
    if "MATPLOTLIBRC" not in os.environ and os.path.isfile(rules):
        os.environ["MATPLOTLIBRC"] = rules
