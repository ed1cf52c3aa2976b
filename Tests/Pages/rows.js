// Changes libraries at random, and checks that rows in view stay as they were.
async ({ address, seed, rounds }) => {
  const { makeLayout } = await import(address);
  // A linear congruential generator: the same numbers for the same seed.
  let state = seed;
  const random = (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const check = (holds, what, round) => {
    if (!holds) throw new Error(`${what}, in round ${round} of seed ${seed}`);
  };
  let counter = 0;
  const picture = (day) => ({ id: ++counter, day, aspect: 96 + random(64) });
  const layoutOf = (pictures, width, old, rows) => {
    const days = [];
    for (const { day } of pictures) {
      if (days.at(-1)?.[0] === day) days.at(-1)[1] += 1; else days.push([day, 1]);
    }
    return makeLayout(Uint8Array.from(pictures, (p) => p.aspect), days, width, width < 560 ? 100 : 200, 6, old, rows);
  };
  const cellsOf = (layout, row, pictures) =>
    JSON.stringify(layout.cells(row).cells.map(({ index, x, width }) => [pictures[index].id, x, width, layout.heights[row]]));

  let kept = 0;
  for (let round = 0; round < rounds; round += 1) {
    const width = [320, 390, 1200, 2500][random(4)], before = [];
    for (let day = 40; day > 0; day -= 1) {
      const length = random(4) ? 1 + random(5) : random(60);
      for (let n = 0; n < length; n += 1) before.push(picture(day));
    }
    const old = layoutOf(before, width), first = random(old.rows), last = Math.min(old.rows - 1, first + random(8));
    // All but the first kind of change may also touch what is in view.
    const kind = ["above", "anywhere", "removed", "days", "proportions"][random(5)], after = [...before];
    const changes = 1 + random(20);
    for (let n = 0; n < changes; n += 1) {
      const at = random(kind === "above" ? old.firsts[first] + 1 : after.length);
      const { day } = after[Math.min(at, after.length - 1)];
      if (kind === "removed") after.splice(at, 1);
      else if (kind === "days") after[at] = { ...after[at], day: (after[at - 1] ?? after[at]).day };
      else if (kind === "proportions") after[at] = { ...after[at], aspect: 96 + random(64) };
      else if (at === 0) after.unshift(picture(40 + random(3)));
      else after.splice(at, 0, picture(random(2) ? day : after[at - 1].day));
    }
    if (kind === "days") after.sort((a, b) => b.day - a.day);
    if (kind === "above") after.sort((a, b) => b.day - a.day);
    const places = new Map(after.map(({ id }, n) => [id, n])), rows = [];
    for (let row = first; row <= last; row += 1) {
      const own = before.slice(old.firsts[row], old.end(row)).map(({ id }) => places.get(id));
      if (own.every((place, n) => place !== undefined && place === own[0] + n)) rows.push({ row, first: own[0] });
    }
    const layout = layoutOf(after, width, old, rows);
    // All pictures have a place, and none overlaps another.
    check(layout.firsts[0] === 0, "the first row does not begin with the first picture", round);
    for (let row = 0; row < layout.rows; row += 1) {
      check(layout.end(row) > layout.firsts[row], "a row is empty", round);
      check(layout.heights[row] > 0, "a row has no height", round);
      const { cells, headings, top, height } = layout.cells(row);
      headings.forEach(({ x, width: wide }, n) => check(x + wide <= (headings[n + 1]?.x ?? Infinity), "two headings overlap", round));
      check(top + height < (row + 1 < layout.rows ? layout.tops[row + 1] : layout.height), "two rows overlap", round);
      cells.forEach((cell, n) => {
        check(cell.width > 0 && cell.x + cell.width <= width + 1, "a picture is beyond the page", round);
        check(n === 0 || cell.x >= cells[n - 1].x + cells[n - 1].width + 5, "two pictures overlap", round);
      });
    }
    // Rows are as they were, and as far from each other.
    const same = rows.filter(({ row, first: place }) => {
      const now = layout.rowOf(place);
      return layout.firsts[now] === place && cellsOf(layout, now, after) === cellsOf(old, row, before);
    });
    check(layout.kept.length === same.length || ["days", "proportions"].includes(kind), "a row was not kept", round);
    for (const { row, first: place } of layout.kept) {
      check(cellsOf(layout, layout.rowOf(place), after) === cellsOf(old, row, before), "a row that was kept has changed", round);
    }
    kept += layout.kept.length;
    if (kind === "above") {
      check(same.length === last - first + 1, "a row in view was not kept", round);
      const moves = same.map(({ row, first: place }) => layout.topOf(layout.rowOf(place)) - old.topOf(row));
      check(new Set(moves).size === 1, "rows in view have moved apart", round);
    }
    // Without rows to keep, it is the layout of a new page.
    check(JSON.stringify(layoutOf(after, width).tops) === JSON.stringify(layoutOf(after, width, old, []).tops), "an empty list changes something", round);
  }
  return kept;
}
