//! The dialogue with a mail server up to the mail itself, and the delivery of the mail.

use core::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::connection::{connect, encrypt};
use super::line::{SmtpBreak, SmtpLine, SmtpReply};
use super::{SmtpLimits, SmtpLogin, SmtpSecurity, SmtpServer};
use crate::effects::mail::MailEnvelope;
use crate::effects::{DeliveryTrouble, SmtpRoute, receiver_words};

/// How long a server may take to hear that we go.
const GOODBYE: Duration = Duration::from_secs(5);

/// A dialogue that has come as far as 354.
pub(super) struct Dialogue {
    line: SmtpLine,
    limits: SmtpLimits,
}

/// The end of the first half of a dialogue.
pub(super) enum PreparedDialogue {
    /// The server waits for the mail.
    Ready(Dialogue),
    /// It refused a recipient for good and waits for what comes next.
    Refused(DeliveryTrouble, Dialogue),
    /// It is over, and nobody has the mail.
    Ended(DeliveryTrouble),
}

/// A first half that ended early. None of it says that anybody has the mail.
enum Stop {
    /// Without the server's last word.
    NotSent(DeliveryTrouble),
    /// A recipient is refused for good.
    Refused(DeliveryTrouble),
}

/// A server's offers.
#[derive(Debug, Default)]
struct Offers {
    encryption: bool,
    /// How it takes credentials, in upper case.
    logins: Vec<String>,
    /// The most bytes of a mail. `None` if it doesn't say.
    size: Option<usize>,
}

/// Leads a dialogue up to 354.
pub(super) async fn prepare_dialogue(route: &SmtpRoute<'_>, envelope: &MailEnvelope, size: usize) -> PreparedDialogue {
    let SmtpRoute { server, login } = route;
    let mut asking = match open_session(server, envelope).await {
        Ok(asking) => asking,
        Err(Stop::NotSent(trouble) | Stop::Refused(trouble)) => return PreparedDialogue::Ended(trouble),
    };
    let end = asking.transaction(login.as_ref(), envelope, size).await;
    let dialogue = Dialogue { line: asking.line, limits: server.limits };
    match end {
        Ok(()) => PreparedDialogue::Ready(dialogue),
        Err(Stop::Refused(trouble)) => PreparedDialogue::Refused(trouble, dialogue),
        Err(Stop::NotSent(trouble)) => PreparedDialogue::Ended(trouble),
    }
}

impl Stop {
    fn not_sent(message: impl Into<String>) -> Self {
        Self::NotSent(DeliveryTrouble::new(message))
    }
}

/// A dialogue on its way.
struct Asking<'a> {
    line: SmtpLine,
    server: &'a SmtpServer,
    offers: Offers,
}

/// Connects, encrypts and greets.
async fn open_session<'a>(server: &'a SmtpServer, envelope: &MailEnvelope) -> Result<Asking<'a>, Stop> {
    let mut stream = connect(server).await.map_err(Stop::not_sent)?;
    if server.security == SmtpSecurity::Tls {
        stream = encrypt(stream, server).await.map_err(Stop::not_sent)?;
    }
    let mut asking = Asking { line: SmtpLine::new(stream), server, offers: Offers::default() };
    let greeting = asking.line.listen(server.limits.command).await;
    asking.expect(greeting, 220, "its greeting")?;
    asking.hello(envelope).await?;
    if server.security != SmtpSecurity::StartTls {
        return Ok(asking);
    }
    if !asking.offers.encryption {
        let host = &server.host;
        return Err(Stop::not_sent(format!("`{host}` offers no encryption on this port; try another port with TLS")));
    }
    asking.ask("STARTTLS", 220, "STARTTLS").await?;
    let broken = |broken| asking_broken(server, &broken, "STARTTLS");
    let stream = asking.line.into_stream().map_err(broken)?;
    let stream = encrypt(stream, server).await.map_err(Stop::not_sent)?;
    // Anybody may have put an unencrypted offer there.
    let mut asking = Asking { line: SmtpLine::new(stream), server, offers: Offers::default() };
    asking.hello(envelope).await?;
    Ok(asking)
}

