extension CoverageMapPage {
  /// The script of the page.
  ///
  /// It is text of a page and not of the program, so that its rules are those of JavaScript.
  static let script = dataScript + viewScript + drawingScript + tileScript + pageScript

  /// The fences as arrays, with their places on the square of Web Mercator, whose sides are 1.
  private static let dataScript = #"""

    "use strict";
    const data = JSON.parse(document.getElementById("data").textContent);
    const FIELDS = ["session", "number", "latitude", "longitude", "radius", "entered", "left", "technology", "flags",
      "mean", "answered", "lost", "accuracy"];
    const AROUND = 40075016.686;
    const count = data.fences.length / FIELDS.length;
    const at = {};
    FIELDS.forEach((name, field) => {
      at[name] = Float64Array.from({ length: count }, (_, i) => data.fences[i * FIELDS.length + field]);
    });
    delete data.fences;
    const east = longitude => (longitude + 180) / 360;
    const south = latitude => {
      const sine = Math.sin(Math.max(-85.0511, Math.min(85.0511, latitude)) * Math.PI / 180);
      return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
    };
    const latitudeOf = y => Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180 / Math.PI;
    const xs = at.longitude.map(value => east(value / 1e7));
    const ys = at.latitude.map(value => south(value / 1e7));
    const metre = y => 1 / (AROUND * Math.cos(latitudeOf(y) * Math.PI / 180));
    const radii = at.radius.map((value, i) => (value > 0 ? value / 10 : 20) * metre(ys[i]));
    const NOTHING = data.technologies.findIndex(technology => technology[1] === "A0A0A0");
    const styles = at.technology.map((technology, i) => at.flags[i] & 2 ? NOTHING : technology);
    const colour = style => "#" + data.technologies[style][1];

    """#

  /// The two ways in which the map is moved: by Leaflet, or by the page itself. Both give the square's size in pixels, and
  /// the pixel of its corner.
  private static let viewScript = #"""

    const mapElement = document.getElementById("map");

    /// The edges that the panels cover, in pixels.
    function margins() {
      const isNarrow = mapElement.clientWidth <= 720;
      return { left: 60, top: isNarrow ? 220 : 30, right: isNarrow ? 20 : 300, bottom: 90 };
    }

    class LeafletView {
      constructor() {
        this.map = L.map(mapElement, { zoomSnap: 0.5, zoomAnimation: false, fadeAnimation: false, minZoom: 2, maxZoom: 19 });
        this.map.attributionControl.setPrefix("Leaflet");
        this.canvas = document.createElement("canvas");
        this.canvas.className = "fences";
        this.map.getPanes().overlayPane.append(this.canvas);
        this.tiles = L.tileLayer("https://tile.openstreetmap.org/{z}/{x}/{y}.png", {
          maxZoom: 19, attribution: "© <a href='https://www.openstreetmap.org/copyright'>OpenStreetMap</a> contributors",
        });
        this.hasTiles = false;
      }
      fit(bounds) {
        const room = margins();
        this.map.fitBounds([[bounds[0], bounds[1]], [bounds[2], bounds[3]]], {
          paddingTopLeft: [room.left, room.top], paddingBottomRight: [room.right, room.bottom], maxZoom: 18,
        });
      }
      start(changed, clicked) {
        this.map.on("move zoom viewreset resize moveend", changed);
        this.map.on("click", event => clicked(event.containerPoint.x, event.containerPoint.y));
        const box = document.getElementById("tiles");
        box.hidden = false;
        box.firstElementChild.addEventListener("change", event => {
          this.hasTiles = event.target.checked;
          if (this.hasTiles) { this.tiles.addTo(this.map); } else { this.tiles.remove(); }
          changed();
        });
      }
      get frame() {
        const size = this.map.getSize();
        const zoom = this.map.getZoom();
        const middle = this.map.project(this.map.getCenter(), zoom);
        L.DomUtil.setPosition(this.canvas, this.map.containerPointToLayerPoint([0, 0]));
        return { world: 256 * 2 ** zoom, left: middle.x - size.x / 2, top: middle.y - size.y / 2, width: size.x, height: size.y };
      }
    }

