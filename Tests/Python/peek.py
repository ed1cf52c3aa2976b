#!/usr/bin/env python3
# A plugin that tries to read what is beside it, and says what came of it.
import json, os, sys
here = os.path.dirname(sys.argv[0])
def error(name):
  try:
    open(os.path.join(here, name), "rb").read(1)
    return 0
  except OSError as error:
    return error.errno
manifest = {"id": "peek", "version": "1", "outputVersion": 1, "scope": "original",
  "options": {"type": "object"}, "facts": [], "makesRenditions": False, "estimates": False,
  "runtime": ""}
for line in sys.stdin:
  message = json.loads(line)
  answer = {"type": {"hello": "manifest", "create": "created"}.get(message["type"], "result"),
    "protocol": 1, "manifest": manifest, "job": message.get("request", {}).get("job")}
  names = ["library/catalog.sqlite", "pipeline.json", "key", ".ssh/key", sys.argv[0]]
  answer["result"] = {"outcome": "done", "facts": {"errors": [error(name) for name in names]}}
  print(json.dumps(answer), flush=True)
