"use strict";
// Charts are drawn when they come near the screen; a click on a point goes to its trial.
(() => {
  const root = document.documentElement;
  const announcer = document.getElementById("announcer");
  const drawn = new Map(); // chart id -> its points in the order of the arrow keys
  // The colour that the style sheet gives the variable `name` in the current theme.
  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const dark = () =>
    root.dataset.theme === "dark" ||
    (!root.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);

  // plotly.js, and the data of many trials, travel compressed.
  const unpacked = (packed) => {
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };
  const load = async () => {
    const script = document.createElement("script");
    script.textContent = await unpacked(document.getElementById("plotly").textContent);
    document.head.append(script);
  };
  let library;
  const plotly = () => (library ??= load());
  const read = async () => {
    const { type, textContent } = document.getElementById("report-data");
    return JSON.parse(type === "application/json" ? textContent : await unpacked(textContent));
  };
  let data; // chart id -> what is drawn, read once
  const charts = () => (data ??= read());

  // Smallest distance between two ticks; 1 for a single one.
  const spacing = (ticks) => {
    const at = ticks.map((tick) => tick.at).sort((a, b) => a - b);
    const gaps = at.slice(1).map((x, i) => x - at[i]);
    return gaps.length ? Math.min(...gaps) : 1;
  };

  // Series stand a little beside each other, and trials beside their mean, to be told apart.
  const places = (chart) => {
    const gap = spacing(chart.ticks);
    const count = chart.series.length;
    const bar = chart.kind === "bar" || chart.kind === "box";
    const step = (bar ? 0.8 / count : 0.03) * gap;
    const of = (index) => (index - (count - 1) / 2) * step;
    // The i-th of n trials, from the mean's place.
    const aside = (i, n) => (bar ? ((i + 0.5) / n - 0.5) * 0.7 * step : (0.05 + (0.15 * i) / n) * gap);
    return { width: step, of, aside };
  };

  // The means (or other centres) of a series with their intervals: bars, or marks; hollow if not trusted.
  const meanTrace = (chart, series, index, place) => {
    const points = series.points;
    const shade = series.style[dark() ? "dark" : "colour"];
    const error = {
      type: "data", symmetric: false, thickness: 1.5, width: 4,
      color: chart.kind === "bar" ? colour("--text") : shade,
      array: points.map((p) => (p.high === null ? 0 : Math.max(p.high - p.y, 0))),
      arrayminus: points.map((p) => (p.low === null ? 0 : Math.max(p.y - p.low, 0))),
    };
    const common = {
      x: points.map((p) => p.x + place.of(index)), y: points.map((p) => p.y), error_y: error,
      hovertext: points.map((p) => p.text), hoverinfo: "text",
      name: series.name && series.fit ? `${series.name} (${series.fit.text})` : series.name || (series.fit ? `linear fit, ${series.fit.text}` : ""),
      legendgroup: String(index), showlegend: Boolean(series.name || series.fit), meta: "mean",
    };
    if (chart.kind === "bar") {
      return {
        ...common, type: "bar", width: place.width * 0.92,
        marker: {
          color: points.map((p) => (p.trusted ? shade : colour("--ground"))),
          line: { color: shade, width: points.map((p) => (p.trusted ? 0 : 1.5)) },
          pattern: { shape: series.style.hatch, fillmode: "overlay", fgcolor: colour("--ground"), size: 7 },
        },
      };
    }
    return {
      ...common, type: "scatter", mode: chart.joined ? "lines+markers" : "markers",
      line: { color: shade, dash: series.style.dash, width: 1.8 },
      marker: {
        color: shade, size: chart.kind === "box" ? 6 : 10, line: { width: 1.5, color: shade },
        symbol: points.map((p) => series.style.symbol + (p.trusted ? "" : "-open")),
      },
    };
  };

  // The single trials of a series beside their mean; a red cross for those that do not count.
  const trialTrace = (chart, series, index, place) => {
    const nth = new Map();
    const total = new Map();
    for (const trial of series.trials) total.set(trial.x, (total.get(trial.x) ?? 0) + 1);
    const aside = (trial) => {
      const i = nth.get(trial.x) ?? 0;
      nth.set(trial.x, i + 1);
      return place.aside(i, total.get(trial.x));
    };
    const shade = series.style[dark() ? "dark" : "colour"];
    const bad = series.trials.map((t) => t.status !== "valid");
    const bar = chart.kind === "bar";
    return {
      type: "scatter", mode: "markers", showlegend: false, legendgroup: String(index),
      x: series.trials.map((t) => t.x + place.of(index) + aside(t)),
      y: series.trials.map((t) => t.y),
      customdata: series.trials.map((t) => t.anchor), meta: "trial",
      hovertext: series.trials.map((t) => t.text), hoverinfo: "text", name: series.name,
      marker: {
        symbol: bad.map((b) => (b ? "x" : "circle")), size: bad.map((b) => (b ? 11 : 6)),
        color: bad.map((b) => (b ? colour("--bad") : bar ? colour("--ground") : shade)),
        line: { width: 1, color: colour(bar ? "--text" : "--ground") },
      },
    };
  };

  // A box over the trials that count; fewer than five have none, as in the figures for papers.
  const boxTrace = (chart, series, index, place) => {
    const at = new Map();
    for (const t of series.trials) if (t.status === "valid") at.set(t.x, [...(at.get(t.x) ?? []), t.y]);
    const boxes = [...at].filter(([, y]) => y.length >= 5);
    return {
      type: "box", hoverinfo: "skip", showlegend: false, legendgroup: String(index), meta: "box",
      x: boxes.flatMap(([x, y]) => y.map(() => x + place.of(index))), y: boxes.flatMap(([, y]) => y),
      width: place.width * 0.85, boxpoints: false, fillcolor: "rgba(0,0,0,0)",
      line: { color: series.style[dark() ? "dark" : "colour"], width: 1.3 },
    };
  };

  // The distribution of all samples of a series.
  const stepTrace = (series, index) => ({
    type: "scatter", mode: "lines", x: series.x, y: series.y, name: series.name, meta: "steps", legendgroup: String(index),
    line: { shape: "hv", color: series.style[dark() ? "dark" : "colour"], dash: series.style.dash, width: 1.8 },
  });

  // The distributions of single trials, behind that of all.
  const trialStepTrace = (series, index) => ({
    type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, legendgroup: String(index), meta: "trial-steps",
    x: series.trials.x, y: series.trials.y, connectgaps: false, opacity: 0.5,
    line: { shape: "hv", color: series.style[dark() ? "dark" : "colour"], width: 0.7 },
  });

  // The band of a distribution within a typical trial.
  const bandTrace = (series, index) => ({
    type: "scatter", mode: "lines", hoverinfo: "skip", showlegend: false, legendgroup: String(index), meta: "band",
    x: series.band.x, y: series.band.y, fill: "toself", opacity: 0.2, line: { width: 0 },
    fillcolor: series.style[dark() ? "dark" : "colour"],
  });

  // The line that was fitted to a series.
  const fitTrace = (series, index) => ({
    type: "scatter", mode: "lines", hoverinfo: "skip", legendgroup: String(index), meta: "fit",
    x: series.fit.x, y: series.fit.y, showlegend: false,
    line: { color: series.style[dark() ? "dark" : "colour"], width: 1.5, dash: series.style.dash },
  });

  // Published values: a star at a scenario, a dotted line between stars across a series.
  const publishedTrace = (place) => (value) => {
    const shade = value.style?.[dark() ? "dark" : "colour"] ?? colour("--text");
    return {
      type: "scatter", mode: value.line ? "lines+markers" : "markers", connectgaps: false, meta: "published", name: value.name, showlegend: true,
      x: value.x.map((x, i) => (x === null ? null : x + place.of(value.series[i]))), y: value.y,
      hovertemplate: `%{y}<extra>${value.name.replaceAll("%{", "% {")}</extra>`,
      line: { color: shade, width: 1.2, dash: "dot" },
      marker: { symbol: value.hollow ? "star-open" : "star", size: 13, color: shade, line: { width: 1, color: value.hollow ? shade : colour("--ground") } },
    };
  };

  // A curve over time, or points in time.
  const timeTrace = (chart) => (series, index) => ({
    type: "scatter", mode: series.points ? "markers" : series.bands ? "lines" : "lines+markers", legendgroup: String(index), x: series.x, y: series.y, name: series.name,
    customdata: series.anchors, meta: "trial", connectgaps: false,
    hovertemplate: `%{y} at %{x} ${chart.xUnit ?? "s"}<extra>${series.name.replaceAll("%{", "% {")}</extra>`,
    line: { color: series.style[dark() ? "dark" : "colour"], width: 1.2, dash: series.style.dash },
    marker: { size: series.points ? 6 : 4, symbol: series.style.symbol },
  });

  // All that plotly draws of a chart: first what lies behind.
  const traces = (chart) => {
    if (chart.kind === "time") {
      const bands = chart.series.flatMap((s, i) => (s.bands ?? []).map((band) => bandTrace({ ...s, band }, i)));
      return [...bands, ...chart.series.map(timeTrace(chart))];
    }
    if (chart.shareLabel) {
      const bands = chart.series.map((s, i) => (s.band ? bandTrace(s, i) : null)).filter(Boolean);
      const trials = chart.series.map((s, i) => (s.trials ? trialStepTrace(s, i) : null)).filter(Boolean);
      return [...bands, ...trials, ...chart.series.map(stepTrace)];
    }
    const place = places(chart);
    const each = (make, wanted = () => true) =>
      chart.series.map((s, i) => (wanted(s) ? make(chart, s, i, place) : null)).filter(Boolean);
    const fits = chart.series.map((s, i) => (s.fit ? fitTrace(s, i) : null)).filter(Boolean);
    const boxes = chart.kind === "box" ? each(boxTrace) : [];
    const published = (chart.published ?? []).map(publishedTrace(place));
    return [...fits, ...boxes, ...each(meanTrace), ...each(trialTrace, (s) => s.trials.length > 0), ...published];
  };

  // Lines of at most so many characters, which fit beside an axis or into a legend; no unit stands alone.
  const wrapped = (text, most) =>
    text.split(/ (?!\()/).reduce((lines, word) => {
      const last = lines.at(-1);
      return last && last.length + word.length < most ? [...lines.slice(0, -1), `${last} ${word}`] : [...lines, word];
    }, []);

  // An axis whose label has lines of at most `most` characters.
  const axis = (label, most) => ({
    title: { text: wrapped(label, most).map((line) => line.replaceAll("<", "&lt;")).join("<br>"), standoff: 8 }, automargin: true, zeroline: false,
    gridcolor: colour("--grid"), linecolor: colour("--line"), ticks: "outside",
    tickcolor: colour("--line"),
  });

  // A legend names series or their fits; on a phone it has a line for each, for which a chart grows.
  const named = (chart) => chart.published?.length > 0 || chart.series.some((s) => s.name || s.fit);
  // Sets the height of a chart, and returns how many characters its labels have room for.
  const room = (element, chart) => {
    const lines = named(chart) && element.clientWidth < 480 ? chart.series.length + (chart.published?.length ?? 0) - 2 : 0;
    element.style.height = lines > 0 ? `${19 + 1.5 * lines}rem` : "";
    // Characters along each axis, and of a line of the legend.
    return { x: Math.min(Math.floor((element.clientWidth - 120) / 9), 60), y: element.clientWidth < 480 ? 24 : 32, legend: Math.floor((element.clientWidth - 110) / 7) };
  };

  const layout = (chart, most) => {
    const ecdf = Boolean(chart.shareLabel);
    const x = axis(ecdf ? chart.yLabel : chart.xLabel, most.x);
    if (chart.ticks?.length && !ecdf) {
      const margin = 0.5 * spacing(chart.ticks);
      const at = chart.ticks.map((tick) => tick.at);
      x.range = [Math.min(...at) - margin, Math.max(...at) + margin];
      if (at.length <= 16) {
        x.tickvals = at;
        x.ticktext = chart.ticks.map((tick) => tick.text.replaceAll("<", "&lt;"));
      }
    }
    // Numbers on axes without a curve would look like results.
    const empty = chart.series.length > 0 && chart.series.every((s) => s.x?.length === 0);
    const y = { ...axis(chart.shareLabel || chart.yLabel, most.y), ...(chart.log ? { type: "log", dtick: "D2" } : {}), rangemode: chart.kind === "box" || chart.zero === false ? "normal" : "tozero" };
    if (empty) x.showticklabels = y.showticklabels = false;
    return {
      annotations: empty ? [{ text: "nothing to draw", xref: "paper", yref: "paper", x: 0.5, y: 0.5, showarrow: false }] : [],
      boxmode: "overlay", paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("--text"), size: 13, family: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif" },
      margin: { l: 56, r: 8, t: 8, b: 48 }, hovermode: "closest", barmode: "overlay",
      // A finger that scrolls the page must not zoom the chart.
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
      hoverlabel: { align: "left", bgcolor: colour("--panel"), bordercolor: colour("--soft"), font: { color: colour("--text") } },
      showlegend: named(chart), legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, bgcolor: "rgba(0,0,0,0)" },
      xaxis: x, yaxis: y,
    };
  };

  // The text of a hover box without its HTML.
  const plain = (html) => new DOMParser().parseFromString(html.replaceAll("<br>", ", "), "text/html").body.textContent;

  // Points from left to right, as the arrow keys visit them.
  const stops = (element, unit) =>
    element.data
      .flatMap((trace, curveNumber) =>
        trace.meta === "trial" && trace.customdata
          ? trace.x.map((x, pointNumber) => ({
              x, curveNumber, pointNumber, anchor: trace.customdata[pointNumber],
              text: trace.hovertext ? plain(trace.hovertext[pointNumber]) : `${trace.name.replaceAll("<br>", " ")}: ${trace.y[pointNumber]} at ${x} ${unit}`,
            }))
          : [])
      .filter((stop) => stop.anchor)
      .sort((a, b) => a.x - b.x || a.curveNumber - b.curveNumber);

  // Draws a chart, also again after a change of theme. A chart that fails says so in its place.
  const draw = async (element) => {
    if (element.dataset.state === "drawing") return;
    const first = !element.dataset.state;
    element.dataset.state = "drawing";
    let chart;
    try {
      chart = (await charts())[element.id];
      await plotly();
      const most = room(element, chart);
      const lines = (trace) => ({ ...trace, name: wrapped(trace.name ?? "", most.legend).join("<br>") });
      await Plotly.react(element, traces(chart).map(lines), layout(chart, most), {
        responsive: true, displayModeBar: false,
      });
    } catch (error) {
      element.dataset.state = "failed";
      element.textContent = `This chart could not be drawn (${error.message}); its values are in the tables.`;
      return;
    }
    if (first) {
      element.on("plotly_click", (event) => {
        const anchor = event.points.map((point) => point.customdata).find(Boolean);
        if (anchor) go(anchor);
      });
      element.addEventListener("keydown", (event) => step(element, event));
    }
    drawn.set(element.id, stops(element, chart.xUnit ?? "s"));
    element.dataset.state = "drawn";
  };

  // Arrow keys go from point to point, Enter goes to the trial of the current one.
  const step = (element, event) => {
    const points = drawn.get(element.id) ?? [];
    const now = Number(element.dataset.at ?? -1);
    if (event.key === "Enter" && points[now]) {
      go(points[now].anchor);
    } else if (["ArrowRight", "ArrowLeft"].includes(event.key) && points.length) {
      const next = now < 0 ? 0 : now + (event.key === "ArrowRight" ? 1 : -1);
      const at = Math.min(Math.max(next, 0), points.length - 1);
      element.dataset.at = at;
      Plotly.Fx.hover(element, [points[at]]);
      announcer.textContent = points[at].text;
    } else {
      return;
    }
    event.preventDefault();
  };

  // A trial is a row of this page, or of the report of its own run.
  const go = (anchor) => {
    if (anchor.includes("#")) location.href = anchor;
    else location.hash = anchor;
  };

  const elements = [...document.querySelectorAll(".chart")];
  const near = new IntersectionObserver(
    (entries) => entries.filter((e) => e.isIntersecting).forEach((e) => {
      near.unobserve(e.target);
      draw(e.target);
    }),
    { rootMargin: "400px" },
  );
  elements.forEach((element) => near.observe(element));
  const redraw = () => elements.filter((e) => e.dataset.state === "drawn").forEach(draw);

  // Theme: the system's, until the reader chooses.
  const button = document.getElementById("theme");
  const label = () => (button.textContent = dark() ? "Light" : "Dark");
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    label();
    redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    label();
    redraw();
  });
  label();

  // On a phone, rows of tables are blocks (page.css), and each cell needs the name of its column.
  const narrow = matchMedia("(max-width: 40rem)");
  const stack = () => {
    for (const table of narrow.matches ? document.querySelectorAll(".scroll > table:not(.stacked)") : []) {
      const names = [...table.tHead.rows[0].cells].map((cell) => (cell.querySelector("svg") ? "" : cell.textContent.trim()));
      for (const body of table.tBodies) for (const row of body.rows) for (const cell of row.cells) {
        if (cell.tagName === "TD" && names[cell.cellIndex]) cell.dataset.name = names[cell.cellIndex];
      }
      table.classList.add("stacked");
    }
  };
  narrow.addEventListener("change", stack);
  stack();

  // Filters of the trials.
  const form = document.getElementById("filters");
  const rows = [...document.querySelectorAll("tr.trial")];
  const parts = document.querySelectorAll(".batch");
  const filter = () => {
    const data = new FormData(form);
    const statuses = data.getAll("status");
    const text = data.get("text").trim().toLowerCase();
    for (const row of rows) {
      row.hidden =
        !statuses.includes(row.dataset.status) ||
        (data.get("probe") !== "" && data.get("probe") !== row.dataset.probe) ||
        (text !== "" && !row.textContent.toLowerCase().includes(text));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    for (const part of parts) part.hidden = !part.querySelector("tr.trial:not([hidden])");
    document.getElementById("shown").value = `${shown} of ${rows.length} trials`;
  };
  if (form) {
    form.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("change", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    filter();
  }

  // Whatever a link points to is opened, shown and focused.
  const follow = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.hidden) {
      form.reset();
      filter();
    }
    for (let outer = target.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    target.scrollIntoView({ block: target.matches("tr") ? "center" : "start" });
    if (target.matches("tr")) target.focus({ preventScroll: true });
  };
  addEventListener("hashchange", follow);
  if (location.hash) follow();

  addEventListener("beforeprint", () => {
    document.querySelectorAll("details").forEach((details) => (details.open = true));
    elements.filter((e) => !e.dataset.state).forEach(draw);
  });
})();
