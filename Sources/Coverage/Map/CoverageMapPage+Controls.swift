extension CoverageMapPage {
  /// What the reader sees and does: drawing after each change, the legend, the time and the details of a fence.
  static let pageScript = #"""

    let isDue = false;
    function change() {
      if (isDue) { return; }
      isDue = true;
      requestAnimationFrame(() => { isDue = false; draw(); });
    }

    function draw() {
      const frame = view.frame;
      const ratio = window.devicePixelRatio || 1;
      const canvas = view.canvas;
      const [width, height] = [Math.round(frame.width * ratio), Math.round(frame.height * ratio)];
      if (canvas.width !== width || canvas.height !== height) {
        canvas.width = width;
        canvas.height = height;
        canvas.style.width = frame.width + "px";
        canvas.style.height = frame.height + "px";
      }
      const pen = canvas.getContext("2d");
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, frame.width, frame.height);
      if (!view.hasTiles) { drawGrid(pen, frame); }
      const found = inside(frame);
      const isFar = shown.end - shown.first >= data.lineCount && spanOf(frame) >= data.lineSpan;
      const missing = tiles.show(pen, frame, ratio, isFar, found.length);
      drawSelected(pen, frame);
      drawScale(pen, frame);
      document.body.dataset.shows = isFar ? "lines" : "circles";
      document.body.dataset.drawn = found.length;
      document.body.dataset.missing = missing;
      if (missing > 0) { change(); }
    }

    // The legend

    function legend() {
      const counts = new Map();
      for (let i = shown.first; i < shown.end; i++) { counts.set(styles[i], (counts.get(styles[i]) ?? 0) + 1); }
      const list = document.getElementById("legend");
      list.replaceChildren();
      for (const [style, number] of [...counts].sort((a, b) => a[0] - b[0])) {
        const row = document.createElement("li");
        const mark = document.createElement("i");
        mark.style.background = colour(style);
        const value = document.createElement("span");
        value.textContent = number;
        row.append(mark, data.technologies[style][0], value);
        list.append(row);
      }
      const number = shown.end - shown.first;
      document.getElementById("summary").textContent = count === 0 ? "No fence is stored."
        : number === count ? (count === 1 ? "1 fence" : count + " fences") : number + " of " + count + " fences";
    }

    // The details of a fence

    const clock = milliseconds => new Date(data.start + milliseconds).toLocaleString();

    function facts(i) {
      const [id, uuid, server] = data.sessions[at.session[i]];
      const length = at.left[i] >= 0 ? (at.left[i] - at.entered[i]) / 1000 : null;
      return [
        ["Fence", at.number[i] + " of session " + id], ["Network", data.technologies[styles[i]][0]],
        at.flags[i] & 2 && at.technology[i] !== NOTHING ? ["Technology", data.technologies[at.technology[i]][0]] : null,
        ["Ping", at.mean[i] >= 0 ? (at.mean[i] / 100).toFixed(2) + " ms" : "none"],
        ["Answered", at.answered[i] + " of " + (at.answered[i] + at.lost[i])], ["Entered", clock(at.entered[i])],
        length === null ? null : ["Duration", length.toFixed(1) + " s"], ["Radius", at.radius[i] / 10 + " m"],
        at.accuracy[i] >= 0 ? ["Error", "±" + at.accuracy[i] / 10 + " m"] : null,
        ["Place", (at.latitude[i] / 1e7).toFixed(6) + ", " + (at.longitude[i] / 1e7).toFixed(6)],
        ["Server", server], uuid ? ["Identifier", uuid] : null,
      ].filter(fact => fact !== null);
    }

    function select(i) {
      shown.selected = i;
      const list = document.getElementById("details");
      list.hidden = i < 0;
      list.replaceChildren();
      for (const [name, value] of i < 0 ? [] : facts(i)) {
        const term = document.createElement("dt");
        const text = document.createElement("dd");
        term.textContent = name;
        text.textContent = value;
        list.append(term, text);
      }
      change();
    }

    function clicked(x, y) {
      const frame = view.frame;
      let best = -1;
      let least = Infinity;
      for (const i of inside(frame)) {
        const away = Math.hypot(xs[i] * frame.world - frame.left - x, ys[i] * frame.world - frame.top - y);
        if (away <= Math.max(radii[i] * frame.world, 8) && away <= least) { [best, least] = [i, away]; }
      }
      select(best);
    }

    // The time

    const first = count > 0 ? at.entered[0] : 0;
    const last = count > 0 ? at.entered[count - 1] : 0;
    const [from, to] = [document.getElementById("from"), document.getElementById("to")];

    /// The number of fences that were entered before an instant.
    function before(instant) {
      let [low, high] = [0, count];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (at.entered[middle] < instant) { low = middle + 1; } else { high = middle; }
      }
      return low;
    }

    function choose(event) {
      if (+from.value > +to.value) {
        if (event && event.target === from) { to.value = from.value; } else { from.value = to.value; }
      }
      const instant = value => first + (last - first) * value / 1000;
      shown.first = before(instant(+from.value));
      shown.end = before(instant(+to.value) + 1);
      const day = new Date(data.start).toLocaleDateString();
      const time = milliseconds => {
        const date = new Date(data.start + milliseconds);
        return date.toLocaleDateString() === day ? date.toLocaleTimeString() : date.toLocaleString();
      };
      document.getElementById("range").textContent = time(instant(+from.value)) + " – " + time(instant(+to.value));
      legend();
      if (shown.selected < shown.first || shown.selected >= shown.end) { select(-1); }
      change();
    }

    document.getElementById("time").hidden = last <= first;
    document.getElementById("time").addEventListener("submit", event => event.preventDefault());
    from.addEventListener("input", choose);
    to.addEventListener("input", choose);
    view.fit(data.bounds.length ? data.bounds : [-60, -170, 75, 170]);
    view.start(change, clicked);
    choose();
    draw();

    """#
}
