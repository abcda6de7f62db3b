"""The guide's code runs and prints what the guide says, against a server that answers as a provider does."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
CALL = {"id": "call-1", "type": "function", "function": {"name": "find_order", "arguments": '{"number": "17"}'}}
ANSWERS: list[dict[str, Any]] = [
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "assistant", "content": 'It is: {"product": "kettle", "urgent": true}'},
]


class Provider(ThreadingHTTPServer):
    """Answers from a script, and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.bodies: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message = ANSWERS[len(self.server.bodies)]
        self.server.bodies.append(body)
        finish = "tool_calls" if "tool_calls" in message else "stop"
        answer = json.dumps(
            {
                "id": "answer",
                "object": "chat.completion",
                "created": 0,
                "model": body["model"],
                "choices": [{"index": 0, "finish_reason": finish, "message": message}],
                "usage": {"prompt_tokens": 90, "completion_tokens": 20, "total_tokens": 110},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Prints nothing."""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Provider() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]:
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "a key that nobody checks")
        yield server
        server.shutdown()


def blocks(language: str) -> list[str]:
    guide = (ROOT / "docs/guide/python.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", guide, re.MULTILINE | re.DOTALL)


def test_the_guide_runs(provider: Provider, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "guide"}
    exec(compile("\n".join(blocks("python")), "python.md", "exec"), names)
    assert capsys.readouterr().out == "".join(blocks("text"))
    first, second = provider.bodies
    assert first["max_completion_tokens"] == 300 and "UNTRUSTED_CONTEXT" in first["messages"][1]["content"]
    assert "refund" not in json.dumps(second) and "(withheld)" in second["messages"][-1]["content"]
    spent = names["budget"].spent_dollars
    assert spent is not None and 0 < spent < 0.001