impl Asking<'_> {
    async fn transaction(
        &mut self,
        login: Option<&SmtpLogin<'_>>,
        envelope: &MailEnvelope,
        size: usize,
    ) -> Result<(), Stop> {
        if let Some(most) = self.offers.size.filter(|most| *most > 0 && *most < size) {
            let host = &self.server.host;
            return Err(Stop::not_sent(format!("`{host}` takes mails of at most {most} bytes; shorten the mail")));
        }
        if let Some(login) = login {
            self.log_in(login).await?;
        }
        self.ask(&format!("MAIL FROM:<{}>", envelope.from), 250, "the sender").await?;
        let all = envelope.to.len();
        for (place, to) in (1..).zip(&envelope.to) {
            let what = format!("recipient {place} of {all}");
            let reply = self.line.ask(&format!("RCPT TO:<{to}>"), self.server.limits.command).await;
            match reply {
                // 251: it forwards the mail, which is its own business.
                Ok(SmtpReply { code: 250 | 251, .. }) => {}
                Ok(SmtpReply { code: code @ 500..=599, text }) => {
                    let message = format!(
                        "the server refused {what} with code {code}, and nobody got the mail; propose it without that one"
                    );
                    return Err(Stop::Refused(DeliveryTrouble::told(message, receiver_words(text))));
                }
                other => return self.expect(other, 250, &what).map(|_| ()),
            }
        }
        self.ask("DATA", 354, "DATA").await?;
        // A server that answers to a mail before it has seen it is not asked for more.
        if self.line.is_quiet() { Ok(()) } else { Err(asking_broken(self.server, &SmtpBreak::Unasked, "DATA")) }
    }

    async fn hello(&mut self, envelope: &MailEnvelope) -> Result<(), Stop> {
        let domain = envelope.from.rsplit_once('@').map_or("localhost", |(_, domain)| domain);
        let reply = self.ask(&format!("EHLO {domain}"), 250, "EHLO").await?;
        self.offers = Offers::read(&reply.text);
        Ok(())
    }

    async fn log_in(&mut self, login: &SmtpLogin<'_>) -> Result<(), Stop> {
        let SmtpLogin { user, secret } = login;
        let offers = |name: &str| self.offers.logins.iter().any(|offered| offered == name);
        let refused = |stop| match stop {
            Stop::NotSent(trouble) if trouble.answer.is_some() => {
                let message =
                    format!("the server refused the credential `{}`; check it and the user's name", secret.name());
                Stop::NotSent(DeliveryTrouble { message, answer: trouble.answer })
            }
            other => other,
        };
        if offers("PLAIN") {
            let text = STANDARD.encode(format!("\0{user}\0{}", secret.expose()));
            return self.ask(&format!("AUTH PLAIN {text}"), 235, "AUTH").await.map(|_| ()).map_err(refused);
        }
        if offers("LOGIN") {
            self.ask("AUTH LOGIN", 334, "AUTH").await?;
            self.ask(&STANDARD.encode(user), 334, "AUTH").await.map_err(refused)?;
            return self.ask(&STANDARD.encode(secret.expose()), 235, "AUTH").await.map(|_| ()).map_err(refused);
        }
        let host = &self.server.host;
        Err(Stop::not_sent(format!("`{host}` takes no password here (neither PLAIN nor LOGIN); try another port")))
    }

    async fn ask(&mut self, command: &str, wanted: u16, what: &str) -> Result<SmtpReply, Stop> {
        let reply = self.line.ask(command, self.server.limits.command).await;
        self.expect(reply, wanted, what)
    }

    /// The reply if it has the code that lets the dialogue go on.
    fn expect(&self, reply: Result<SmtpReply, SmtpBreak>, wanted: u16, what: &str) -> Result<SmtpReply, Stop> {
        match reply {
            Ok(reply) if reply.code == wanted => Ok(reply),
            Ok(SmtpReply { code, text }) => {
                let host = &self.server.host;
                let message = format!("`{host}` answered to {what} with code {code}; see what it says and try again");
                Err(Stop::NotSent(DeliveryTrouble::told(message, receiver_words(text))))
            }
            Err(broken) => Err(asking_broken(self.server, &broken, what)),
        }
    }
}

fn asking_broken(server: &SmtpServer, broken: &SmtpBreak, what: &str) -> Stop {
    Stop::not_sent(format!("the dialogue with `{}` ended at {what}, before the mail: {broken}; try again", server.host))
}

impl Offers {
    fn read(text: &str) -> Self {
        let mut offers = Self::default();
        for line in text.lines().skip(1) {
            let line = line.to_ascii_uppercase();
            let mut words = line.split_ascii_whitespace();
            match words.next() {
                Some("STARTTLS") => offers.encryption = true,
                Some("AUTH") => offers.logins.extend(words.map(str::to_owned)),
                Some("SIZE") => offers.size = words.next().and_then(|size| size.parse().ok()),
                _ => {}
            }
        }
        offers
    }
}

impl Dialogue {
    /// Hands the mail over and waits for what the server says to it.
    pub(super) async fn hand_over(&mut self, mail: &[u8]) -> Result<SmtpReply, SmtpBreak> {
        self.line.write(&dot_stuffed(mail)).await?;
        self.line.listen(self.limits.answer).await
    }

    /// Takes back what was begun, and ends the dialogue. Takes at most a few seconds.
    pub(super) async fn take_back(mut self) {
        // The server's answer to that changes nothing: without DATA there is no mail.
        _ = self.line.ask("RSET", GOODBYE).await;
        self.close().await;
    }

    /// Ends the dialogue. Takes at most a few seconds.
    pub(super) async fn close(mut self) {
        // The server may have gone already.
        _ = self.line.ask("QUIT", GOODBYE).await;
        _ = tokio::time::timeout(GOODBYE, self.line.shut()).await;
    }
}

/// The mail as it goes over the wire: a dot more where a line begins with one, and the dot that ends it (RFC 5321, 4.5.2).
fn dot_stuffed(mail: &[u8]) -> Vec<u8> {
    let mut stuffed = Vec::with_capacity(mail.len() + 16);
    for line in mail.split_inclusive(|byte| *byte == b'\n') {
        if line.first() == Some(&b'.') {
            stuffed.push(b'.');
        }
        stuffed.extend_from_slice(line);
    }
    stuffed.extend_from_slice(b".\r\n");
    stuffed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_at_the_beginning_of_lines_are_doubled() {
        for (mail, expected) in [
            ("a\r\n", "a\r\n.\r\n"),
            (".\r\n", "..\r\n.\r\n"),
            ("a\r\n.b\r\n", "a\r\n..b\r\n.\r\n"),
            ("a.\r\nb\r\n", "a.\r\nb\r\n.\r\n"),
        ] {
            assert_eq!(String::from_utf8(dot_stuffed(mail.as_bytes())).unwrap(), expected);
        }
    }
}
