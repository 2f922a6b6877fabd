"""Answers questions by HTTP with the function in a file of Tracemill: no code of the function is here.

python read_digits.py --output digits.tmill
python serve_digits.py digits.tmill --port 8000
curl localhost:8000 -d "{\\"image\\": [$(seq -s, 64)]}"
"""

import argparse
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np

import tracemill as tm


def handler(function: Any) -> type[BaseHTTPRequestHandler]:
    """Calls the function with the arrays of a request, by name; what is wrong with them is answered by 400."""
    graph = function.artifact.graph
    dtypes = {name: value.type.dtype for name, value in zip(graph.input_names, graph.inputs, strict=True)}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                arrays = {name: np.asarray(value, dtypes.get(name)) for name, value in dict(given).items()}
                results = function(**arrays)
                self.answer(200, {name: np.asarray(result).tolist() for name, result in results.items()})
            except (ValueError, TypeError) as error:
                self.answer(400, {"error": f"{type(error).__name__}: {error}"})

        def answer(self, status: int, document: Any) -> None:
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", help="a file that tracemill export, or Artifact.save, has written")
    parser.add_argument("--port", type=int, default=0, help="0 for one that is free")
    options = parser.parse_args()
    function = tm.load(options.model)
    with ThreadingHTTPServer(("localhost", options.port), handler(function)) as server:
        print(f"{function} at http://localhost:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
