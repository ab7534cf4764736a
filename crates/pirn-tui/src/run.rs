//! The one thread that owns the terminal, and sleeps while nothing comes.

use std::io;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use pirn_terminal::{
    AlternatePainter, ColorDepth, Connection, Decoder, Device, DeviceModes, Frame, InlinePainter,
    Input, Palette, PlainPainter, Scheme, TerminalColor, TerminalReply, Theme, Waker, Woken,
};

use crate::app::{App, AppOptions, Cursor, Request};
use crate::event::{Draft, Order, Presentation, UiEvent};

/// How often what streams is drawn: more is not seen, and costs bytes.
const FRAME: Duration = Duration::from_millis(33);
/// Bytes from which a frame is worth the marks that make it appear at once.
const SYNCHRONISED_BYTES: usize = 200;
/// How long input that was typed before the end may still arrive.
const SETTLE: Duration = Duration::from_millis(30);

/// How long after a change the draft is kept: a crash costs less than half a second of writing.
const DRAFT_DELAY: Duration = Duration::from_millis(250);

/// How the interface is shown.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// What it begins with.
    pub app: AppOptions,
    /// How many colours the terminal shows.
    pub depth: ColorDepth,
    /// The user's theme; the terminal's own palette without one.
    pub theme: Option<Theme>,
    /// Whether the terminal is near.
    pub connection: Connection,
}

/// Tells the interface what happens. Never waits. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventSender {
    events: Sender<UiEvent>,
    waker: Waker,
}

impl EventSender {
    /// Tells it. What comes after the interface has ended is told to nobody.
    pub fn send(&self, event: UiEvent) {
        if self.events.send(event).is_ok() {
            self.waker.wake();
        }
    }

    /// Has the interface look at the terminal's size again.
    pub fn resized(&self) {
        self.waker.wake();
    }
}

/// Who carries out what the interface wants. Called on the thread of the terminal: nothing in it may wait.
pub trait Outside {
    /// Carries an order out, or begins to.
    fn order(&mut self, order: Order);

    /// Stops the process until the shell goes on with it. The terminal is the shell's meanwhile.
    fn suspend(&mut self);

    /// The second screen is shown from now on, or the first one again.
    fn alternate_screen(&mut self, is_shown: bool);

    /// Opens a text in the user's editor and waits until it is left. The terminal is the editor's meanwhile.
    fn edit(&mut self, text: &str) -> Result<String, String>;

    /// Keeps what is written and not sent, so that it survives the end of the process.
    fn keep_draft(&mut self, draft: Draft);

    /// Keeps a message among those that were said before.
    fn remember(&mut self, text: String);
}

/// Shows the interface until it is left. `start` is given the way to tell it what happens.
pub fn run<O: Outside>(
    options: RunOptions,
    start: impl FnOnce(EventSender) -> O,
) -> io::Result<()> {
    let modes = match options.app.cursor {
        Cursor::Moves => DeviceModes::All,
        Cursor::Stays => DeviceModes::None,
    };
    let (device, waker) = Device::open(modes)?;
    let (events, received) = mpsc::channel();
    let outside = start(EventSender { events, waker });
    let (columns, rows) = device.size();
    let palette = Palette {
        theme: options
            .theme
            .clone()
            .unwrap_or_else(|| Theme::system(Scheme::Dark)),
        depth: options.depth,
    };
    let mut screen = Screen {
        device,
        viewer: AlternatePainter::new(palette.clone()),
        painter: InlinePainter::new(palette, columns, rows),
        plain: PlainPainter::default(),
        drawn_as: Presentation::default(),
        size: (columns, rows),
        was_resized: false,
        app: App::new(options.app),
        decoder: Decoder::new(options.connection),
        received,
        outside,
        begun: Instant::now(),
        drawn_at: None,
        is_stale: true,
        draft: Draft::default(),
        draft_is_due: None,
        is_synchronised: false,
        colors: match options.theme {
            Some(_) => Colors::User,
            None => Colors::Terminal,
        },
        depth: options.depth,
    };
    screen.drawn_as = screen.app.presentation();
    screen.live()
}

/// Where the theme comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colors {
    User,
    /// The palette of the terminal, for dark or light as it says.
    Terminal,
}

struct Screen<O> {
    device: Device,
    painter: InlinePainter,
    viewer: AlternatePainter,
    plain: PlainPainter,
    /// How the conversation was drawn last.
    drawn_as: Presentation,
    size: (usize, usize),
    /// The first screen has not been drawn since the size changed.
    was_resized: bool,
    app: App,
    decoder: Decoder,
    received: Receiver<UiEvent>,
    outside: O,
    begun: Instant,
    drawn_at: Option<Instant>,
    /// Something happened that is not drawn yet.
    is_stale: bool,
    /// The draft as it was kept last.
    draft: Draft,
    /// When it is looked whether the draft has changed.
    draft_is_due: Option<Instant>,
    /// The terminal shows a frame at once where it is marked.
    is_synchronised: bool,
    colors: Colors,
    depth: ColorDepth,
}

