"""A small server that speaks OpenAI's chat protocol, well or badly."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def wording(content):
    """The JSON of a reply with these words."""
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]})


def labelled(choose):
    """An answer that gives every text the class that `choose` makes of it."""

    def reply(body):
        rows = json.loads(body["messages"][1]["content"])
        return 200, wording(json.dumps({"labels": {str(row["n"]): choose(row["text"]) for row in rows}}))

    return reply


class Chat:
    """`answer` gets the body of a request and returns a status and a text; or raises, which hangs up."""

    def __init__(self, answer, port=0):
        self.answer, self.requests, self.headers = answer, [], []
        chat = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                chat.requests.append(body)
                chat.headers.append((self.path, dict(self.headers)))
                try:
                    status, text, *headers = chat.answer(body)
                except ConnectionError:
                    self.close_connection = True
                    self.connection.close()
                    return
                content = text if isinstance(text, bytes) else text.encode()
                self.send_response(status)
                for name, value in dict(*headers).items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def do_GET(self):
                chat.requests.append("GET")
                self.send_error(404)

            def log_message(self, *_):
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                """A client that hung up is part of the tests."""

        self.server = Quiet(("127.0.0.1", port), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def texts(self):
        """Every text that was sent, in order."""
        return [row["text"] for body in self.requests for row in json.loads(body["messages"][1]["content"])]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
