// Where each picture of a library is: rows of equal height, as wide as the page. A million take some ten milliseconds.

const ratios = Float64Array.from({ length: 256 }, (_, byte) => (byte ? Math.min(4, Math.max(0.4, 2 ** ((byte - 128) / 32))) : 1));
const headingHeight = 44, dayGap = 28, narrowestDay = 132;

/** The last place of a sorted list whose value is at most this. */
function find(list, value) {
  let low = 0, high = list.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (list[middle] <= value) low = middle; else high = middle - 1;
  }
  return low;
}

export class Layout {
  /**
   * From a byte a picture, run lengths of days (or none), the width of the page, the height that rows should have, and the gap.
   * `rows` are some of an `old` layout, each with the place that its first picture has now: they stay as they were if they can.
   */
  constructor(aspects, days, width, target, gap, old, rows = []) {
    const count = aspects.length;
    Object.assign(this, { aspects, count, width, target, gap, hasDays: days.length > 0, days: days.length ? days : [[null, count]] });
    this.dayStarts = new Int32Array(this.days.length);
    for (let day = 1; day < this.days.length; day += 1) this.dayStarts[day] = this.dayStarts[day - 1] + this.days[day - 1][1];
    this.kept = [];
    for (const { row, first } of rows) {
      const end = first + old.end(row) - old.firsts[row];
      if (first >= (this.kept.at(-1)?.end ?? 0) && this.looksAs(old, row, first)) this.kept.push({ row, first, end, height: old.heights[row] });
    }
    this.place();
  }

  startsDay(index) { return this.hasDays && this.dayStarts[this.dayOf(index)] === index; }
  /** Whether there is a heading above these pictures. */
  hasHeading(first, end) { return this.hasDays && this.dayStarts[this.dayOf(end - 1)] >= first; }

  /** Whether a row of another layout would look the same here. A heading above its first picture may come or go. */
  looksAs(old, row, first) {
    const begin = old.firsts[row], length = old.end(row) - begin;
    if (old.width !== this.width || first + length > this.count) return false;
    for (let n = 0; n < length; n += 1) {
      if (old.aspects[begin + n] !== this.aspects[first + n] || (n && old.startsDay(begin + n) !== this.startsDay(first + n))) return false;
    }
    return true;
  }

  place() {
    const { aspects, width, gap, hasDays, count, dayStarts, kept } = this;
    // Rows: the first picture, the upper edge (of the heading, if a day begins there), the height of the pictures.
    const firsts = new Int32Array(count), tops = new Int32Array(count), heights = new Int16Array(count);
    let rows = 0, y = 0;
    // The last row, if it has room: pixels used, those of them that are gaps, aspects; wide if a heading needs more than its pictures.
    let open = null;
    const add = (first, height, heading) => {
      firsts[rows] = first; tops[rows] = y; heights[rows] = height;
      y += (heading ? headingHeight : 0) + height + gap;
      rows += 1;
    };
    const close = () => {
      // What is nearly full becomes full.
      if (open && !open.wide && open.used > 0.72 * width) {
        const height = Math.min(Math.round((width - open.gaps) / open.sum), Math.round(1.35 * this.target));
        y += height - heights[rows - 1];
        heights[rows - 1] = height;
      }
      open = null;
    };
    for (let first = 0, day = 0, next = 0; first < count;) {
      const row = kept[next];
      if (row?.first === first) {
        close();
        add(first, row.height, this.hasHeading(first, row.end));
        first = row.end;
        next += 1;
        continue;
      }
      // A day, or what a row that stays leaves of it.
      while (dayStarts[day + 1] <= first) day += 1;
      const begin = dayStarts[day], end = Math.min(dayStarts[day + 1] ?? count, row?.first ?? count), target = this.dayTarget(first, end);
      while (first < end) {
        let sum = 0, last = first;
        while (last < end && sum * target + (last - first - 1) * gap < width) { sum += ratios[aspects[last]]; last += 1; }
        const gaps = (last - first - 1) * gap, natural = sum * target + gaps, heading = hasDays && first === begin;
        if (natural >= width) {
          close();
          let height = (width - gaps) / sum;
          const taller = (width - gaps + gap) / (sum - ratios[aspects[last - 1]]);
          // One picture fewer, if that is nearer to the height that rows should have.
          if (last - first > 1 && taller / target < target / height) { last -= 1; height = taller; }
          add(first, Math.round(height), heading);
        } else {
          const used = heading ? Math.max(natural, narrowestDay) : natural, wide = used > natural;
          if (heading && open?.days && open.used + dayGap + used <= width) {
            // A short day beside the one before.
            open = { used: open.used + dayGap + used, sum: open.sum + sum, gaps: open.gaps + dayGap + gaps, wide: open.wide || wide, days: true };
          } else {
            close();
            add(first, target, heading);
            open = { used, sum, gaps, wide, days: heading };
          }
        }
        first = last;
      }
    }
    close();
    Object.assign(this, { firsts: firsts.slice(0, rows), tops: tops.slice(0, rows), heights: heights.slice(0, rows), rows, height: y });
  }