impl<O: Outside> Screen<O> {
    fn live(&mut self) -> io::Result<()> {
        self.draw();
        self.device.ask();
        loop {
            let woken = self.device.wait(self.patience())?;
            match woken {
                Woken::Bytes(bytes) => {
                    let inputs = self.decoder.push(&bytes);
                    self.inputs(&inputs);
                }
                Woken::Late => {
                    if self.decoder.patience().is_some() {
                        let inputs = self.decoder.expire();
                        self.inputs(&inputs);
                    }
                    self.is_stale = true;
                }
                Woken::Called => {}
                Woken::Gone => return Ok(()),
            }
            while let Ok(event) = self.received.try_recv() {
                if matches!(event, UiEvent::Queue { .. } | UiEvent::Draft(_)) {
                    self.draft_may_differ();
                }
                self.app.event(event, self.begun.elapsed());
                self.is_stale = true;
            }
            self.resize();
            for order in self.app.take_orders() {
                self.outside.order(order);
            }
            for request in self.app.take_requests() {
                match request {
                    Request::Leave => return self.leave(),
                    Request::Suspend => self.suspend()?,
                    Request::Copy(text) => self.copy(&text),
                    Request::Notify(words) => self.notify(words),
                    Request::Remember(text) => self.outside.remember(text),
                    Request::Edit(text) => self.edit(&text)?,
                }
            }
            if self.draft_is_due.is_some_and(|at| at <= Instant::now()) {
                self.keep_draft();
            }
            if self.is_stale && self.may_draw() {
                self.draw();
            }
        }
    }

    /// How long nothing has to be done.
    fn patience(&self) -> Option<Duration> {
        let frame = (self.is_stale && !self.device.is_behind()).then(|| {
            self.drawn_at
                .map_or(Duration::ZERO, |at| FRAME.saturating_sub(at.elapsed()))
        });
        let app = self.app.patience(self.begun.elapsed());
        let draft = self
            .draft_is_due
            .map(|at| at.saturating_duration_since(Instant::now()));
        frame
            .into_iter()
            .chain(app)
            .chain(draft)
            .chain(self.decoder.patience())
            .min()
    }

    fn may_draw(&self) -> bool {
        !self.device.is_behind() && self.drawn_at.is_none_or(|at| at.elapsed() >= FRAME)
    }

    fn inputs(&mut self, inputs: &[Input]) {
        if inputs.is_empty() {
            return;
        }
        for input in inputs {
            if let Input::Reply(reply) = input {
                self.reply(reply);
            }
        }
        self.app.inputs(inputs, self.begun.elapsed());
        self.draft_may_differ();
        self.is_stale = true;
        // A key is drawn at once.
        self.drawn_at = None;
    }

    fn draft_may_differ(&mut self) {
        self.draft_is_due
            .get_or_insert_with(|| Instant::now() + DRAFT_DELAY);
    }

    fn keep_draft(&mut self) {
        self.draft_is_due = None;
        let draft = self.app.draft();
        if draft != self.draft {
            self.draft = draft.clone();
            self.outside.keep_draft(draft);
        }
    }

    fn reply(&mut self, reply: &TerminalReply) {
        match reply {
            TerminalReply::Mode {
                mode: 2026,
                state: 1 | 2,
            } => self.is_synchronised = true,
            TerminalReply::Color {
                which: TerminalColor::Background,
                rgb,
            } if self.colors == Colors::Terminal => {
                let [red, green, blue] = rgb.map(u32::from);
                let is_light = red * 299 + green * 587 + blue * 114 > 128_000;
                self.scheme(if is_light {
                    Scheme::Light
                } else {
                    Scheme::Dark
                });
            }
            TerminalReply::Scheme(scheme) if self.colors == Colors::Terminal => {
                self.scheme(*scheme);
            }
            TerminalReply::Mode { .. }
            | TerminalReply::Color { .. }
            | TerminalReply::Scheme(_)
            | TerminalReply::KeyboardFlags(_)
            | TerminalReply::Attributes
            | TerminalReply::Version(_) => {}
        }
    }

    fn scheme(&mut self, scheme: Scheme) {
        if scheme == Scheme::Light {
            let theme = Theme::system(scheme);
            let palette = Palette {
                theme,
                depth: self.depth,
            };
            self.viewer.set_palette(palette.clone());
            self.painter.set_palette(palette);
        }
    }

    fn resize(&mut self) {
        let (columns, rows) = self.device.size();
        if (columns, rows) != self.size {
            self.size = (columns, rows);
            self.was_resized = true;
            self.viewer.forget();
            self.is_stale = true;
            self.drawn_at = None;
        }
    }

