//! Tools of servers of the Model Context Protocol: the guide with a scripted server, and `proem mcp` as the server over
//! both transports.

use proem_app::catalogue::{approval_store, exact_text, load_catalogue};

use crate::fixture::Fixture;
use crate::guide;
use crate::mcp::HttpServer;

/// A server with fourteen tools, one of which reads the only file that it has.
const SERVER: &str = r#"say() { printf '%s\n' "$1"; }
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case "$line" in
    *'"server/discover"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}}";;
    *'"initialize"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}";;
    *'"tools/list"'*) tools='{"name":"read_text_file","description":"Read a file","inputSchema":{"type":"object"}}'
      for number in 1 2 3 4 5 6 7 8 9 10 11 12 13; do tools="$tools,{\"name\":\"tool_$number\",\"inputSchema\":{\"type\":\"object\"}}"; done
      say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"tools\":[$tools]}}";;
    *'"tools/call"'*'"/srv/docs/hello.txt"'*) say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[],\"structuredContent\":{\"content\":\"Hello from the docs.\\n\"}}}";;
  esac
done
"#;

#[test]
fn the_guide_calls_a_tool() {
    let fixture = Fixture::folder().unborn();
    fixture.configure("server.sh", SERVER);
    let script = fixture.base.join("config/proem/server.sh");
    let words = format!(r#"["sh", "{}"]"#, script.display());
    let shown = [(words.as_str(), r#"["npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/docs"]"#)];
    assert_eq!(guide::run(&fixture, "mcp-tools.md", &shown), guide::Tried { files: 4, sessions: 3 });
}

/// A person approves all that the servers say.
fn approve_all(fixture: &Fixture) {
    let project = fixture.project();
    let loaded = load_catalogue(&project).unwrap();
    let shown: Vec<(String, Vec<u8>)> = loaded
        .catalogue
        .entries()
        .iter()
        .map(|entry| (entry.name().as_str().to_owned(), exact_text(entry.written()).into_bytes()))
        .collect();
    approval_store(&project.places).unwrap().trust(&project.key, &shown).unwrap();
}

/// Proem calls itself, as a program and at an address with a token.
#[test]
fn proem_is_a_server_for_its_own_programs() {
    let mut fixture = Fixture::folder().unborn();
    fixture.set("MCP_TOKEN", "correct-horse-battery-staple");
    fixture.set("WRONG_TOKEN", "a-wrong-horse-battery-staple");
    fixture.configure("config.toml", "[effects.credentials]\nmcp = { variable = \"MCP_TOKEN\" }\n");
    let server = HttpServer::start(&fixture, &["--token", "mcp"]);
    let agent = |server: &str| {
        format!(
            "version = 1\nname = \"counter\"\nsignature = \"(text :string) -> :any\"\n\n[tools.count]\n\
             signature = \"(text :string) -> :any\"\ndescription = \"Count tokens\"\neffect = false\n\
             mcp = {{ server = \"{server}\", tool = \"tokens_count\" }}\n"
        )
    };
    fixture.configure("agents/program.agent.toml", &agent("program"));
    fixture.configure("agents/address.agent.toml", &agent("address"));
    fixture.write("count.clj", "(tool/count {:text ctx/text})");
    fixture.write("text.json", "{ \"text\": \"one two three\" }");
    let configuration = |token: &str| {
        format!(
            "[effects.credentials]\nmcp = {{ variable = \"{token}\" }}\n\n[mcp.program]\ncommand = [\"{}\", \"mcp\"]\n\n\
             [mcp.address]\nurl = \"http://{}/mcp\"\nprivate = true\ncredential = \"mcp\"\n",
            fixture.binary.display(),
            server.host
        )
    };
    fixture.configure("config.toml", &configuration("MCP_TOKEN"));
    let fetched = fixture.proem(&["catalogue", "fetch", "--json"]);
    let servers = fetched.json()["servers"].clone();
    assert_eq!((&servers[0]["server"], &servers[1]["server"]), (&"address".into(), &"program".into()));
    assert_eq!((&servers[0]["tools"], &servers[0]["failure"]), (&servers[1]["tools"], &serde_json::Value::Null));
    let run = |agent: &str| fixture.proem(&["lisp", "run", "count.clj", "--agent", agent, "--input", "text.json"]);
    for agent in ["program", "address"] {
        let refused = run(agent);
        assert_eq!(refused.code(), 1, "{}", refused.transcript());
        assert!(refused.stderr().contains("nobody approved the definition"), "{}", refused.stderr());
    }
    approve_all(&fixture);
    for agent in ["program", "address"] {
        let counted = run(agent);
        assert!(counted.answer().contains("\"totals\" {\"cl100k\" 3"), "{}", counted.transcript());
    }
    let again = fixture.proem(&["catalogue", "fetch"]);
    assert!(again.stdout().contains(": 0 new, 0 changed, 0 gone\n"), "{}", again.transcript());
    // The server refuses a wrong token, and no output shows it.
    fixture.configure(
        "config.toml",
        &configuration("WRONG_TOKEN")
            .replace("[mcp.program]", "[mcp.gone]\ncommand = [\"sh\", \"-c\", \"echo it broke >&2\"]\n\n[mcp.program]"),
    );
    let failed = fixture.proem(&["catalogue", "fetch", "address", "gone"]);
    assert_eq!(failed.code(), 3, "{}", failed.transcript());
    assert!(failed.stdout().contains("the server refused the credential (status 401)"), "{}", failed.stdout());
    assert!(
        failed.stdout().contains("it ended before it had answered") && failed.stdout().contains("it wrote: it broke")
    );
    assert!(!failed.stdout().contains("wrong-horse"), "{}", failed.stdout());
    for (name, configured, problem) in [
        ("nobody", "", "no server `nobody` is configured; add it as `[mcp.nobody]`"),
        ("x", "[mcp.x]\n", "`mcp.x` has neither `command` nor `url`; set one"),
        ("x", "[mcp.x]\ncommand = [\"no-such-program\"]\n", "needs the program `no-such-program`; install it"),
        ("x", "[mcp.x]\ncommand = [\"sh\"]\nurl = \"https://a.example\"\n", "has both `command` and `url`; keep one"),
        ("x", "[mcp.x]\ncommand = [\"sh\"]\nsecrets = { A = \"b\" }\n", "names the credential `b`; say where it is"),
    ] {
        fixture.configure("config.toml", configured);
        let refused = fixture.proem(&["catalogue", "fetch", name]);
        assert_eq!(refused.code(), 2, "{}", refused.transcript());
        assert!(refused.stderr().contains(problem), "{}", refused.stderr());
    }
}

/// The table of an approved tool is one for an agent's file, as it is printed.
#[test]
fn an_approved_tool_is_printed_for_an_agents_file() {
    let fixture = Fixture::folder().unborn();
    let configuration = format!("[mcp.own]\ncommand = [\"{}\", \"mcp\"]\n", fixture.binary.display());
    fixture.configure("config.toml", &configuration);
    assert_eq!(fixture.proem(&["catalogue", "fetch"]).code(), 0);
    let show = || fixture.proem(&["catalogue", "show", "own__tokens_count", "--agent-table"]);
    let unapproved = show();
    assert_eq!((unapproved.code(), unapproved.stdout()), (1, ""), "{}", unapproved.transcript());
    assert!(unapproved.stderr().contains("run `proem catalogue approve own__tokens_count` first"));
    approve_all(&fixture);
    let table = show();
    fixture.write("count.clj", "(tool/tokens-count {:text \"one two three\"})");
    let run_with = |table: &str| {
        fixture.configure("agents/printed.agent.toml", &format!("version = 1\nname = \"printed\"\n\n{table}"));
        fixture.proem(&["lisp", "run", "count.clj", "--agent", "printed"])
    };
    let printed = run_with(table.answer());
    assert!(printed.answer().contains("\"cl100k\" 3"), "{}\n{}", printed.transcript(), table.answer());
    let counted = run_with(&table.answer().replace("# effect = false", "effect = false"));
    assert!(counted.answer().contains("\"cl100k\" 3"), "{}\n{}", counted.transcript(), table.answer());
}

/// A project's file can't name a server.
#[test]
fn a_projects_servers_count_for_nothing() {
    let fixture = Fixture::folder().unborn();
    fixture.trust(&[("proem.toml", "[mcp.docs]\ncommand = [\"sh\", \"-c\", \"touch started\"]\n")]);
    let refused = fixture.proem(&["catalogue", "fetch", "docs"]);
    assert_eq!(refused.code(), 2, "{}", refused.transcript());
    assert!(refused.stderr().contains("no server `docs` is configured"), "{}", refused.stderr());
}
