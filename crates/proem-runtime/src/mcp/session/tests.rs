//! Programs that speak the protocol, and programs that do not.

use super::*;

use std::path::Path;

use proem_llm::secret::Secret;

/// A server of revision 2025-06-18 with two pages of tools, whose answer to a call is a case. `$id` is that of the
/// request.
const SERVER: &str = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no such method\"}}";;
    *'"initialize"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}";;
    *'"tools/list"'*'"cursor":"2"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[{\"name\":\"second\",\"inputSchema\":{\"type\":\"object\"}}]}}";;
    *'"tools/list"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[{\"name\":\"first\",\"description\":\"One\",\"inputSchema\":{\"type\":\"object\"}}],\"nextCursor\":\"2\"}}";;
    *'"tools/call"'*) CASE;;
  esac
done
"#;

/// The words of a program, which is a server or claims to be one.
fn program(script: &str) -> McpServer {
    McpServer::Program(McpProgram {
        program: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        folder: Path::new("/").to_owned(),
        environment: vec![("PATH".to_owned(), std::env::var_os("PATH").unwrap())],
        secrets: vec![("TOKEN".to_owned(), Secret::new("token", "correct-horse-battery"))],
    })
}

/// The shell's words that answer a call with this result.
fn answer(result: &str) -> String {
    format!("say \"{{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,{}}}\"", result.replace('"', "\\\""))
}

fn result(content: &str) -> String {
    answer(&format!("\"result\":{content}"))
}

async fn call(case: &str, limit: Duration) -> Result<McpResult, McpFailure> {
    let session = McpSession::open(&program(&SERVER.replace("CASE", case)), Duration::from_secs(60)).await.unwrap();
    session.call("first", r#"{"a": 1}"#, "key-1", limit).await
}

#[tokio::test]
async fn every_page_of_tools_is_listed() {
    let session = McpSession::open(&program(SERVER), Duration::from_secs(60)).await.unwrap();
    let tools: serde_json::Value =
        serde_json::from_str(&session.tools(Duration::from_secs(60)).await.unwrap()).unwrap();
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["first", "second"]);
}

#[tokio::test]
async fn what_a_server_answers_is_a_result_or_says_what_became_of_the_call() {
    let long = Duration::from_secs(60);
    let texts = |texts: &[&str]| McpResult::Texts(texts.iter().map(|text| (*text).to_owned()).collect());
    for (case, expected) in [
        (
            result(r#"{"content":[],"structuredContent":{"a":[1,null]}}"#),
            McpResult::Structured(r#"{"a":[1,null]}"#.to_owned()),
        ),
        (result(r#"{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}"#), texts(&["one", "two"])),
        (result(r#"{"content":[]}"#), texts(&[])),
        // It gets the credential that its configuration names, and the key of the call.
        (result(r#"{"content":[{"type":"text","text":"$TOKEN"}]}"#), texts(&["correct-horse-battery"])),
        (
            format!("case \"$line\" in *'\"dev.proem/call-key\":\"key-1\"'*) {};; esac", result(r#"{"content":[]}"#)),
            texts(&[]),
        ),
        // Nothing that a server asks for is given: it is told that there is no such method.
        (
            format!(
                "say '{{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"sampling/createMessage\",\"params\":{{\"messages\":[],\"maxTokens\":9}}}}'; \
                 read -r told; case \"$told\" in *'\"error\"'*) {};; esac",
                result(r#"{"content":[]}"#)
            ),
            texts(&[]),
        ),
    ] {
        assert_eq!(call(&case, long).await.unwrap(), expected, "{case}");
    }
    for (case, stage, message, wrote) in [
        (
            result(r#"{"content":[{"type":"text","text":"no"},{"type":"text","text":"way"}],"isError":true}"#),
            McpStage::Refused,
            "the tool said that it failed",
            Some("no\nway"),
        ),
        (
            result(r#"{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#),
            McpStage::Doubtful,
            "its result has an image, which no program reads",
            None,
        ),
        (
            answer(r#""error":{"code":-32602,"message":"no"}"#),
            McpStage::Refused,
            "the server refused it (error -32602)",
            Some("no"),
        ),
        (
            answer(r#""error":{"code":-32603,"message":"down"}"#),
            McpStage::Doubtful,
            "the server failed (error -32603)",
            Some("down"),
        ),
        ("exit 1".to_owned(), McpStage::Doubtful, "the server ended before its answer", None),
    ] {
        let failure = call(&case, long).await.unwrap_err();
        assert_eq!((failure.stage, failure.message.as_str()), (stage, message), "{case}");
        let found = failure.wrote.map(|words| proem_guard::show::exact_json(&words));
        assert_eq!(found, wrote.map(serde_json::Value::from), "{case}");
    }
    // An answer that never comes, and one of a line without end.
    for case in ["sleep 100", "head -c 17000000 /dev/zero | tr '\\0' x; echo"] {
        let failure = call(case, Duration::from_secs(1)).await.unwrap_err();
        assert_eq!(
            (failure.stage, failure.message.as_str()),
            (McpStage::Doubtful, "it did not answer within 1 s"),
            "{case}"
        );
    }
}

#[tokio::test]
async fn a_program_that_is_no_server_is_told_apart() {
    for (script, message, wrote) in [
        (
            "echo it is broken >&2; exit 3",
            "it ended before it had answered; start it by hand to see why",
            Some("it is broken"),
        ),
        ("exec sleep 100", "it did not answer within 1 s", None),
        ("echo 'Hello!'; exec sleep 100", "it did not answer within 1 s", None),
    ] {
        let failure = McpSession::open(&program(script), Duration::from_secs(1)).await.unwrap_err();
        assert_eq!((failure.stage, failure.message.as_str()), (McpStage::Unsent, message), "{script}");
        let wrote = wrote.map(str::to_owned);
        assert_eq!(failure.wrote.map(|text| proem_guard::show::terminal_text(&text).into_string()), wrote, "{script}");
    }
    let missing = McpServer::Program(McpProgram {
        program: "/nowhere/at/all".into(),
        arguments: Vec::new(),
        folder: "/".into(),
        environment: Vec::new(),
        secrets: Vec::new(),
    });
    let failure = McpSession::open(&missing, Duration::from_secs(1)).await.unwrap_err();
    assert!(failure.message.starts_with("`/nowhere/at/all` can't be started: "), "{}", failure.message);
}

#[tokio::test]
async fn a_program_ends_with_its_session() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("alive");
    let script = format!("(while :; do date >> '{}'; sleep 0.05; done) & {SERVER}", file.display());
    drop(McpSession::open(&program(&script), Duration::from_secs(60)).await.unwrap());
    let size = || std::fs::metadata(&file).map_or(0, |file| file.len());
    let before = size();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(size(), before, "what it started is gone");
}
