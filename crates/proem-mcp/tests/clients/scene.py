"""A project of its own for a server that is tried: commits, a recorded run, and an action that waits for a person."""

import json
import os
import pty
import select
import subprocess
import tempfile
import time
from pathlib import Path

POLICY = """version = 1
level = "tactical"
domains = ["corp.example"]
recipients = [{ address = "ada@corp.example", name = "Ada", role = "sponsor" }]

[lists]
approval = ["note"]

[actions.note]
level = "monitoring"
perform = "mail"
target = { role = "recipient" }
fields.subject = { role = "text", audience = "internal", required = true, max_bytes = 200 }
fields.body = { role = "text", audience = "internal", required = true }
"""

PROMPT = """---
model: small
input:
  schema:
    report: string, what somebody reports
proem:
  version: 1.0.0
  purpose: sort a report
  sections:
    - { name: role, trust: rules }
    - { name: report, trust: untrusted, cache: never }
---
{{role "system"}}{{section "role"}}
You sort reports.
{{role "user"}}{{section "report"}}
{{report}}
"""


class Scene:
    """Folders of a user who has nothing else, and a repository with two commits."""

    def __init__(self, binary):
        self.binary = str(Path(binary).resolve())
        self._folder = tempfile.TemporaryDirectory(prefix="proem-mcp-")
        base = Path(self._folder.name)
        for name in ("home", "config/proem/book/reviews/sort", "state", "cache", "repo"):
            (base / name).mkdir(parents=True, mode=0o700)
        self.root = base / "repo"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(base / "home"),
            "XDG_CONFIG_HOME": str(base / "config"),
            "XDG_STATE_HOME": str(base / "state"),
            "XDG_CACHE_HOME": str(base / "cache"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "NO_COLOR": "1",
            "TERM": "xterm-256color",
        }
        config = base / "config/proem"
        (config / "config.toml").write_text('[effects.mail]\nfrom = "projects@corp.example"\n')
        (config / "policy.toml").write_text(POLICY)
        (config / "book/reviews/sort/1.0.0.prompt").write_text(PROMPT)
        self._commit({"README.md": "# Clock\n\nTells the time.\n", "src/main.rs": 'fn main() { println!("noon"); }\n'})
        self._commit({"src/main.rs": 'fn main() { println!("midnight"); }\n'})
        self.run(["assemble", "tell the time"])
        self.run(["assemble", "tell the time at midnight"])
        self.person(["effects", "on"])
        note = {"action": "note", "target": "ada@corp.example", "fields": {"subject": "Clock", "body": "It is noon."}}
        note["causes"] = [{"id": "signal-1", "revision": "1"}]
        (base / "note.json").write_text(json.dumps(note))
        self.action = json.loads(self.run(["effects", "propose", str(base / "note.json"), "--json"]))["id"]

    def close(self):
        self._folder.cleanup()

    def run(self, arguments, text=""):
        """The standard output of a command, which must succeed."""
        done = subprocess.run(
            [self.binary, *arguments],
            input=text, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"proem {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def person(self, arguments):
        """Runs a command at a terminal and answers `y` to its question."""
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.root)
            os.execve(self.binary, [self.binary, *arguments], self.environment)
        shown, answered, end = b"", False, time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([terminal], [], [], 1)[0]:
                try:
                    block = os.read(terminal, 65536)
                except OSError:
                    block = b""
                if not block:
                    break
                shown += block
            elif not answered:
                # Nothing more is shown: it asks.
                os.write(terminal, b"y\r")
                answered = True
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os.close(terminal)
        if code != 0:
            raise RuntimeError(f"proem {' '.join(arguments)}: {code}\n{shown.decode(errors='replace')}")

    def _commit(self, files):
        git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@corp.example", "-C", str(self.root)]
        if not (self.root / ".git").exists():
            subprocess.run([*git, "init", "-q", "-b", "main"], env=self.environment, check=True)
        for name, text in files.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text)
        subprocess.run([*git, "add", "."], env=self.environment, check=True)
        subprocess.run([*git, "commit", "-qm", "tell the time"], env=self.environment, check=True)