    class OwnView {
      constructor() {
        this.canvas = document.createElement("canvas");
        this.canvas.className = "fences";
        mapElement.append(this.canvas);
        this.hasTiles = false;
        this.world = 1024;
        this.x = this.y = 0.5;
      }
      get size() { return [mapElement.clientWidth, mapElement.clientHeight]; }
      fit(bounds) {
        const [left, right] = [east(bounds[1]), east(bounds[3])];
        const [top, bottom] = [south(bounds[2]), south(bounds[0])];
        const room = margins();
        const width = Math.max(this.size[0] - room.left - room.right, 100);
        const height = Math.max(this.size[1] - room.top - room.bottom, 100);
        const world = Math.min(width / Math.max(right - left, 1e-9), height / Math.max(bottom - top, 1e-9));
        this.world = this.bounded(world, 256 * 2 ** 18);
        this.x = (left + right) / 2 + (room.right - room.left) / 2 / this.world;
        this.y = (top + bottom) / 2 + (room.bottom - room.top) / 2 / this.world;
      }
      bounded(world, largest = 256 * 2 ** 21) { return Math.min(Math.max(world, 1024), largest); }
      zoom(factor, x = this.size[0] / 2, y = this.size[1] / 2) {
        const world = this.bounded(this.world * factor);
        const [width, height] = this.size;
        this.x += (x - width / 2) * (1 / this.world - 1 / world);
        this.y += (y - height / 2) * (1 / this.world - 1 / world);
        this.world = world;
        this.changed();
      }
      pan(dx, dy) {
        this.x -= dx / this.world;
        this.y = Math.min(1, Math.max(0, this.y - dy / this.world));
        this.changed();
      }
      start(changed, clicked) {
        this.changed = changed;
        const buttons = document.getElementById("zoom");
        buttons.hidden = false;
        buttons.children[0].addEventListener("click", () => this.zoom(2));
        buttons.children[1].addEventListener("click", () => this.zoom(0.5));
        addEventListener("resize", changed);
        mapElement.addEventListener("wheel", event => {
          event.preventDefault();
          this.zoom(2 ** (-Math.sign(event.deltaY) / 2), event.clientX, event.clientY);
        }, { passive: false });
        mapElement.addEventListener("keydown", event => this.key(event));
        this.follow(clicked);
      }
      key(event) {
        const moves = { ArrowLeft: [80, 0], ArrowRight: [-80, 0], ArrowUp: [0, 80], ArrowDown: [0, -80] };
        if (moves[event.key]) { this.pan(...moves[event.key]); }
        if (event.key === "+" || event.key === "=") { this.zoom(2); }
        if (event.key === "-") { this.zoom(0.5); }
      }
      follow(clicked) {
        const pointers = new Map();
        let moved = 0;
        mapElement.addEventListener("pointerdown", event => {
          if (pointers.size === 0) { moved = 0; }
          pointers.set(event.pointerId, event);
          try { mapElement.setPointerCapture(event.pointerId); } catch { /* a pointer that is gone already */ }
        });
        mapElement.addEventListener("pointermove", event => {
          const before = pointers.get(event.pointerId);
          if (!before) { return; }
          const other = [...pointers.values()].find(pointer => pointer.pointerId !== event.pointerId);
          const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
          pointers.set(event.pointerId, event);
          moved += Math.abs(dx) + Math.abs(dy);
          if (!other) { this.pan(dx, dy); return; }
          const distance = pointer => Math.hypot(pointer.clientX - other.clientX, pointer.clientY - other.clientY);
          this.zoom(distance(event) / Math.max(distance(before), 1),
            (event.clientX + other.clientX) / 2, (event.clientY + other.clientY) / 2);
        });
        const end = event => {
          if (pointers.delete(event.pointerId) && event.type === "pointerup" && moved < 6) {
            clicked(event.clientX, event.clientY);
          }
        };
        mapElement.addEventListener("pointerup", end);
        mapElement.addEventListener("pointercancel", end);
      }
      get frame() {
        const [width, height] = this.size;
        return { world: this.world, left: this.x * this.world - width / 2, top: this.y * this.world - height / 2, width, height };
      }
    }

    """#

  /// The drawing of fences, of the grid and of the scale bar.
  private static let drawingScript = #"""

    const EDGE = "rgba(27, 38, 49, .55)";
    const view = window.L ? new LeafletView() : new OwnView();
    const shown = { first: 0, end: count, selected: -1 };

    /// The fences in a region, as indices.
    function inside(frame) {
      const [mx, my] = [frame.width * data.margin / 2, frame.height * data.margin / 2];
      const [cx, cy] = [frame.left + frame.width / 2, frame.top + frame.height / 2];
      const found = [];
      for (let i = shown.first; i < shown.end; i++) {
        const reach = radii[i] * frame.world;
        if (Math.abs(xs[i] * frame.world - cx) <= mx + reach && Math.abs(ys[i] * frame.world - cy) <= my + reach) {
          found.push(i);
        }
      }
      return found;
    }

    function spanOf(frame) {
      return latitudeOf(frame.top / frame.world) - latitudeOf((frame.top + frame.height) / frame.world);
    }

    /// What is drawn in each style, the worst one last: in the same order everywhere, and no hole is hidden.
    const worstLast = groups => [...groups].sort((a, b) => b[0] - a[0]);

    function drawCircles(pen, frame, found, hasEdges = true) {
      const groups = new Map();
      for (const i of found) {
        if (!groups.has(styles[i])) { groups.set(styles[i], new Path2D()); }
        const path = groups.get(styles[i]);
        const [x, y] = [xs[i] * frame.world - frame.left, ys[i] * frame.world - frame.top];
        const radius = Math.max(radii[i] * frame.world, 3);
        path.moveTo(x + radius, y);
        path.arc(x, y, radius, 0, 2 * Math.PI);
      }
      pen.lineWidth = 1;
      for (const [style, path] of worstLast(groups)) {
        pen.fillStyle = colour(style);
        pen.globalAlpha = 0.5;
        pen.fill(path);
        pen.globalAlpha = 1;
        if (!hasEdges) { continue; }
        pen.strokeStyle = EDGE;
        pen.stroke(path);
      }
    }

