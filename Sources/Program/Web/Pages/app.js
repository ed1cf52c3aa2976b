// Begins what the page needs: without scripts it works as the server made it, with them it is one gallery.
import { get, hasOriginals, listen, one, tail } from "./api.js";
import { h, localTimes, number } from "./dom.js";
import { Grid } from "./grid.js";
import { help } from "./help.js";
import { Scrubber } from "./scrubber.js";
import { searchBox } from "./search.js";
import { Viewer } from "./viewer.js";
import { work } from "./work.js";

const form = document.getElementById("search");
const made = document.getElementById("main"); // what the server made
const modified = (event) => event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey;

/** Where the page is: a query, an order, and the asset that is open. */
function here() {
  const path = decodeURI(location.pathname.slice(new URL(document.baseURI).pathname.length));
  const words = new URLSearchParams(location.search), [, kind, name] = path.match(/^(day|a)\/(.+)$/) ?? [];
  return { query: { q: kind === "day" ? `taken:${name}` : words.get("q") ?? "", sort: words.get("sort") ?? "" }, asset: kind === "a" ? name : null };
}

document.body.classList.add("scripted");
localTimes(document.body);
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input, textarea, select")) return;
  if (key === "?") help();
  else if (key === "/" && !document.querySelector("dialog[open]")) form.elements.q.select();
  else return;
  event.preventDefault();
});
if (["gallery", "picture"].includes(document.body.dataset.page)) gallery();
else {
  searchBox(form);
  if (document.body.dataset.page === "work") work(made);
}

function gallery() {
  let { query, asset } = here();
  const title = h("h1"), count = h("p.count", { "aria-live": "polite" }), notice = h("p.notice", { role: "status" });
  const orders = { "": "Newest first", taken: "Oldest first", "-imported": "Last imported", name: "Name", "-size": "Largest first", "-rating": "Best rated" };
  const order = h("select", { "aria-label": "Order", on: { change: () => go({ ...query, sort: order.value }) } },
    ...Object.entries(orders).map(([value, text]) => h("option", { value }, text)));
  const summary = h("div.summary", {}, title, count, h("label.sort", {}, order), notice);
  const box = h("main.box", { id: "main", tabIndex: -1 });
  const more = h("button.more", { type: "button", hidden: true, on: { click: () => grid.toTop() } });
  const grid = new Grid(box, summary, moved), scrubber = new Scrubber(grid);
  const viewer = new Viewer(grid, { went, closed });

  function moved() {
    scrubber.follow();
    if (grid.track.value < 4) grid.grown = 0;
    more.hidden = !grid.grown;
    more.textContent = `${number(grid.grown)} new ↑`;
  }

  /** Says what was found. */
  function describe(problem) {
    const n = grid.count;
    form.elements.q.value = query.q;
    order.value = query.sort in orders ? query.sort : "";
    document.title = `${query.q || "Pictures"} – pipeline`;
    title.textContent = query.q ? "Found" : "Pictures";
    count.replaceChildren(h("strong", {}, number(n)), n === 1 ? " picture" : " pictures");
    notice.textContent = problem || (n ? "" : query.q ? "Nothing is like that." : "There are no pictures yet. Put some into a watched folder and run pipeline run.");
    notice.hidden = !notice.textContent;
  }

  async function load(place = 0) {
    let problem;
    try { if (!(await grid.show(query))) return; } catch (error) {
      problem = error.message;
      grid.accept({ revision: "", days: [], aspects: "", keys: [], count: 0 });
    }
    if (made.isConnected) { // what the server made gives way in one step
      document.body.classList.add("app");
      made.replaceWith(box);
      box.append(scrubber.element, more);
    }
    describe(problem);
    grid.arrange(place);
    grid.draw();
  }

  const address = () => "." + tail(query);
  const keep = () => history.replaceState({ ...history.state, place: grid.track.value }, "");

  /** Shows another query. */
  function go(next) {
    keep();
    query = next;
    history.pushState({}, "", address());
    ready = load();
    box.focus({ preventScroll: true });
  }

  /** Opens the asset of the URL, wherever it is in the order. */
  async function open(id) {
    await ready;
    const { index, record } = (await grid.find(id)) ?? { index: -1, record: await get(`api/v1/assets/${id}`) };
    if (here().asset === id) viewer.show(index, record);
  }

  function went({ id, name }) {
    document.title = `${name} – pipeline`;
    const url = `a/${id}` + tail(query), now = here().asset;
    if (now === id) return;
    if (!now) keep();
    history[now ? "replaceState" : "pushState"](now ? history.state : { over: true }, "", url);
  }

  function closed(index, { id }) {
    if (index >= 0) grid.activate(index);
    if (here().asset === id) {
      // Opened over the gallery, that is one step back; opened by its URL, there is nothing behind.
      if (history.state?.over) history.back(); else history.replaceState({}, "", address());
    }
    describe();
  }

  addEventListener("popstate", () => {
    const before = tail(query);
    ({ query, asset } = here());
    const same = tail(query) === before;
    if (!same) ready = load(history.state?.place);
    if (asset && viewer.id !== asset) open(asset).catch(() => {});
    else if (!asset && viewer.open) viewer.close();
  });

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href]"), href = link?.getAttribute("href");
    if (!link || modified(event)) return;
    if (box.contains(link) && link.index !== undefined) viewer.show(link.index, grid.record(link.index), link);
    else if (href.startsWith("?") || (href === "." && link.closest(".bar")) || /^day\//.test(href)) {
      // Links to queries stay within this page.
      const url = new URL(link.href), day = url.pathname.match(/\/day\/(.+)$/)?.[1];
      if (viewer.open) viewer.leave();
      go({ q: day ? `taken:${day}` : url.searchParams.get("q") ?? "", sort: query.sort });
    } else return;
    event.preventDefault();
  });

  document.addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || target.closest?.("input, textarea, select, video, .scrubber, .help")) return;
    const { active } = grid, record = grid.record(active);
    if (viewer.open) { if (!viewer.key(key, target.closest?.(".panel"))) return; }
    else if ("izd".includes(key) && record) {
      if (key === "d") hasOriginals && h("a", { href: `o/${record.id}`, download: "" }).click();
      else { viewer.show(active, record, grid.tiles.get(active)); viewer.key(key); }
    } else if (!grid.key(key)) return;
    event.preventDefault();
  });

  box.addEventListener("focusin", ({ target }) => {
    const { index } = target;
    grid.holds = index !== undefined;
    if (grid.holds && index !== grid.active) grid.activate(index);
  });
  box.addEventListener("focusout", ({ relatedTarget }) => { if (relatedTarget) grid.holds = false; });
  addEventListener("pagehide", () => { if (!viewer.open) keep(); });
  searchBox(form, (q) => go({ ...query, q }));

  history.scrollRestoration = "manual";
  let ready = load(history.state?.place);
  const refresh = one(async () => {
    await grid.refresh();
    if (viewer.open) await viewer.renew(); else describe();
  }, 500);
  ready.then(() => listen(["change"], (event) => { if (!event || JSON.parse(event.data).revision !== grid.revision) refresh(); }));
  if (asset) open(asset).catch(() => {});
}
