//! A text on the clipboard, by the terminal.

use std::io::{IsTerminal as _, Write as _, stderr, stdout};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::failure::CommandFailure;
use crate::ui::{self, group_thousands};

/// More than this is cut or ignored by terminals in common use: xterm takes 100,000 bytes of base64.
const MANY_BYTES: usize = 74_994;

/// Puts a text on the clipboard by OSC 52, which the terminal performs, also at the other end of a connection
/// (<https://invisible-island.net/xterm/ctlseqs/ctlseqs.html>, "Manipulate Selection Data").
pub(super) fn copy(text: &str) -> Result<(), CommandFailure> {
    let text = ui::clipboard_text(text);
    let sequence = format!("\u{1b}]52;c;{}\u{7}", STANDARD.encode(text.as_bytes()));
    // Standard error first: a pipe on standard output gets nothing that was not asked for.
    let written = if stderr().is_terminal() {
        stderr().lock().write_all(sequence.as_bytes())
    } else if stdout().is_terminal() {
        stdout().lock().write_all(sequence.as_bytes())
    } else {
        return Err(CommandFailure::usage(
            "--copy needs a terminal, which owns the clipboard; pipe the prompt instead",
        ));
    };
    written.map_err(|error| CommandFailure::outside(format!("could not write to the terminal: {error}")))?;
    ui::print_note(&format!(
        "{} bytes are on the clipboard, if this terminal allows that (OSC 52)",
        group_thousands(text.len())
    ));
    if text.len() > MANY_BYTES {
        ui::print_note(&format!(
            "many terminals take no more than {} bytes; compare the end",
            group_thousands(MANY_BYTES)
        ));
    }
    Ok(())
}
