// What the server answers. All URLs are relative to the page's base.

/** Reads JSON; an error has the server's sentence as its message. */
export async function get(path, options) {
  const answer = await fetch(path, options);
  if (answer.ok) return answer.json();
  const { error } = await answer.json().catch(() => ({}));
  throw new Error(error?.message ?? `The server answered ${answer.status}.`);
}

export const post = (path, body) =>
  get(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/**
 * Reads an element of a page that the server made: what it shows is written in one place only. Its
 * scripts don't run.
 */
export const part = (path, selector) => new Promise((done, fail) => {
  const request = new XMLHttpRequest();
  request.open("GET", path);
  request.responseType = "document";
  request.onloadend = () => {
    const { status, response } = request, element = status < 400 && response?.querySelector(selector);
    if (element) done(document.adoptNode(element));
    else fail(new Error(status ? `The server answered ${status}.` : "The server does not answer."));
  };
  request.send();
});

/** The tail of a URL: ?q=…&sort=…; what is empty is left out. */
export function tail(words) {
  const some = new URLSearchParams(Object.entries(words).filter(([, value]) => value)).toString();
  return some && `?${some}`;
}

const { allow = "", originals } = document.body.dataset;
/** Whether this server lets the page do that: tag, trash or retry. */
export const allows = (what) => allow.split(" ").includes(what);

/** Whether this server hands out originals. */
export const hasOriginals = originals !== "none";

/**
 * Calls `act` with what the server's events say, once at a time, and never while the page is
 * hidden. Some may be missed in between, so it is also called, with nothing, once there is a
 * connection again, and by what is returned.
 */
export function follow(types, pause, act) {
  let source, isLost, busy, news;
  const wake = async (event) => {
    news = event?.data ? JSON.parse(event.data) : {};
    if (busy) return;
    busy = true;
    while (news && !document.hidden) {
      const began = performance.now(), latest = news;
      news = null;
      await act(latest).catch(() => {}); // the next event tries again
      const took = performance.now() - began;
      await new Promise((done) => setTimeout(done, Math.max(pause, 3 * took)));
    }
    busy = false;
  };
  const open = () => {
    source?.close();
    // A browser has few connections for each host, and a hidden page needs none.
    if (document.hidden) { isLost = true; return; }
    source = new EventSource("api/v1/events");
    for (const type of types) source.addEventListener(type, wake);
    source.onopen = () => { if (isLost) wake(); isLost = false; };
    source.onerror = () => {
      isLost = true;
      // After an answer other than 200, the browser does not try again.
      if (source.readyState === EventSource.CLOSED) setTimeout(open, 5000);
    };
  };
  addEventListener("visibilitychange", open);
  open();
  return wake;
}
