// What the server answers. All URLs are relative to the page's base.

async function problem(answer) {
  let message = `The server answered ${answer.status}.`;
  try { message = (await answer.json()).error.message; } catch { /* the status has to do */ }
  return new Error(message);
}

/** Reads JSON; an error has the server's sentence as its message. */
export async function get(path, options) {
  const answer = await fetch(path, options);
  if (!answer.ok) throw await problem(answer);
  return answer.json();
}

export const post = (path, body) =>
  get(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** Reads a page that the server made: what it shows is written in one place only. Its scripts don't run. */
export const page = (path) => new Promise((done, fail) => {
  const request = new XMLHttpRequest();
  request.open("GET", path);
  request.responseType = "document";
  request.onload = () => (request.status < 400 && request.response ? done(request.response) : fail(new Error(`The server answered ${request.status}.`)));
  request.onerror = () => fail(new Error("The server does not answer."));
  request.send();
});

/** The tail of a URL: ?q=…&sort=…; what is empty is left out. */
export function tail(words) {
  const some = Object.entries(words).filter(([, value]) => value !== "" && value != null);
  return some.length ? "?" + new URLSearchParams(some) : "";
}

const allowed = (document.body.dataset.allow ?? "").split(/\s+/);
/** Whether this server lets the page do that: tag, trash or retry. */
export const allows = (what) => allowed.includes(what);

/** Whether this server hands out originals. */
export const hasOriginals = document.body.dataset.originals !== "none";

/** Listens to the server's events; after a lost connection, some may have been missed. */
export function listen(types, act) {
  let source, lost = false;
  const open = () => {
    source = new EventSource("api/v1/events");
    for (const type of types) source.addEventListener(type, act);
    source.onopen = () => { if (lost) act(); lost = false; };
    source.onerror = () => {
      lost = true;
      // After an answer other than 200, the browser does not try again.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => { if (!document.hidden) reopen(); }, 5000);
    };
  };
  const reopen = () => { source.close(); open(); };
  // A browser has few connections for each host, and a hidden page needs none.
  document.addEventListener("visibilitychange", () => {
    lost = true;
    if (document.hidden) source.close(); else reopen();
  });
  open();
}

/** Makes of a function one that runs once at a time, again if it was wanted meanwhile, and not while the page is hidden. */
export function one(act, pause) {
  let wanted = false, busy = false;
  const run = async () => {
    wanted = true;
    if (busy) return;
    busy = true;
    while (wanted && !document.hidden) {
      wanted = false;
      const began = performance.now();
      await act().catch(() => {}); // the next event tries again
      const took = performance.now() - began;
      await new Promise((done) => setTimeout(done, Math.max(pause, 3 * took)));
    }
    busy = false;
  };
  document.addEventListener("visibilitychange", () => { if (wanted) run(); });
  return run;
}
