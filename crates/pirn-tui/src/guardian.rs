//! A small process that sets the terminal back when Pirn is killed in a way that nothing in it survives.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Read as _, Write as _};

use pirn_sandbox::Command;
use pirn_terminal::{ALTERNATE_OFF, MODES_OFF};

use crate::app::Cursor;

/// Every system has it; it takes far less memory than Pirn itself.
const SHELL: &str = "/bin/sh";

/// Holds the terminal, remembers how it was, and waits for the end of what it reads. Only the word `done` before that says that
/// there is nothing to set back. What it does is allowed from the background, too, where the signal is ignored.
const PROGRAM: &str = r#"
trap '' HUP INT QUIT TERM TTOU TTIN TSTP
exec 3<>/dev/tty || exit
before=$(stty -g <&3) || exit
echo ready
exec >/dev/null
alternate=
while read -r word; do
    case $word in
        done) exit ;;
        alternate) alternate=yes ;;
        first) alternate= ;;
    esac
done
[ -z "$alternate" ] || printf '%s' "$2" >&3
printf '%s' "$1" >&3
stty "$before" <&3
"#;

/// The guardian. It acts when the process ends before this is dropped or [`Guardian::finish`] is called.
#[derive(Debug)]
pub struct Guardian {
    words: PipeWriter,
    ready: Option<PipeReader>,
}

impl Guardian {
    /// Starts it with the environment of all other children. Must be called inside a runtime.
    ///
    /// # Errors
    ///
    /// When it cannot be started: there is no shell, or no room for one more process.
    pub fn start(
        environment: impl IntoIterator<Item = (OsString, OsString)>,
        cursor: Cursor,
    ) -> io::Result<Self> {
        let modes = match cursor {
            Cursor::Moves => MODES_OFF,
            // It was sent no sequences, and knows none.
            Cursor::Stays => "",
        };
        let (input, words) = io::pipe()?;
        let (ready, output) = io::pipe()?;
        Command::new(SHELL)
            .args(["-c", PROGRAM, "pirn-guardian", modes, ALTERNATE_OFF])
            .envs(environment)
            .hand_over_with(input.into(), output.into())
            .map_err(io::Error::other)?;
        Ok(Self {
            words,
            ready: Some(ready),
        })
    }

    /// Waits until it has seen how the terminal was: before that nothing may be changed. Gives whether it guards.
    pub fn wait(&mut self) -> bool {
        let mut byte = [0];
        self.ready
            .take()
            .is_some_and(|mut ready| matches!(ready.read(&mut byte), Ok(1)))
    }

    /// Says whether the second screen is shown, from which it would have to switch back.
    pub(crate) fn alternate_screen(&mut self, is_shown: bool) {
        self.say(if is_shown { "alternate\n" } else { "first\n" });
    }

    /// Says that the terminal is as it was: there is nothing left to do.
    pub fn finish(&mut self) {
        self.say("done\n");
    }

    fn say(&mut self, word: &str) {
        // Without a guardian the terminal is set back by Pirn alone, as long as it can.
        let _nobody_guards = self.words.write_all(word.as_bytes());
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.finish();
    }
}
