// Begins what the page needs: without scripts it works as the server made it, with them it is one
// gallery.
import { follow, get, hasOriginals, tail } from "./api.js";
import { h, localTimes, number, set, toast } from "./dom.js";
import * as grid from "./grid.js";
import { help } from "./help.js";
import { followView, scrubber } from "./scrubber.js";
import { searchBox } from "./search.js";
import * as track from "./track.js";
import * as viewer from "./viewer.js";
import { work } from "./work.js";

const { body } = document, form = document.getElementById("search");
const made = document.getElementById("main"); // what the server made
const base = new URL(document.baseURI).pathname;

/** What an address, or a link, leads to: a query, an order, and the asset that is open. */
function placeOf({ pathname, search }) {
  const words = new URLSearchParams(search), [, kind, name] = decodeURI(pathname.slice(base.length)).match(/^(day|a)\/(.+)/) ?? [];
  return { query: { q: kind === "day" ? `taken:${name}` : words.get("q") ?? "", sort: words.get("sort") ?? "" }, asset: kind === "a" && name };
}

const isModified = (event) => event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey;

/** Has keys act that are pressed outside of some elements; `act` tells whether it knows a key. */
function onKey(outside, act) {
  addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (!isModified(event) && !target.closest(outside) && act(key, target)) event.preventDefault();
  });
}

body.classList.add("scripted");
localTimes(body);
onKey("input, select", (key) => {
  if (key === "?") help();
  else if (key === "/" && !document.querySelector("dialog[open]")) form.elements.q.select();
  else return false;
  return true;
});
if (["gallery", "picture"].includes(body.dataset.page)) gallery();
else {
  searchBox(form);
  if (body.dataset.page === "work") work(made);
}

function gallery() {
  let { query, asset } = placeOf(location), problem, isBusy;
  const title = h("h1"), count = h("p.count", { "aria-live": "polite" }), notice = h("p.notice", { role: "status" });
  const orders = { "": "Newest first", taken: "Oldest first", "-imported": "Last imported", name: "Name", "-size": "Largest first", "-rating": "Best rated" };
  const order = h("select", { "aria-label": "Order", onchange: () => go({ ...query, sort: order.value }) },
    Object.entries(orders).map(([value, text]) => h("option", { value }, text)));
  const more = h("button.more", { hidden: true, onclick: grid.toTop }), { box } = track;
  grid.summary.append(title, count, h("label.sort", order), notice);
  box.append(scrubber, more);
  grid.begin(() => {
    followView();
    more.hidden = !grid.grown;
    more.textContent = `${number(grid.grown)} new ↑`;
  });
  viewer.begin({ went, closed });

  /** Says what was found, once that is known. */
  function describe() {
    if (isBusy) return;
    const { q, sort } = query, n = grid.count;
    form.elements.q.value = q;
    order.value = sort in orders ? sort : "";
    document.title = `${q || "Pictures"} – pipeline`;
    title.textContent = q ? "Found" : "Pictures";
    // Without a revision there was no answer.
    count.replaceChildren(...(grid.revision ? [h("strong", number(n)), n === 1 ? " picture" : " pictures"] : []));
    notice.textContent = n ? "" : !grid.revision ? problem : q ? "Nothing is like that." : "There are no pictures yet. Put some into a watched folder and run pipeline run.";
    notice.hidden = !notice.textContent;
  }

  /** Shows what the query finds; until that is known, what was shown before stays. */
  async function load(place = 0) {
    set(box, { "aria-busy": isBusy = notice.hidden = true });
    const asked = query, failed = await grid.show(asked).catch((error) => error.message);
    if (grid.query !== asked) return;
    set(box, { "aria-busy": isBusy = false });
    problem = failed;
    if (failed) grid.accept({ revision: "", days: [], aspects: "", keys: [], count: 0 });
    // What the server made gives way in one step.
    body.classList.add("app");
    made.replaceWith(box);
    describe();
    grid.arrange(place);
    grid.draw();
  }

  const address = () => "." + tail(query);
  const keep = () => history.replaceState({ ...history.state, place: track.value }, "");

  /** Shows another query. */
  function go(next) {
    keep();
    query = next;
    history.pushState({}, "", address());
    ready = load();
    box.focus({ preventScroll: true });
  }

  /** Opens the asset of the URL, if there is one, wherever it is in the order. */
  async function openAsset() {
    const id = asset;
    if (!id || viewer.record?.id === id) return;
    await ready;
    const { index, record } = (await grid.find(id)) ?? { index: -1, record: await get(`api/v1/assets/${id}`) };
    if (placeOf(location).asset === id) viewer.show(index, record);
  }

  function went({ id, name }) {
    document.title = `${name} – pipeline`;
    const url = `a/${id}` + tail(query), now = placeOf(location).asset;
    if (now && now !== id) history.replaceState(history.state, "", url);
    else if (!now) {
      keep();
      history.pushState({ over: true }, "", url);
    }
  }

  function closed(index, { id }) {
    if (index >= 0) grid.activate(index);
    if (placeOf(location).asset === id) {
      // Opened over the gallery, that is one step back; opened by its URL, there is nothing behind.
      if (history.state?.over) history.back(); else history.replaceState({}, "", address());
    }
    describe();
  }

  addEventListener("popstate", () => {
    const before = tail(query);
    ({ query, asset } = placeOf(location));
    if (tail(query) !== before) ready = load(history.state?.place);
    if (!asset && viewer.dialog.open) viewer.close(); else openAsset().catch(toast);
  });

  addEventListener("click", (event) => {
    const link = event.target.closest("a[href]"), href = link?.getAttribute("href");
    if (!link || isModified(event) || event.shiftKey) return;
    if (link.index !== undefined) viewer.show(link.index, grid.recordAt(link.index), link);
    else if (/^(\?|day\/)/.test(href) || (href === "." && link.closest(".bar"))) {
      // Links to queries stay within this page.
      if (viewer.dialog.open) viewer.leave();
      go({ q: placeOf(link).query.q, sort: query.sort });
    } else return;
    event.preventDefault();
  });

  onKey("input, select, video, .scrubber, .help", (key, target) => {
    const { active } = grid, record = grid.recordAt(active);
    if (viewer.dialog.open) return viewer.key(key, target.closest(".panel"));
    if (!record || !"izd".includes(key)) return grid.key(key);
    if (key === "d") hasOriginals && h("a", { href: `o/${record.id}`, download: "" }).click();
    else { viewer.show(active, record, grid.tiles.get(active)); viewer.key(key); }
    return true;
  });

  addEventListener("pagehide", () => { if (!viewer.dialog.open) keep(); });
  searchBox(form, (q) => go({ ...query, q }));

  history.scrollRestoration = "manual";
  let ready = load(history.state?.place);
  ready.then(() => follow(["change"], 500, async ({ revision }) => {
    while (isBusy) await ready;
    if (revision === grid.revision) return;
    await grid.refresh();
    if (viewer.dialog.open) await viewer.renew(); else describe();
  }));
  openAsset().catch(toast);
}