  /** Smaller rows for a day whose last row would have one picture or two. */
  dayTarget(begin, end) {
    let wide = 0;
    for (let n = begin; n < end; n += 1) wide += ratios[this.aspects[n]] * this.target + this.gap;
    const rows = wide / this.width, whole = Math.floor(rows), factor = (0.98 * whole) / rows;
    return rows - whole < 0.45 && factor > 0.75 && whole < 7 ? Math.round(this.target * factor) : this.target;
  }

  rowAt(y) { return find(this.tops, y); }
  rowOf(index) { return find(this.firsts, index); }
  dayOf(index) { return find(this.dayStarts, index); }
  end(row) { return row + 1 < this.rows ? this.firsts[row + 1] : this.count; }
  /** The upper edge of a row's pictures. */
  topOf(row) {
    const first = this.firsts[row];
    return this.tops[row] + (this.hasHeading(first, this.end(row)) ? headingHeight : 0);
  }

  /** The pictures of a row and the headings above it: each with x and width. */
  cells(row) {
    const height = this.heights[row], cells = [], headings = [], end = this.end(row);
    let index = this.firsts[row], day = this.dayOf(index), sum = 0, left = 0, dayLeft = 0;
    for (; index < end; index += 1) {
      if (index === this.dayStarts[day + 1]) {
        const before = cells.at(-1);
        dayLeft = Math.max(before.x + before.width, dayLeft + narrowestDay) + dayGap;
        left = dayLeft - cells.length * this.gap - Math.round(sum * height);
        day += 1;
      }
      const x = left + cells.length * this.gap, from = Math.round(sum * height);
      sum += ratios[this.aspects[index]];
      const cell = { index, x: x + from, width: Math.round(sum * height) - from };
      if (this.hasDays && index === this.dayStarts[day]) headings.push({ day, first: cell });
      cells.push(cell);
      if (headings.length) headings.at(-1).last = cell;
    }
    // Heights are whole pixels: the pictures of a full row take up what that leaves.
    const last = cells.at(-1), missing = this.width - last.x - last.width;
    if (missing <= 2 * cells.length) cells.forEach((cell, n) => {
      const from = Math.round((missing * n) / cells.length);
      cell.x += from;
      cell.width += Math.round((missing * (n + 1)) / cells.length) - from;
    });
    for (const heading of headings) {
      heading.x = heading.first.x;
      heading.width = Math.max(narrowestDay, heading.last.x + heading.last.width - heading.x);
    }
    return { cells, headings, height, top: this.topOf(row), headingTop: this.tops[row] };
  }

  /** The picture that many rows away whose middle is nearest. */
  vertical(index, step) {
    const row = this.rowOf(index), other = Math.min(this.rows - 1, Math.max(0, row + step));
    if (other === row) return index;
    const own = this.cells(row).cells.find((c) => c.index === index), middle = own.x + own.width / 2;
    const away = (c) => Math.abs(c.x + c.width / 2 - middle);
    return this.cells(other).cells.reduce((best, c) => (away(c) < away(best) ? c : best)).index;
  }
}