    /// The ways between fences, by the style of the earlier one, without points that lie on the same pixel.
    function linePaths(frame, found) {
      const paths = new Map();
      const of = style => paths.get(style) ?? paths.set(style, { way: new Path2D(), dots: new Path2D() }).get(style);
      let last = null;
      for (const i of found) {
        const [x, y] = [xs[i] * frame.world - frame.left, ys[i] * frame.world - frame.top];
        const joins = i > shown.first && at.flags[i] & 1;
        if (joins) {
          if (last === null || last.index !== i - 1) {
            last = { x: xs[i - 1] * frame.world - frame.left, y: ys[i - 1] * frame.world - frame.top, style: styles[i - 1] };
          }
          const isNear = last.style === styles[i] && Math.abs(last.x - x) + Math.abs(last.y - y) < 1;
          if (isNear) { last.index = i; continue; }
          const path = of(last.style).way;
          if (!last.isDrawn) { path.moveTo(last.x, last.y); }
          path.lineTo(x, y);
        } else {
          const dot = of(styles[i]).dots;
          dot.moveTo(x + 3.5, y);
          dot.arc(x, y, 3.5, 0, 2 * Math.PI);
        }
        last = { index: i, x, y, style: styles[i], isDrawn: joins && last.style === styles[i] };
      }
      return paths;
    }

    function drawLines(pen, frame, found) {
      const paths = worstLast(linePaths(frame, found));
      pen.lineCap = pen.lineJoin = "round";
      for (const pass of [0, 1]) {
        pen.lineWidth = pass === 0 ? 7 : 5;
        for (const [style, path] of paths) {
          pen.strokeStyle = pen.fillStyle = pass === 0 ? EDGE : colour(style);
          pen.stroke(path.way);
          pen.fill(path.dots);
        }
      }
    }

    function niceStep(value) {
      const power = 10 ** Math.floor(Math.log10(value));
      return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= value * 0.9999);
    }

    function drawGrid(pen, frame) {
      const step = niceStep(110 / frame.world * 360);
      const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
      const label = (value, names) => Math.abs(value).toFixed(digits) + "°" + (value < 0 ? names[1] : names[0]);
      const [west, east_] = [frame.left / frame.world * 360 - 180, (frame.left + frame.width) / frame.world * 360 - 180];
      const [north, low] = [latitudeOf(frame.top / frame.world), latitudeOf((frame.top + frame.height) / frame.world)];
      pen.strokeStyle = "#dfe5e3";
      pen.fillStyle = "#7f8c8d";
      pen.lineWidth = 1;
      pen.font = "11px sans-serif";
      pen.beginPath();
      for (let n = Math.ceil(west / step); n * step < east_; n++) {
        const x = Math.round(east(n * step) * frame.world - frame.left) + 0.5;
        pen.moveTo(x, 0);
        pen.lineTo(x, frame.height);
        const longitude = (n * step + 540) % 360 - 180;
        pen.fillText(label(longitude, "EW"), x + 4, frame.height - 70);
      }
      for (let n = Math.ceil(low / step); n * step < north; n++) {
        const y = Math.round(south(n * step) * frame.world - frame.top) + 0.5;
        pen.moveTo(0, y);
        pen.lineTo(frame.width, y);
        pen.fillText(label(n * step, "NS"), 6, y - 4);
      }
      pen.stroke();
    }

    function drawScale(pen, frame) {
      const pixel = 1 / (frame.world * metre((frame.top + frame.height / 2) / frame.world));
      const length = niceStep(70 * pixel);
      const width = length / pixel;
      const [x, y] = [16, frame.height - 34];
      pen.fillStyle = "rgba(255, 255, 255, .85)";
      pen.fillRect(x - 8, y - 22, width + 16, 34);
      pen.strokeStyle = pen.fillStyle = "#1b2631";
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(x, y - 5);
      pen.lineTo(x, y);
      pen.lineTo(x + width, y);
      pen.lineTo(x + width, y - 5);
      pen.stroke();
      pen.font = "12px sans-serif";
      pen.fillText(length >= 1000 ? length / 1000 + " km" : length + " m", x + 2, y - 8);
    }

    function drawSelected(pen, frame) {
      const i = shown.selected;
      if (i < shown.first || i >= shown.end) { return; }
      pen.strokeStyle = "#c0392b";
      pen.lineWidth = 3;
      pen.beginPath();
      pen.arc(xs[i] * frame.world - frame.left, ys[i] * frame.world - frame.top,
        Math.max(radii[i] * frame.world, 6) + 2, 0, 2 * Math.PI);
      pen.stroke();
    }

    """#
}
