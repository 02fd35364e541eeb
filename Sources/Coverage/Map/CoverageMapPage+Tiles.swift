extension CoverageMapPage {
  /// The fences as pictures that are drawn once, so that a move draws only what it brings into sight.
  static let tileScript = #"""

    /// The fences as square pictures, drawn once for each size of the map: when it is moved, they are shown elsewhere. Those
    /// around what is seen are drawn ahead, between the moves.
    class Tiles {
      constructor() {
        this.style = "";
        this.drawn = new Map();
        this.isAhead = false;
      }

      /// Shows the fences of a frame, and returns the number of tiles that are still missing: after a move, no more fences
      /// are drawn at once than in a few frames' time. Of more than 2000 circles in sight none has an edge: those of a street
      /// that was walked many times would cover it.
      show(pen, frame, ratio, isFar, number) {
        const style = [frame.world, ratio, isFar, shown.first, shown.end].join();
        const isMove = style === this.style;
        if (!isMove) {
          this.drawn.clear();
          this.hasEdges = number <= 2000;
        }
        Object.assign(this, { style, frame, isFar, ratio, side: Math.round(256 * ratio) });
        const seen = this.around(0);
        const missing = this.draw(seen, isMove ? 12000 : Infinity);
        const [left, top] = [Math.round(frame.left * ratio), Math.round(frame.top * ratio)];
        pen.setTransform(1, 0, 0, 1, 0, 0);
        for (const [column, row] of seen) {
          const picture = this.drawn.get(column + "," + row);
          if (picture) { pen.drawImage(picture, column * this.side - left, row * this.side - top); }
        }
        pen.setTransform(ratio, 0, 0, ratio, 0, 0);
        if (!this.isAhead) { this.ahead(); }
        return missing;
      }

      /// The columns and rows of the tiles that are seen, with so many around them.
      around(more) {
        const { frame, ratio, side } = this;
        const first = start => Math.floor(start * ratio / side) - more;
        const last = end => Math.ceil(end * ratio / side) + more;
        const tiles = [];
        for (let row = first(frame.top); row < last(frame.top + frame.height); row++) {
          for (let column = first(frame.left); column < last(frame.left + frame.width); column++) {
            tiles.push([column, row]);
          }
        }
        return tiles;
      }

      /// Draws the missing ones of some tiles, about so many fences, and returns the number of those that are left.
      draw(tiles, limit) {
        const missing = tiles.filter(([column, row]) => !this.drawn.has(column + "," + row));
        if (missing.length === 0) { return 0; }
        const fences = this.fences(missing);
        let number = 0;
        let sum = 0;
        while (number < missing.length && sum < limit) {
          const [column, row] = missing[number];
          this.drawn.set(column + "," + row, this.picture(column, row, fences[number]));
          sum += fences[number].length;
          number++;
        }
        return missing.length - number;
      }

      /// The fences that each of some tiles shows a part of.
      fences(tiles) {
        const side = this.side / this.ratio;
        const [left, top] = [0, 1].map(axis => tiles.reduce((least, tile) => Math.min(least, tile[axis]), Infinity));
        const [right, low] = [0, 1].map(axis => tiles.reduce((most, tile) => Math.max(most, tile[axis]), -Infinity));
        const width = right - left + 1;
        const cells = new Array(width * (low - top + 1)).fill(null);
        const lists = tiles.map(([column, row]) => cells[(row - top) * width + column - left] = []);
        const world = this.frame.world;
        for (let i = shown.first; i < shown.end; i++) {
          // The way from the fence before belongs to a line, whose edge is 4 pixels away.
          const from = this.isFar && i > shown.first && at.flags[i] & 1 ? i - 1 : i;
          const reach = this.isFar ? 4 : Math.max(radii[i] * world, 3) + 1;
          const x = Math.max(Math.floor((Math.min(xs[i], xs[from]) * world - reach) / side), left);
          const endX = Math.min(Math.floor((Math.max(xs[i], xs[from]) * world + reach) / side), right);
          const y = Math.max(Math.floor((Math.min(ys[i], ys[from]) * world - reach) / side), top);
          const endY = Math.min(Math.floor((Math.max(ys[i], ys[from]) * world + reach) / side), low);
          for (let row = y; row <= endY; row++) {
            for (let column = x; column <= endX; column++) { cells[(row - top) * width + column - left]?.push(i); }
          }
        }
        return lists;
      }

      /// One tile with its fences; null without any.
      picture(column, row, found) {
        if (found.length === 0) { return null; }
        const canvas = document.createElement("canvas");
        canvas.width = canvas.height = this.side;
        const pen = canvas.getContext("2d");
        pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
        const side = this.side / this.ratio;
        const frame = { world: this.frame.world, left: column * side, top: row * side, width: side, height: side };
        if (this.isFar) { drawLines(pen, frame, found); } else { drawCircles(pen, frame, found, this.hasEdges); }
        return canvas;
      }

      /// Draws one tile near what is seen, and removes those far away, until there is nothing to do.
      ahead() {
        this.isAhead = true;
        (window.requestIdleCallback ?? setTimeout)(() => {
          const near = new Set(this.around(2).map(String));
          for (const name of this.drawn.keys()) { if (!near.has(name)) { this.drawn.delete(name); } }
          if (this.draw(this.around(1), 1) > 0) { this.ahead(); } else { this.isAhead = false; }
        });
      }
    }

    const tiles = new Tiles();

    """#
}
