"use strict";
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  // ---------------------------------------------------------------- elements

  function node(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function shape(parent, name, attributes = {}, text = null) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    parent.append(made);
    return made;
  }

  function show(value) {
    if (value === null || value === undefined || Number.isNaN(value)) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size < 1e-3 || size >= 1e9)) return value.toExponential(2);
    return Number(value.toPrecision(4)).toLocaleString("en-US", { maximumSignificantDigits: 4 });
  }

  // Shortens the text of an element that is in the page until it is at most so many pixels wide.
  function fit(label, most) {
    const whole = label.textContent;
    let kept = whole.length;
    while (kept > 1 && label.getComputedTextLength() > most) {
      kept -= 1;
      label.textContent = whole.slice(0, kept) + "…";
    }
    return whole;
  }

  // ---------------------------------------------------------------- scales

  function ticks(low, high, count) {
    const raw = (high - low) / Math.max(count, 1);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw) || 10 * power;
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1) found.push(Number((k * step).toPrecision(12)));
    return found;
  }

  function range(values, axis) {
    let low = axis.min, high = axis.max;
    for (const value of values) {
      if (value === null) continue;
      if (axis.min === undefined && (low === undefined || value < low)) low = value;
      if (axis.max === undefined && (high === undefined || value > high)) high = value;
    }
    if (low === undefined || high === undefined) return [0, 1];
    return low === high ? [low - 0.5, high + 0.5] : [low, high];
  }

  // Draws axes; returns the functions that place values, in pixels.
  function frame(svg, width, height, x, y, xs, ys) {
    const [x0, x1] = range(xs, x), [y0, y1] = range(ys, y);
    const marks = ticks(y0, y1, 5), longest = Math.max(...marks.map((value) => show(value).length));
    const left = Math.max(44, 12 + 7.5 * longest), right = width - 24, top = 8, bottom = height - 38;
    const px = (value) => left + ((value - x0) / (x1 - x0)) * (right - left);
    const py = (value) => bottom - ((value - y0) / (y1 - y0)) * (bottom - top);
    for (const value of marks) {
      shape(svg, "line", { class: "grid", x1: left, x2: right, y1: py(value), y2: py(value) });
      shape(svg, "text", { x: left - 6, y: py(value) + 4, "text-anchor": "end" }, show(value));
    }
    for (const value of ticks(x0, x1, Math.max(2, Math.floor((right - left) / 80)))) {
      shape(svg, "line", { class: "axis", x1: px(value), x2: px(value), y1: bottom, y2: bottom + 4 });
      shape(svg, "text", { x: px(value), y: bottom + 17, "text-anchor": "middle" }, show(value));
    }
    shape(svg, "line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom });
    fit(shape(svg, "text", { x: (left + right) / 2, y: height - 4, "text-anchor": "middle" }, x.label || ""), right - left);
    return { px, py, left, right, top, bottom, x0, x1, y0, y1 };
  }

  function path(xs, ys, at, stepped) {
    let text = "", drawing = false, before = null;
    xs.forEach((x, k) => {
      if (ys[k] === null || x === null) { drawing = false; return; }
      const point = `${at.px(x).toFixed(1)} ${at.py(ys[k]).toFixed(1)}`;
      if (drawing && stepped) text += `L${at.px(x).toFixed(1)} ${at.py(before).toFixed(1)}`;
      text += (drawing ? "L" : "M") + point;
      drawing = true;
      before = ys[k];
    });
    return text;
  }

  function canvas(holder, chart, height) {
    const width = Math.max(260, Math.floor(holder.clientWidth || 420));
    holder.replaceChildren();
    const svg = shape(holder, "svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.title });
    return [svg, width];
  }

  function legend(holder, series) {
    const list = node("ul", { class: "legend" });
    series.forEach((one, k) => {
      const item = node("li");
      const sample = shape(item, "svg", { viewBox: "0 0 26 12", "aria-hidden": "true" });
      shape(sample, "line", { class: `line k${k % 6}${one.dash ? " dash" : ""}`, x1: 1, x2: 25, y1: 6, y2: 6 });
      item.append(one.name);
      list.append(item);
    });
    holder.append(list);
  }

  // ---------------------------------------------------------------- kinds of charts

  const draw = {};

  draw.lines = (holder, chart) => {
    const [svg, width] = canvas(holder, chart, 280);
    const xs = chart.series.flatMap((one) => one.x), ys = chart.series.flatMap((one) => one.y);
    const at = frame(svg, width, 280, chart.x, chart.y, xs, ys);
    if (chart.diagonal) shape(svg, "line", { class: "grid", x1: at.px(at.x0), y1: at.py(at.y0), x2: at.px(at.x1), y2: at.py(at.y1) });
    chart.series.forEach((one, k) => {
      shape(svg, "path", { class: `line k${k % 6}${one.dash ? " dash" : ""}`, d: path(one.x, one.y, at, one.step) });
      if (one.points) one.x.forEach((x, i) => { if (one.y[i] !== null) shape(svg, "circle", { class: `f${k % 6}`, r: 3, cx: at.px(x), cy: at.py(one.y[i]) }); });
    });
    legend(holder, chart.series);
    readable(holder, svg, chart, at);
  };

  // A cursor that shows the values: by pointer, or by the arrow keys.
  function readable(holder, svg, chart, at) {
    const places = [...new Set(chart.series.flatMap((one) => one.x).filter((x) => x !== null))].sort((a, b) => a - b);
    if (!places.length) return;
    const readout = node("p", { class: "readout", "aria-live": "polite" });
    holder.append(readout);
    const cursor = shape(svg, "line", { class: "cursor", y1: at.top, y2: at.bottom, visibility: "hidden" });
    svg.setAttribute("tabindex", "0");
    let place = 0;
    const move = (next) => {
      place = Math.min(Math.max(next, 0), places.length - 1);
      const x = places[place];
      for (const side of ["x1", "x2"]) cursor.setAttribute(side, at.px(x));
      cursor.setAttribute("visibility", "visible");
      const values = chart.series.map((one) => `${one.name}: ${show(value(one, x))}`);
      readout.textContent = `${chart.x.label} ${show(x)} — ${values.join("; ")}`;
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const x = at.x0 + (((event.clientX - box.left) * (svg.viewBox.baseVal.width / box.width) - at.left) / (at.right - at.left)) * (at.x1 - at.x0);
      let best = 0;
      places.forEach((one, k) => { if (Math.abs(one - x) < Math.abs(places[best] - x)) best = k; });
      move(best);
    });
    svg.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1, PageUp: 10, PageDown: -10, Home: -1e9, End: 1e9 };
      if (!(event.key in steps)) return;
      event.preventDefault();
      move(place + steps[event.key]);
    });
  }

  function value(one, x) {
    let found = null;
    one.x.forEach((at, k) => { if (at !== null && at <= x) found = one.y[k]; });
    return found;
  }

  draw.dots = (holder, chart) => {
    const [svg, width] = canvas(holder, chart, 300);
    const at = frame(svg, width, 300, chart.x, chart.y, chart.xs, chart.ys);
    if (chart.diagonal) {
      const low = Math.max(at.x0, at.y0), high = Math.min(at.x1, at.y1);
      if (low < high) shape(svg, "line", { class: "axis", x1: at.px(low), y1: at.py(low), x2: at.px(high), y2: at.py(high) });
    }
    if (chart.zero) shape(svg, "line", { class: "axis", x1: at.left, x2: at.right, y1: at.py(0), y2: at.py(0) });
    chart.xs.forEach((x, k) => shape(svg, "circle", { class: "f0", "fill-opacity": 0.45, r: 2.5, cx: at.px(x).toFixed(1), cy: at.py(chart.ys[k]).toFixed(1) }));
  };

  draw.bars = (holder, chart) => {
    const row = 20, height = chart.names.length * row + 30;
    const [svg, width] = canvas(holder, chart, height);
    const left = Math.min(180, Math.floor(width * 0.4)), right = width - 56;
    const low = Math.min(0, ...chart.values), high = Math.max(0, ...chart.values);
    const px = (value) => left + ((value - low) / (high - low || 1)) * (right - left);
    chart.names.forEach((name, k) => {
      const y = k * row + 4, from = Math.min(px(0), px(chart.values[k])), to = Math.max(px(0), px(chart.values[k]));
      const label = shape(svg, "text", { class: "name", x: left - 8, y: y + 12, "text-anchor": "end" }, name);
      shape(label, "title", {}, fit(label, left - 10));
      shape(svg, "rect", { class: "f0", x: from, y: y + 2, width: Math.max(to - from, 1), height: row - 8, rx: 2 });
      shape(svg, "text", { x: to + 5, y: y + 12 }, show(chart.values[k]));
    });
    shape(svg, "line", { class: "axis", x1: px(0), x2: px(0), y1: 2, y2: height - 26 });
    shape(svg, "text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, chart.label || "");
  };

  draw.intervals = (holder, chart) => {
    const row = 26, height = chart.names.length * row + 44;
    const [svg, width] = canvas(holder, chart, height);
    const left = Math.min(200, Math.floor(width * 0.42)), right = width - 16;
    const [low, high] = range([...chart.low, ...chart.high, ...(chart.baseline === null ? [] : [chart.baseline])], {});
    const px = (value) => left + ((value - low) / (high - low)) * (right - left);
    const bottom = chart.names.length * row + 6;
    for (const value of ticks(low, high, Math.max(2, Math.floor((right - left) / 90)))) {
      shape(svg, "line", { class: "grid", x1: px(value), x2: px(value), y1: 0, y2: bottom });
      shape(svg, "text", { x: px(value), y: bottom + 16, "text-anchor": "middle" }, show(value));
    }
    if (chart.baseline !== null) shape(svg, "line", { class: "line dash k1", x1: px(chart.baseline), x2: px(chart.baseline), y1: 0, y2: bottom });
    chart.names.forEach((name, k) => {
      const y = k * row + row / 2 + 2, tone = chart.tied[k] ? 0 : 3;
      const label = shape(svg, "text", { class: "name", x: left - 8, y: y + 4, "text-anchor": "end" }, name);
      shape(label, "title", {}, `${fit(label, left - 10)}: ${show(chart.mid[k])} (${show(chart.low[k])} to ${show(chart.high[k])})`);
      shape(svg, "line", { class: `line k${tone}`, x1: px(chart.low[k]), x2: px(chart.high[k]), y1: y, y2: y });
      shape(svg, "circle", { class: `f${tone}`, r: 4.5, cx: px(chart.mid[k]), cy: y });
    });
    shape(svg, "text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, chart.label);
  };

  // A chart with a slider over rounds; `stages` are drawn one at a time.
  draw.stages = (holder, chart) => {
    const last = chart.rounds.length - 1;
    const place = Math.min(Number(holder.dataset.place ?? last), last);
    holder.replaceChildren();
    const slider = node("input", { type: "range", min: 0, max: last, value: place, step: 1, "aria-label": chart.slider });
    const output = node("output", {});
    const box = node("div");
    holder.append(node("label", { class: "controls" }, chart.slider, slider, output), box);
    const update = () => {
      const k = Number(slider.value);
      holder.dataset.place = k;
      output.textContent = String(chart.rounds[k]);
      slider.setAttribute("aria-valuetext", `${chart.slider} ${chart.rounds[k]}`);
      const series = chart.stages.map((one) => ({ ...one, x: chart.xs, y: one.ys[k] })).filter((one) => one.y);
      draw.lines(box, { ...chart, series });
    };
    slider.addEventListener("input", update);
    update();
  };

  // A list to choose one of several charts from.
  draw.choice = (holder, chart) => {
    const place = Number(holder.dataset.place ?? 0);
    holder.replaceChildren();
    const select = node("select", { "aria-label": chart.label });
    chart.options.forEach((option, k) => {
      const item = node("option", { value: k }, option.name);
      if (k === place) item.selected = true;
      select.append(item);
    });
    const box = node("div");
    holder.append(node("label", { class: "controls" }, chart.label, select), box);
    const update = () => {
      holder.dataset.place = select.value;
      const chosen = chart.options[Number(select.value)].chart;
      draw[chosen.kind](box, { title: `${chart.title}: ${chart.options[Number(select.value)].name}`, ...chosen });
    };
    select.addEventListener("change", update);
    update();
  };

  // ---------------------------------------------------------------- the page

  const holders = [...document.querySelectorAll("[data-chart]")];
  const drawAll = () => holders.forEach((holder) => {
    const chart = charts[Number(holder.dataset.chart)];
    draw[chart.kind](holder, chart);
  });
  let drawnAt = 0;
  const redraw = () => {
    if (Math.abs(document.body.clientWidth - drawnAt) < 8) return;
    drawnAt = document.body.clientWidth;
    drawAll();
  };
  redraw();
  window.addEventListener("resize", redraw);

  const root = document.documentElement, button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
})();
