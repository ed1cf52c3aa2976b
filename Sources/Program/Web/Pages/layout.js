// Where each picture of a library is: rows of equal height, as wide as the page. A million take
// some ten milliseconds.
import { bound } from "./dom.js";

const ratios = Float64Array.from({ length: 256 }, (_, byte) => (byte ? bound(2 ** ((byte - 128) / 32), 0.4, 4) : 1));
export const headingHeight = 44;
const dayGap = 28, narrowestDay = 132;

/** The last place of a sorted list whose value is at most this. */
function find(list, value) {
  let low = 0, high = list.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (list[middle] <= value) low = middle; else high = middle - 1;
  }
  return low;
}

/**
 * From a byte a picture, run lengths of days (or none), the width of the page, the height that rows
 * should have, and the gap. `some` are rows of an `old` layout, each with the place that its first
 * picture has now: they stay as they were if they can.
 */
export function makeLayout(aspects, days, width, target, gap, old, some = []) {
  const count = aspects.length, hasDays = days.length > 0;
  if (!hasDays) days = [[null, count]];
  let begun = 0;
  const dayStarts = days.map(([, length]) => (begun += length) - length);
  // Rows: the first picture, the upper edge (of the heading, if a day begins there), the height of
  // the pictures.
  let firsts = new Int32Array(count), tops = new Int32Array(count), heights = new Int16Array(count), rows = 0;

  const rowAt = (y) => find(tops, y);
  const rowOf = (index) => find(firsts, index);
  const dayOf = (index) => find(dayStarts, index);
  const end = (row) => firsts[row + 1] ?? count;
  /** Whether a day begins with one of these pictures, so that there is a heading above them. */
  const hasHeading = (first, end = first + 1) => hasDays && dayStarts[dayOf(end - 1)] >= first;
  /** The upper edge of a row's pictures. */
  const topOf = (row) => tops[row] + (hasHeading(firsts[row], end(row)) ? headingHeight : 0);

  const kept = [];
  for (const { row, first } of some) {
    const end = first + old.end(row) - old.firsts[row];
    if (first >= (kept.at(-1)?.end ?? 0) && looksAs(row, first, end)) kept.push({ row, first, end, height: old.heights[row] });
  }
  const height = placeRows();
  return {
    aspects, days, width, target, gap, count, hasDays, dayStarts, kept, firsts, tops, heights, height, rows,
    rowAt, rowOf, dayOf, end, hasHeading, topOf, cells, vertical,
  };

  /**
   * Whether a row of the old layout would look the same here. A heading above its first picture may
   * come or go.
   */
  function looksAs(row, first, end) {
    if (old.width !== width || end > count) return false;
    for (let now = first, then = old.firsts[row]; now < end; now += 1, then += 1) {
      if (old.aspects[then] !== aspects[now] || (now > first && old.hasHeading(then) !== hasHeading(now))) return false;
    }
    return true;
  }

  /** Fills rows one after the other; returns their height. */
  function placeRows() {
    // The last row, if it has room: pixels used, those of them that are gaps, aspects; wide if a
    // heading needs more than its pictures.
    let open = null, y = 0;
    const close = () => {
      // What is nearly full becomes full.
      if (open && !open.wide && open.used > 0.72 * width) {
        const height = Math.min(Math.round((width - open.gaps) / open.sum), Math.round(1.35 * target));
        y += height - heights[rows - 1];
        heights[rows - 1] = height;
      }
      open = null;
    };
    const add = (first, height, heading) => {
      close();
      firsts[rows] = first; tops[rows] = y; heights[rows] = height;
      rows += 1;
      y += (heading ? headingHeight : 0) + height + gap;
    };
    for (let first = 0, day = 0, next = 0; first < count;) {
      const row = kept[next];
      if (row?.first === first) {
        add(first, row.height, hasHeading(first, row.end));
        first = row.end;
        next += 1;
        continue;
      }
      // A day, or what a row that stays leaves of it.
      while (dayStarts[day + 1] <= first) day += 1;
      const begin = dayStarts[day], end = Math.min(dayStarts[day + 1] ?? count, row?.first ?? count), wanted = dayTarget(first, end);
      while (first < end) {
        let sum = 0, last = first;
        while (last < end && sum * wanted + (last - first - 1) * gap < width) { sum += ratios[aspects[last]]; last += 1; }
        const gaps = (last - first - 1) * gap, natural = sum * wanted + gaps, heading = hasDays && first === begin;
        const used = heading ? Math.max(natural, narrowestDay) : natural, wide = used > natural;
        if (natural >= width) {
          let height = (width - gaps) / sum;
          const taller = (width - gaps + gap) / (sum - ratios[aspects[last - 1]]);
          // One picture fewer, if that is nearer to the height that rows should have.
          if (last - first > 1 && taller / wanted < wanted / height) { last -= 1; height = taller; }
          add(first, Math.round(height), heading);
        } else if (heading && open?.days && open.used + dayGap + used <= width) {
          // A short day beside the one before.
          open.used += dayGap + used; open.gaps += dayGap + gaps; open.sum += sum; open.wide ||= wide;
        } else {
          add(first, wanted, heading);
          open = { used, gaps, sum, wide, days: heading };
        }
        first = last;
      }
    }
    close();
    [firsts, tops, heights] = [firsts, tops, heights].map((list) => list.slice(0, rows));
    return y;
  }

  /** Smaller rows for a day whose last row would have one picture or two. */
  function dayTarget(begin, end) {
    let wide = 0;
    for (let n = begin; n < end; n += 1) wide += ratios[aspects[n]] * target + gap;
    const full = wide / width, whole = Math.floor(full), factor = (0.98 * whole) / full;
    return full - whole < 0.45 && factor > 0.75 && whole < 7 ? Math.round(target * factor) : target;
  }

  /** The pictures of a row and the headings above it: each with x and width. */
  function cells(row) {
    const height = heights[row], cells = [], begun = [];
    let day = dayOf(firsts[row]), sum = 0, left = 0, dayLeft = 0;
    for (let index = firsts[row]; index < end(row); index += 1) {
      if (index === dayStarts[day + 1]) {
        const before = cells.at(-1);
        dayLeft = Math.max(before.x + before.width, dayLeft + narrowestDay) + dayGap;
        left = dayLeft - cells.length * gap - Math.round(sum * height);
        day += 1;
      }
      const from = Math.round(sum * height), x = left + cells.length * gap + from;
      sum += ratios[aspects[index]];
      const cell = { index, x, width: Math.round(sum * height) - from };
      if (hasDays && index === dayStarts[day]) begun.push({ day, first: cell });
      cells.push(cell);
      if (begun.length) begun.at(-1).last = cell;
    }
    // Heights are whole pixels: the pictures of a full row take up what that leaves.
    const last = cells.at(-1), missing = width - last.x - last.width;
    if (missing <= 2 * cells.length) cells.forEach((cell, n) => {
      const from = Math.round((missing * n) / cells.length);
      cell.x += from;
      cell.width += Math.round((missing * (n + 1)) / cells.length) - from;
    });
    const headings = begun.map(({ day, first: { x }, last }) => ({ day, x, width: Math.max(narrowestDay, last.x + last.width - x) }));
    return { cells, headings, height, top: topOf(row), headingTop: tops[row] };
  }

  /** The picture that many rows away whose middle is nearest. */
  function vertical(index, step) {
    const row = rowOf(index), other = bound(row + step, 0, rows - 1), middle = ({ x, width }) => x + width / 2;
    if (other === row) return index;
    const own = middle(cells(row).cells[index - firsts[row]]), away = (cell) => Math.abs(middle(cell) - own);
    return cells(other).cells.reduce((best, cell) => (away(cell) < away(best) ? cell : best)).index;
  }
}
