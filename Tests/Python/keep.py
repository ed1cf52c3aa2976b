#!/usr/bin/env python3
# A plugin that keeps a file open that has no name any more, each time another one. It takes its time for
# a job, so that it is looked at, and is done before anybody looks by the clock.
import json, os, sys, time
kept = []
manifest = {"id": "keep", "version": "1", "outputVersion": 1, "scope": "original",
  "options": {"type": "object"}, "facts": ["n"], "makesRenditions": False, "estimates": False, "runtime": ""}
for line in sys.stdin:
  message = json.loads(line)
  answer = {"type": {"hello": "manifest", "create": "created"}.get(message["type"], "result"),
    "protocol": 1, "manifest": manifest, "job": message.get("request", {}).get("job")}
  if answer["type"] == "result":
    kept.append(open("x", "wb", buffering=0))
    kept[-1].write(bytes(700_000))
    os.unlink("x")
    time.sleep(0.03)
  answer["result"] = {"outcome": "done", "facts": {"n": len(kept)}}
  print(json.dumps(answer), flush=True)
