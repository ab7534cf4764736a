#!/usr/bin/env python3
"""Lets the agent work on this repository, with a model that is a script: no key and no network.

    python3 xtask/demo.py target/demo/pirn examples/repository-report.ts

The model's server is in this process, on the loopback. It answers the question with one call of `exec`, whose program is the given
file, and the result of the call with the lines that the program printed. What is said and called comes from the real agent.
"""

import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

QUESTION = "What is in this repository?"
MODEL = "scripted"


class Model(http.server.BaseHTTPRequestHandler):
    """Chat completions, streamed."""

    program = ""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        last = request["messages"][-1]
        if last["role"] == "tool":
            output = text(last["content"]).partition("Output:\n")[2].strip()
            delta, reason = {"content": f"A program looked. It says:\n\n{output}"}, "stop"
        else:
            call = {"name": "exec", "arguments": json.dumps({"code": self.program})}
            delta = {"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": call}]}
            reason = "tool_calls"
        usage = {"prompt_tokens": len(json.dumps(request)) // 4, "completion_tokens": len(json.dumps(delta)) // 4}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.event({"choices": [{"index": 0, "delta": delta}]})
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage})
        self.wfile.write(b"data: [DONE]\n\n")

    def event(self, value):
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())

    def log_message(self, *_):
        pass


def text(content):
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: demo.py PIRN PROGRAM")
    Model.program = Path(sys.argv[2]).read_text(encoding="utf-8")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        provider = {
            "baseUrl": f"http://127.0.0.1:{server.server_port}/v1",
            "api": "openai-completions",
            "apiKey": "none",
            "models": [{"id": MODEL}],
        }
        (Path(home) / "models.json").write_text(json.dumps({"providers": {"demo": provider}}), encoding="utf-8")
        print(f"$ pirn -p '{QUESTION}'", flush=True)
        command = [sys.argv[1], "-p", "--model", f"demo/{MODEL}", "--no-session", "--yes=process", QUESTION]
        sys.exit(subprocess.run(command, check=False, env={**os.environ, "PIRN_HOME": home}).returncode)


main()
