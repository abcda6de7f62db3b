//! The texts by which a machine runs the weekly batch: a user unit of systemd, an agent of launchd and a line for cron.
//!
//! Invariants: nothing is installed here. Each text runs this binary for this project by absolute paths, quoted by the
//! rules of its reader. A path that a text can't hold as it is, is refused.

use std::path::Path;

use proem_guard::show;
use proem_runtime::Environment;

use crate::book::proposals::project_mark;
use crate::error::Error;

/// The variables that say where the user's folders are. A timer's process doesn't have those of a shell.
const FOLDERS: [&str; 3] = ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"];

/// The texts for one project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchTimers {
    /// The name of units and agent, the same for the same project.
    pub name: String,
    /// The systemd user service.
    pub service: String,
    /// The systemd user timer.
    pub timer: String,
    /// The launchd agent.
    pub plist: String,
    /// The line for `crontab -e`.
    pub cron: String,
}

/// A command with its environment.
#[derive(Debug)]
struct TimedCommand {
    words: Vec<String>,
    variables: Vec<(&'static str, String)>,
}

/// The texts that run the weekly batch of a project with this binary.
///
/// # Errors
///
/// If a path has characters that such a text can't hold.
pub fn batch_timers(binary: &Path, root: &Path, environment: &Environment) -> Result<BatchTimers, Error> {
    let root = plain_path(&root.to_string_lossy())?;
    let name = format!("proem-batch-{}", project_mark(&root).chars().take(8).collect::<String>());
    let words = vec![plain_path(&binary.to_string_lossy())?, "feedback".into(), "batch".into(), "--root".into(), root];
    let mut variables = Vec::new();
    for variable in FOLDERS {
        if let Some(value) = environment.get(variable).filter(|value| !value.is_empty()) {
            variables.push((variable, plain_path(&value.to_string_lossy())?));
        }
    }
    let command = TimedCommand { words, variables };
    Ok(BatchTimers {
        service: command.systemd_service(),
        timer: "[Unit]\nDescription=Weekly proposals of Proem\n\n[Timer]\nOnCalendar=Mon 07:00\nPersistent=true\n\n\
                [Install]\nWantedBy=timers.target\n"
            .to_owned(),
        plist: command.launchd_agent(&name),
        cron: command.cron_line(),
        name,
    })
}

/// A path that every text can hold and a terminal shows as it is.
fn plain_path(path: &str) -> Result<String, Error> {
    let shown = show::terminal_str(path).into_string();
    if shown == path && !path.contains(char::REPLACEMENT_CHARACTER) {
        return Ok(shown);
    }
    Err(Error::invalid(format!(
        "a timer can't name the path `{shown}`; rename it, or reach it by a link with a plain name"
    )))
}

impl TimedCommand {
    /// Quotes by the rules of `systemd.service` and `systemd.syntax`: C-like escapes, `%` and `$` doubled.
    fn systemd_service(&self) -> String {
        let quote = |word: &str| {
            let escaped = word.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
            format!("\"{escaped}\"")
        };
        let mut out = "[Unit]\nDescription=Weekly proposals of Proem\n\n[Service]\nType=oneshot\n".to_owned();
        for (name, value) in &self.variables {
            // A variable's value is not expanded, so that its dollars are single.
            out.push_str(&format!("Environment={}\n", quote(&format!("{name}={value}"))));
        }
        let words: Vec<String> = self.words.iter().map(|word| quote(&word.replace('$', "$$"))).collect();
        out.push_str(&format!("ExecStart={}\n", words.join(" ")));
        out
    }

    fn launchd_agent(&self, name: &str) -> String {
        let text =
            |word: &str| word.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        let words: String = self.words.iter().map(|word| format!("    <string>{}</string>\n", text(word))).collect();
        let pair = |(name, value): &(&str, String)| format!("    <key>{name}</key><string>{}</string>\n", text(value));
        let variables: String = self.variables.iter().map(pair).collect();
        let variables = if variables.is_empty() {
            String::new()
        } else {
            format!("  <key>EnvironmentVariables</key>\n  <dict>\n{variables}  </dict>\n")
        };
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
             \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n<plist version=\"1.0\">\n<dict>\n  <key>Label</key>\n  \
             <string>{name}</string>\n  <key>ProgramArguments</key>\n  <array>\n{words}  </array>\n{variables}  \
             <key>StartCalendarInterval</key>\n  <dict>\n    <key>Weekday</key><integer>1</integer>\n    \
             <key>Hour</key><integer>7</integer>\n    <key>Minute</key><integer>0</integer>\n  </dict>\n</dict>\n</plist>\n"
        )
    }

