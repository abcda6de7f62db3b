//! A pseudo-terminal with a program on it, and a screen that shows what it writes.

use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use pty_process::Size;
use pty_process::blocking::{Pty, open};
use vt100::Parser;

use crate::skipped::skip;

/// The narrowest terminal in common use.
pub(crate) const NARROW: NonZeroU16 = NonZeroU16::new(80).unwrap();
/// One as wide as what is no terminal is taken to be.
pub(crate) const WIDE: NonZeroU16 = NonZeroU16::new(100).unwrap();
/// The rows hold all that is written.
const ROWS: NonZeroU16 = NonZeroU16::new(400).unwrap();

/// How long a program may take to write something more. It is broken if it takes longer.
const PATIENCE: Duration = Duration::from_mins(2);

/// A program on a terminal.
pub(crate) struct Terminal {
    pty: Arc<Pty>,
    child: Child,
    output: Receiver<Vec<u8>>,
    raw: Vec<u8>,
    screen: Parser,
}

/// The state when the program is gone.
pub(crate) struct Left {
    pub(crate) code: Option<i32>,
    /// Everything that it wrote, with the echo of keys.
    pub(crate) raw: String,
    /// The text on the screen.
    pub(crate) shown: String,
    screen: Parser,
}

/// Starts a program on a terminal of eighty columns. `None`, said out loud, where the system has none.
pub(crate) fn start(command: Command) -> Option<Terminal> {
    start_on(NARROW, command)
}

/// Starts a program on a terminal of so many columns, as [`start`] does.
pub(crate) fn start_on(columns: NonZeroU16, command: Command) -> Option<Terminal> {
    start_sized(ROWS, columns, command)
}

/// Whether the system has pseudo-terminals. If it has none, the test says so out loud.
pub(crate) fn has_terminal() -> bool {
    open().inspect_err(|why| skip("pseudo-terminal", why)).is_ok()
}

/// Starts a program on a terminal of so many rows and columns, as [`start`] does.
pub(crate) fn start_sized(rows: NonZeroU16, columns: NonZeroU16, command: Command) -> Option<Terminal> {
    let (pty, pts) = match open() {
        Ok(both) => both,
        Err(why) => {
            skip("pseudo-terminal", why);
            return None;
        }
    };
    pty.resize(Size::new(rows.get(), columns.get())).unwrap();
    let child = pty_process::blocking::Command::from(command).spawn(pts).unwrap();
    let pty = Arc::new(pty);
    let (written, output) = channel();
    let reader = Arc::clone(&pty);
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        // When the program is gone a terminal gives an error on some systems, and nothing on others. Either may come
        // before the kernel has handed over the last that was written.
        let mut ends = 0;
        while ends < LAST_LOOKS {
            let Ok(count @ 1..) = (&*reader).read(&mut bytes) else {
                ends += 1;
                std::thread::sleep(LAST_PAUSE);
                continue;
            };
            let Some(read) = bytes.get(..count) else { return };
            if written.send(read.to_vec()).is_err() {
                return;
            }
        }
    });
    Some(Terminal { pty, child, output, raw: Vec::new(), screen: Parser::new(rows, columns, 0) })
}

/// How often a terminal is looked at again whose program is gone, and how long between the looks.
const LAST_LOOKS: usize = 5;
const LAST_PAUSE: Duration = Duration::from_millis(10);

impl Terminal {
    /// Waits until the screen shows `text`.
    #[track_caller]
    pub(crate) fn until(&mut self, text: &str) {
        self.until_times(text, 1);
    }

    /// Waits until the screen shows `text` so many times.
    #[track_caller]
    pub(crate) fn until_times(&mut self, text: &str, times: usize) {
        while self.screen.screen().contents().matches(text).count() < times {
            assert!(self.read(), "it ended without `{text}`:\n{}", self.screen.screen().contents());
        }
    }

