"""The plugin's side of pipeline's line protocol, for plugins in Python.

    import pipeline_plugin  # before other imports: it answers for one that fails

    MANIFEST = {"id": "length", "version": "1.0.0", "outputVersion": 1, "facts": ["bytes"]}

    def process(request, host):
        return {"facts": {"bytes": request["asset"]["size"]}}

    if __name__ == "__main__":
        pipeline_plugin.run(MANIFEST, process)

`docs/plugins.md` describes manifest, request and result. Requires Python 3.9 and no packages.
From the import on, printed text goes to standard error, which the program logs.
"""

import errno, json, os, platform, queue, sys, threading, traceback  # noqa: E401

_TRANSIENT = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_NO_OPTIONS = {"type": "object", "properties": {}, "additionalProperties": False}
_RENDITION = {"name": str, "path": str, "mediaType": str, "width": int, "height": int}
_writing = threading.Lock()
_answers = os.dup(1)  # not inherited by programs that the plugin starts, unlike 1 itself
os.dup2(2, 1)
sys.stdout = sys.stderr


class Skip(Exception):
    """There is nothing to do for this file: `raise Skip("The picture has no sky.")`."""


class Failure(Exception):
    """The job failed; `kind` is "permanent", "transient" or "environment"."""

    def __init__(self, kind, reason):
        super().__init__(reason)
        self.kind = kind if kind in ("permanent", "transient", "environment") else "permanent"


class Host:
    """The program as `process` sees it during one job."""

    def __init__(self, job, cancelled):
        self._job, self._cancelled = job, cancelled

    @property
    def cancelled(self):
        """Whether the job is cancelled: raise or return soon. Cheap, so check often."""
        return self._job in self._cancelled

    def log(self, message, level="info"):
        """Writes a line to the log; levels are "debug", "info", "warning" and "error"."""
        _send({"type": "log", "level": level, "message": str(message)})

    def progress(self, fraction):
        """Reports the completed fraction of the job, from 0 to 1."""
        _send({"type": "progress", "fraction": min(1.0, max(0.0, float(fraction)))})

    def limit_cpu(self, seconds):
        """Asks to end the job once it has used so many seconds of processor time, unless the stage sets `limits.cpu`."""
        _send({"type": "limit", "cpu": float(seconds)})


def run(manifest, process, create=None, estimate=None):
    """Answers the program until it closes standard input; never returns.

    process(request, host)  runs one job. It returns a dictionary with "facts", "renditions" or
                            both (None for neither), or raises Skip or Failure. In
                            request["options"], the manifest's defaults are filled in.
    create(options)         is called once, before all jobs; may raise Failure.
    estimate(facts)         returns the bytes of memory that a job will need, or None.
    """
    manifest = {"scope": "original", "options": _NO_OPTIONS, "facts": [], "makesRenditions": False,
                "estimates": bool(estimate), "runtime": "Python " + platform.python_version(),
                **manifest}
    properties = manifest["options"].get("properties", {})
    defaults = {key: schema["default"] for key, schema in properties.items() if "default" in schema}
    messages, cancelled = queue.SimpleQueue(), set()
    threading.Thread(target=_read, args=(os.dup(0), messages, cancelled), daemon=True).start()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.excepthook = sys.__excepthook__
    while True:
        message = messages.get()
        kind = message.get("type")
        if kind == "hello":
            _send({"type": "manifest", "protocol": 1, "manifest": manifest})
        elif kind == "create":
            try:
                if create:
                    create({**defaults, **message["options"]})
                _send({"type": "created"})
            except Exception as error:
                _send({"type": "failed", "failure": _failure(error)})
        elif kind == "estimate" and estimate:
            bytes = [_estimated(estimate, facts) for facts in message["facts"]]
            _send({"type": "estimates", "bytes": bytes})
        elif kind == "process":
            request = message["request"]
            request["options"] = {**defaults, **request["options"]}
            try:
                result = _checked(process(request, Host(request["job"], cancelled)), request)
            except Skip as skip:
                result = {"outcome": "skipped", "reason": _line(skip)}
            except Exception as error:
                result = {"outcome": "failed", "failure": _failure(error, request["input"])}
            cancelled.clear()
            _send({"type": "result", "job": request["job"], "result": result})
        else:
            _send({"type": "unsupported"})


def _read(descriptor, messages, cancelled):
    """Reads messages on a separate thread, so that a running job can see its cancellation."""
    try:
        with open(descriptor, encoding="utf-8", newline="\n") as lines:
            for line in lines:
                message = json.loads(line)
                if message.get("type") == "cancel":
                    cancelled.add(message.get("job"))
                else:
                    messages.put(message)
    except Exception:
        traceback.print_exc()
    os._exit(0)  # nobody waits any more for a running job


def _send(message):
    line = json.dumps(message, allow_nan=False).encode() + b"\n"
    with _writing:
        while line:
            line = line[os.write(_answers, line):]


def _estimated(estimate, facts):
    try:
        return estimate(facts)
    except Exception:  # facts vary from file to file, and an estimate is optional
        traceback.print_exc()


def _line(text):
    return " ".join(str(text).split())[:1000] or "No reason was given."


def _failure(error, path=None):
    """Converts an exception to class and reason; logs unexpected ones in full."""
    if isinstance(error, Failure):
        return {"class": error.kind, "reason": _line(error)}
    traceback.print_exc()
    transient = isinstance(error, OSError) and error.errno in _TRANSIENT
    kind = "transient" if transient or isinstance(error, MemoryError) else "permanent"
    kind = "environment" if isinstance(error, ImportError) else kind
    text = "%s: %s" % (type(error).__name__, error)
    return {"class": kind, "reason": _line(text.replace(path, "the file") if path else text)}


def _checked(value, request):
    """Checks what `process` returned and makes it a result."""
    result = {"outcome": "done", **({} if value is None else value)}
    for key in set(result) - {"outcome", "facts", "renditions"}:
        raise TypeError("process returned the unknown key %r" % key)
    if not isinstance(result.get("facts", {}), dict):
        raise TypeError("process returned facts that are not a dictionary")
    for rendition in result.get("renditions", []):
        for key, kind in _RENDITION.items():
            if not isinstance(rendition.get(key), kind):
                raise TypeError("process returned a rendition whose %s is not %s" % (key, kind))
        path = os.path.normpath(os.path.join(request["output"], rendition["path"]))
        if not path.startswith(request["output"] + "/") or not os.path.isfile(path):
            raise ValueError("rendition %(name)s is not a file in the output folder" % rendition)
    # A line has at most 1 MiB, including the job's number around the result.
    size = len(json.dumps(result, allow_nan=False))
    if size > (1 << 20) - 1024:
        raise ValueError("process returned %d bytes as JSON, more than 1 MiB" % size)
    return result


def _failed_to_start(kind, error, trace):
    """Answers the program's first message if the plugin fails before it calls `run`."""
    sys.__excepthook__(kind, error, trace)
    if os.read(0, 1):
        reason = _line("%s: %s" % (kind.__name__, error))
        _send({"type": "failed", "failure": {"class": "environment", "reason": reason}})


sys.excepthook = _failed_to_start