    /// Quotes for the shell, and `%` for cron, which ends a command there.
    fn cron_line(&self) -> String {
        let quote = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={}", quote(value)));
        let words = self.words.iter().map(|word| quote(word));
        let command: Vec<String> = variables.chain(words).collect();
        format!("0 7 * * 1 {}\n", command.join(" ").replace('%', "\\%"))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::process::Command;

    use super::*;

    const ODD: &str = "/home/a b/50% \"of\" $HOME & <c> 'd' \\e";

    fn timers(binary: &str, root: &str, variables: &[(&str, &str)]) -> BatchTimers {
        let pair = |(name, value): &(&str, &str)| (OsString::from(name), OsString::from(value));
        let environment: Environment = variables.iter().map(pair).collect();
        batch_timers(Path::new(binary), Path::new(root), &environment).unwrap()
    }

    /// The keys of an INI file by section, as systemd reads them.
    fn ini(text: &str) -> Vec<(String, String, String)> {
        let mut section = String::new();
        let mut all = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                Some(name) => section = name.to_owned(),
                None => {
                    let (key, value) = line.split_once('=').unwrap();
                    all.push((section.clone(), key.to_owned(), value.to_owned()));
                }
            }
        }
        all
    }

    /// The words of a command line of systemd.
    fn systemd_words(line: &str) -> Vec<String> {
        let (mut words, mut characters) = (Vec::new(), line.chars());
        while let Some(quote) = characters.next() {
            assert_eq!(quote, '"', "{line}");
            let mut word = String::new();
            loop {
                match characters.next().unwrap() {
                    '"' => break,
                    '\\' => word.push(characters.next().unwrap()),
                    doubled @ ('%' | '$') => {
                        assert_eq!(characters.next(), Some(doubled), "{line}");
                        word.push(doubled);
                    }
                    other => word.push(other),
                }
            }
            words.push(word);
            assert!(matches!(characters.next(), None | Some(' ')), "{line}");
        }
        words
    }

    #[test]
    fn the_units_of_systemd_keep_every_character_of_a_path() {
        let found = timers("/opt/pro em/proem", ODD, &[("XDG_STATE_HOME", "/s 1"), ("OTHER", "x")]);
        let service = ini(&found.service);
        let value = |key: &str| service.iter().find(|(_, known, _)| known == key).unwrap().2.clone();
        assert_eq!(systemd_words(&value("ExecStart")), ["/opt/pro em/proem", "feedback", "batch", "--root", ODD]);
        assert_eq!(value("Environment"), "\"XDG_STATE_HOME=/s 1\"");
        assert_eq!(value("Type"), "oneshot");
        let sections: Vec<String> = ini(&found.timer).into_iter().map(|(section, ..)| section).collect();
        assert_eq!(sections, ["Unit", "Timer", "Timer", "Install"]);
    }

    #[test]
    fn the_line_of_cron_is_five_fields_and_a_command_of_the_shell() {
        let found = timers("/bin/echo", ODD, &[]);
        let fields: Vec<&str> = found.cron.trim_end().splitn(6, ' ').collect();
        assert_eq!(fields[..5], ["0", "7", "*", "*", "1"]);
        // Cron removes the backslash before a percent sign and hands the rest to a shell.
        let command = fields[5].replace("\\%", "%").replace("'/bin/echo'", "printf '%s|'");
        let output = Command::new("/bin/sh").args(["-c", &command]).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("feedback|batch|--root|{ODD}|"));
    }

    #[test]
    fn the_agent_of_launchd_is_xml_with_every_character_of_a_path() {
        let found = timers("/bin/proem", ODD, &[("XDG_CACHE_HOME", "/c & d")]);
        let plist = found.plist.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
        assert!(plist.contains(&format!("<string>{ODD}</string>")), "{plist}");
        assert!(found.plist.contains("<key>XDG_CACHE_HOME</key><string>/c &amp; d</string>"));
        for tag in ["dict", "array", "plist"] {
            let opened =
                found.plist.matches(&format!("<{tag}>")).count() + found.plist.matches(&format!("<{tag} ")).count();
            assert_eq!(opened, found.plist.matches(&format!("</{tag}>")).count(), "{tag}");
        }
        assert_eq!(timers("/bin/proem", "/x", &[]).name.len(), "proem-batch-".len() + 8);
    }

    #[test]
    fn a_path_that_no_text_can_hold_is_refused() {
        for path in ["/a\nb", "/a\u{1b}[2J", "/a\u{202e}b"] {
            let none: Environment = Vec::new().into_iter().collect();
            let error = batch_timers(Path::new("/bin/proem"), Path::new(path), &none).unwrap_err();
            assert!(error.to_string().starts_with("a timer can't name the path"), "{error}");
        }
    }
}