    /// Whether a text is on the screen.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.screen.screen().contents().contains(text)
    }

    /// Waits until the last line asks for a yes or a no, and goes on at the end of each earlier screen. Returns all
    /// screens. The text above may look like the question, behind a bar. Keys that are pressed before the question do
    /// not answer it.
    #[track_caller]
    pub(crate) fn until_asked(&mut self) -> Vec<String> {
        let mut screens = Vec::new();
        loop {
            let screen = self.until_prompted();
            let is_question = screen.trim_end().ends_with("[y/N]");
            screens.push(screen);
            if is_question {
                return screens;
            }
            self.press("\n");
            self.clear();
        }
    }

    /// Waits until the last line asks for a yes or a no, or for a key to go on. The screen then.
    #[track_caller]
    pub(crate) fn until_prompted(&mut self) -> String {
        loop {
            let contents = self.screen.screen().contents();
            let last = contents.trim_end().lines().last().filter(|line| !line.contains('│'));
            if last.is_some_and(|line| line.ends_with("[y/N]") || line.ends_with("q stops --")) {
                return contents;
            }
            assert!(self.read(), "it ended without a question:\n{contents}");
        }
    }

    /// Forgets what is on the screen, so that what comes next is told from it.
    pub(crate) fn clear(&mut self) {
        let (rows, columns) = self.screen.screen().size();
        self.screen = Parser::new(rows, columns, 0);
    }

    /// Makes the terminal larger or smaller.
    pub(crate) fn resize(&mut self, rows: NonZeroU16, columns: NonZeroU16) {
        self.pty.resize(Size::new(rows.get(), columns.get())).unwrap();
        self.screen.screen_mut().set_size(rows, columns);
    }

    /// Presses keys.
    pub(crate) fn press(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the program's end.
    pub(crate) fn end(mut self) -> Left {
        while self.read() {}
        let code = self.child.wait().unwrap().code();
        let raw = String::from_utf8(self.raw).unwrap();
        let shown = self.screen.screen().contents();
        Left { code, raw, shown, screen: self.screen }
    }

    /// Reads something more. False at the end.
    #[track_caller]
    fn read(&mut self) -> bool {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        match self.output.recv_timeout(PATIENCE) {
            Ok(bytes) => {
                self.screen.process(&bytes);
                self.raw.extend(bytes);
                true
            }
            Err(Disconnected) => false,
            Err(Timeout) => {
                self.child.kill().unwrap();
                panic!("it writes nothing and doesn't end:\n{}", self.screen.screen().contents());
            }
        }
    }
}

impl Left {
    /// The terminal is as it was: the cursor is there, at the beginning of a line, and nothing goes on that was
    /// switched on.
    #[track_caller]
    pub(crate) fn is_tidy(&self) {
        let screen = self.screen.screen();
        assert!(!screen.hide_cursor() && !screen.alternate_screen(), "{}", visible(&self.raw));
        assert_eq!(screen.cursor_position().1, 0, "{}", visible(&self.raw));
        assert!(!screen.bold() && !screen.dim() && screen.fgcolor() == vt100::Color::Default, "{}", visible(&self.raw));
    }

    /// The text that was written after everything that was taken away again.
    pub(crate) fn written(&self) -> &str {
        self.raw.rsplit("\r\u{1b}[2K").next().unwrap_or_default()
    }

    /// How many of the screen's lines go on in the next one, since they are wider than it.
    pub(crate) fn wrapped(&self) -> usize {
        let screen = self.screen.screen();
        (0..ROWS.get()).filter(|row| screen.row_wrapped(*row)).count()
    }
}

/// A text with its escapes made visible: colours by name, everything else as a picture.
pub(crate) fn visible(raw: &str) -> String {
    let raw = raw.replace("\r\n", "\n");
    let mut out = String::new();
    let mut rest = raw.as_str();
    while let Some(c) = rest.chars().next() {
        let styled = rest.strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m'));
        if let Some((name, after)) = styled.and_then(|(code, after)| Some((name(code)?, after))) {
            out.push_str(name);
            rest = after;
            continue;
        }
        match c {
            '\n' => out.push('\n'),
            '\u{7f}' => out.push('␡'),
            c if c.is_control() => out.extend(char::from_u32(0x2400 + u32::from(c))),
            c => out.push(c),
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
}

fn name(code: &str) -> Option<&'static str> {
    Some(match code {
        "0" => "«»",
        "1" => "«bold»",
        "2" => "«dim»",
        "31" => "«red»",
        "32" => "«green»",
        "33" => "«yellow»",
        "94" => "«blue»",
        "36" => "«cyan»",
        _ => return None,
    })
}
