"""Measures `proem mcp` on standard input and output beside running the binary once for each call.

    python3 measure.py target/release/proem [CALLS]

Prints medians in milliseconds, and their ratio.
"""

import json
import statistics
import subprocess
import sys
import time

from scene import Scene

TEXT = "Please read the attached report and tell me what changed since last week. " * 20
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "measure", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def start(scene):
    command = [scene.binary, "mcp", "--root", str(scene.root)]
    return subprocess.Popen(
        command, env=scene.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def call(server, tool):
    params = {"name": tool, "arguments": {"text": TEXT}, "_meta": META}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    server.stdin.write(line.encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    assert not answer["result"]["isError"], answer


def median(work, calls):
    """The median time of some calls, in milliseconds."""
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        work()
        times.append((time.perf_counter() - begun) * 1000)
    return statistics.median(times)


def first_answer(scene):
    server = start(scene)
    call(server, "tokens_count")
    server.stdin.close()
    server.wait()


def run_binary(scene, arguments):
    # A finding has exit code 1.
    done = subprocess.run(
        [scene.binary, *arguments, "-"], input=TEXT.encode(), cwd=scene.root, env=scene.environment, capture_output=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr


def main(binary, calls):
    scene = Scene(binary)
    try:
        print(f"start to first answer and end: {median(lambda: first_answer(scene), calls):.1f} ms")
        server = start(scene)
        for tool, arguments in (("tokens_count", ["tokens", "--json"]), ("scan_text", ["scan", "--json"])):
            call(server, tool)
            served = median(lambda tool=tool: call(server, tool), calls)
            alone = median(lambda arguments=arguments: run_binary(scene, arguments), calls)
            print(f"{tool}: {served:.1f} ms a call; the binary once a call: {alone:.1f} ms; ratio {alone / served:.1f}")
        server.stdin.close()
        server.wait()
    finally:
        scene.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50)