    fn draw(&mut self) {
        let was_shown = self.viewer.is_shown();
        let bytes = self.next_frame();
        let is_shown = self.viewer.is_shown();
        // Before the switch to it and after the switch from it: whenever Pirn is killed, it is known where to switch back from.
        if is_shown && !was_shown {
            self.outside.alternate_screen(true);
        }
        self.write_frame(&bytes);
        if was_shown && !is_shown {
            self.outside.alternate_screen(false);
        }
    }

    /// What has to be written so that the terminal shows what there is now. What was shown otherwise is taken away.
    fn next_frame(&mut self) -> String {
        let (columns, rows) = self.size;
        if let Some(rows) = self.app.viewer_rows(columns, rows) {
            return self.viewer.draw(&rows);
        }
        let presentation = self.app.presentation();
        if presentation != self.drawn_as {
            self.clear();
            self.drawn_as = presentation;
        }
        let now = self.begun.elapsed();
        match presentation {
            Presentation::Inline => {
                // The first screen is as it was left, unless the size has changed.
                self.device.write(self.viewer.leave());
                if std::mem::take(&mut self.was_resized) {
                    self.painter.resize(columns, rows);
                }
                let frame = self.app.frame(columns, rows, now);
                self.painter.draw(&frame)
            }
            Presentation::FullScreen => {
                let (rows, cursor) = self.app.full_screen(columns, rows, now);
                self.viewer.draw_with_cursor(&rows, cursor)
            }
            Presentation::Plain => {
                self.device.write(self.viewer.leave());
                let frame = self.app.plain(columns, now);
                self.plain.draw(&frame.finished, &frame.told, &frame.line)
            }
        }
    }

    /// Takes away what the presentation so far has on the screen that is not finished.
    fn clear(&mut self) {
        self.device.write(self.viewer.leave());
        let bytes = match self.drawn_as {
            Presentation::Inline => self.painter.erase(),
            Presentation::FullScreen => String::new(),
            Presentation::Plain => self.plain.leave().to_owned(),
        };
        self.device.write(&bytes);
    }

    fn write_frame(&mut self, bytes: &str) {
        if self.is_synchronised && bytes.len() > SYNCHRONISED_BYTES {
            self.device
                .write(&format!("\u{1b}[?2026h{bytes}\u{1b}[?2026l"));
        } else {
            self.device.write(bytes);
        }
        self.drawn_at = Some(Instant::now());
        self.is_stale = false;
    }

    /// Leaves the conversation on the screen, without the editor.
    fn leave(&mut self) -> io::Result<()> {
        self.keep_draft();
        self.clear();
        let (columns, rows) = self.size;
        let bytes = if self.drawn_as == Presentation::Plain {
            let frame = self.app.plain(columns, self.begun.elapsed());
            let bytes = self.plain.draw(&frame.finished, &[], "");
            bytes + self.plain.leave()
        } else {
            let frame = self.app.frame(columns, rows, self.begun.elapsed());
            let last = Frame {
                finished: frame.finished,
                live: Vec::new(),
                cursor: (0, 0),
            };
            self.painter.draw(&last)
        };
        self.device.write(&bytes);
        // What the terminal still sends, such as keys that are let go, is not for the shell.
        while let Woken::Bytes(_) = self.device.wait(Some(SETTLE))? {}
        Ok(())
    }

    fn suspend(&mut self) -> io::Result<()> {
        self.clear();
        let outside = &mut self.outside;
        self.device.lend(|| outside.suspend())?;
        self.is_stale = true;
        self.drawn_at = None;
        Ok(())
    }

    /// Rings, which every terminal can, and says why, which some show.
    fn notify(&mut self, words: &str) {
        self.device.write("\u{7}");
        if self.device.modes() == DeviceModes::All {
            self.device.write(&format!("\u{1b}]9;{words}\u{7}"));
        }
    }

    /// Lends the terminal to the user's editor. What it fails with leaves the draft as it was.
    fn edit(&mut self, text: &str) -> io::Result<()> {
        self.clear();
        let outside = &mut self.outside;
        match self.device.lend(|| outside.edit(text))? {
            Ok(text) => self.app.set_draft(text.trim_end_matches('\n')),
            Err(why) => self.app.event(UiEvent::Failure(why), self.begun.elapsed()),
        }
        self.draft_may_differ();
        self.is_stale = true;
        self.drawn_at = None;
        Ok(())
    }

    /// Asks the terminal to put a text on the clipboard.
    fn copy(&mut self, text: &str) {
        if let Some(sequence) = pirn_terminal::clipboard_sequence(text) {
            self.device.write(&sequence);
        } else {
            let words = "the text is too long for the terminal's clipboard".to_owned();
            self.app
                .event(UiEvent::Failure(words), self.begun.elapsed());
        }
        self.is_stale = true;
    }
}
