"use strict";
/* The report's page. Names are strangers' text: they only ever become text nodes or attributes. */
const data = JSON.parse(document.getElementById("data").textContent);
const SVG = "http://www.w3.org/2000/svg";
const PAGE = 200, TABBED = 400;
const BORDERS = [0.5, 0.7, 0.85, 0.999];
const find = (name) => document.getElementById(name);
const now = { reading: data.chosen[0], state: data.chosen[1], site: null, pair: null, node: null };

function make(tag, attributes, ...inside) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) element.setAttribute(key, value);
  element.append(...inside);
  return element;
}
function draw(tag, attributes) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
function number(value) {
  if (value === null || value === undefined) return "-";
  return typeof value === "number" ? String(Math.round(value * 100) / 100) : value;
}
function fraction(text) {
  if (text === null) return "-";
  const [above, below] = text.split("/");
  return below ? `${text} (${number(above / below)})` : text;
}
function decimal(text) {
  if (text === null) return null;
  const [above, below] = text.split("/");
  return Number(above) / Number(below || 1);
}

/* --- the states: codes of all pairs, 0 none, 1 forward, 2 backward, 3 open --- */

const cache = new Map();
function codesAt(reading, state) {
  const key = `${reading} ${state}`;
  if (!cache.has(key)) {
    const codes = new Uint8Array(data.pairs.length);
    for (const each of data.readings[reading].states.slice(0, state + 1))
      for (let m = 0; m < each.changes.length; m += 2) codes[each.changes[m]] = each.changes[m + 1];
    if (cache.size > 50) cache.clear();
    cache.set(key, codes);
  }
  return cache.get(key);
}
const stateNow = () => data.readings[now.reading].states[now.state];
const arcs = (data.sites || []).map((site) => {
  let at = 0;
  return new Set(site.arcs.map((step) => (at += step)));
});
const seen = data.variables ? data.variables.seen.map((own) => new Set(own)) : null;
const seesPair = (site, k) => !seen || data.pairs[k].slice(0, 2).every((node) => seen[site].has(node));
const hasPair = (site, k) => arcs[site].has(2 * k) || arcs[site].has(2 * k + 1);

function ends(k, code) {
  const [i, j] = data.pairs[k];
  return code === 2 ? [j, i] : [i, j];
}
function edgeName(k, code) {
  const [from, to] = ends(k, code);
  return `${data.names[from]} ${code === 3 ? "—" : "→"} ${data.names[to]}`;
}
function shade(support) {
  return support === null ? 4 : BORDERS.filter((border) => support >= border).length;
}

/* --- the drawing --- */

function lookOf(k) {
  if (k === now.pair) return ["picked", "h-picked"];
  if (now.node !== null && data.pairs[k].slice(0, 2).includes(now.node)) return ["near", "h-picked"];
  if (now.site !== null && seesPair(now.site, k) && !hasPair(now.site, k)) return ["lacks", "h-lacks"];
  const status = data.pairs[k][5];
  if (find("status") && find("status").checked && status) return [status, `h-${status}`];
  const level = shade(data.pairs[k][2]);
  return [`e${level}`, `h${level}`];
}
function edgePath(k, code, kind, head) {
  const path = draw("path", { class: kind, d: data.paths[k], "data-k": k });
  if (code === 1) path.setAttribute("marker-end", `url(#${head})`);
  if (code === 2) path.setAttribute("marker-start", `url(#${head})`);
  return path;
}
function drawEdges() {
  const codes = codesAt(now.reading, now.state), all = [], hits = [];
  const count = stateNow().edges;
  const order = [...codes.keys()].filter((k) => codes[k]);
  order.sort((a, b) => (data.pairs[a][2] ?? 1) - (data.pairs[b][2] ?? 1) || a - b);
  for (const k of order) {
    const [kind, head] = lookOf(k);
    const path = edgePath(k, codes[k], `edge ${kind}`, head);
    const support = data.pairs[k][2];
    const label = edgeName(k, codes[k]) + (support === null ? "" : `, support ${number(support)}`);
    path.setAttribute("role", "button");
    path.setAttribute("aria-label", label);
    if (count <= TABBED) path.setAttribute("tabindex", "0");
    all.push(path);
    const hit = draw("path", { class: "hit", d: data.paths[k], "data-k": k });
    const title = draw("title", {});
    title.textContent = label;
    hit.append(title);
    hits.push(hit);
  }
  if (now.site !== null)
    for (let k = 0; k < codes.length; k++)
      if (!codes[k] && hasPair(now.site, k)) {
        const both = arcs[now.site].has(2 * k) && arcs[now.site].has(2 * k + 1);
        const code = both ? 3 : arcs[now.site].has(2 * k) ? 1 : 2;
        all.push(edgePath(k, code, "beyond", "h-beyond"));
        hits.push(draw("path", { class: "hit", d: data.paths[k], "data-k": k }));
      }
  for (const [i, j, route] of data.variables ? data.variables.unknown : []) {
    const path = draw("path", { class: "unknown", d: route }), title = draw("title", {});
    title.textContent = `${data.names[i]} and ${data.names[j]}: not known, no site has both`;
    path.append(title);
    all.unshift(path);
  }
  find("edges").replaceChildren(...all, ...hits);
}
function fitLabels() {
  for (const text of document.querySelectorAll(".node text")) {
    const room = Number(text.previousSibling.getAttribute("width")) - 6;
    if (text.getComputedTextLength() > room) {
      text.setAttribute("textLength", room);
      text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  }
}
let zoom = 1;
function zoomTo(value) {
  zoom = Math.min(4, Math.max(0.05, value));
  const [width, height] = data.size;
  find("drawing").setAttribute("width", Math.round(width * zoom));
  find("drawing").setAttribute("height", Math.round(height * zoom));
}
const fitted = () => (find("drawing").parentNode.clientWidth - 4) / data.size[0];

/* --- the panel --- */

function listed(title, names) {
  const items = names.map((name) => make("li", {}, name));
  return [make("p", {}, make("b", {}, `${title}: ${names.length}`)), make("ul", {}, ...items)];
}
function showPair(k) {
  const code = codesAt(now.reading, now.state)[k], [, , support, theta, psi, status, sites] = data.pairs[k];
  const parts = [make("h3", {}, edgeName(k, code || 3))];
  const say = (text) => parts.push(make("p", {}, text));
  say(code === 0 ? "Not in this network." : code === 3 ? "Direction not determined." : "Direction determined.");
  if (support !== null) say(`Support: ${number(support)}`);
  say(theta === null ? "No deletion of the path removes it." : `Deleted at θ = ${fraction(theta)}, Ψ = ${fraction(psi)}.`);
  if (status) say(`Against the gold network: ${status}`);
  if (data.sites) {
    const [from, to] = ends(k, code), forward = data.pairs[k][0] === from ? 0 : 1;
    const name = (site) => data.sites[site].name, every = data.sites.map((_, site) => site);
    const has = every.filter((s) => arcs[s].has(2 * k + forward));
    const other = every.filter((s) => arcs[s].has(2 * k + 1 - forward) && !has.includes(s));
    const lack = every.filter((s) => seesPair(s, k) && !hasPair(s, k)), blind = every.filter((s) => !seesPair(s, k));
    const told = `${data.names[from]} → ${data.names[to]}`;
    parts.push(...listed(`Have ${told}`, has.map(name)), ...listed("Have it reversed", other.map(name)));
    parts.push(...listed("Lack it", lack.map(name)));
    if (blind.length) parts.push(...listed("Do not have both variables", blind.map(name)));
    if (seen && data.pairs[k][8] !== null) say(`Judged by ${data.pairs[k][8]} of the ${data.pairs[k][7]} sites that have both variables.`);
  } else if (sites !== null) say(`Sites that join the two: ${sites}`);
  find("panel").replaceChildren(...parts);
}
function showSite(site) {
  const codes = codesAt(now.reading, now.state), lack = [], beyond = [];
  for (let k = 0; k < codes.length; k++) {
    if (codes[k] && seesPair(site, k) && !hasPair(site, k)) lack.push(edgeName(k, codes[k]));
    if (!codes[k] && hasPair(site, k)) beyond.push(edgeName(k, arcs[site].has(2 * k) ? 1 : 2));
  }
  find("panel").replaceChildren(
    make("h3", {}, data.sites[site].name),
    make("p", {}, `SMHD to this network: ${number(distance(site))}`),
    ...listed("Edges of the network that it lacks (red, dashed)", lack),
    ...listed("Edges that it has beyond (green, dotted)", beyond),
  );
}
function distance(site) {
  return data.distances[data.readings[now.reading].reading][now.state][site];
}

/* --- tables: sorted by a header's button, 200 rows a page --- */

function table(box, header, rows, options) {
  let sorted = null, downwards = false, page = 0, wanted = "";
  const body = make("tbody"), heads = [], pages = make("div", { class: "pages" });
  header.forEach((name, column) => {
    const button = make("button", { type: "button" }, name), head = make("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      downwards = sorted === column ? !downwards : false;
      sorted = column;
      page = 0;
      fill();
    });
    heads.push(head);
  });
  function compare(a, b) {
    const x = a.cells[sorted], y = b.cells[sorted];
    if (x === null || y === null) return (x === null) - (y === null);
    const less = typeof x === "number" && typeof y === "number" ? x - y : String(x) < String(y) ? -1 : String(x) > String(y) ? 1 : 0;
    return downwards ? -less : less;
  }
  function step(text, to, able) {
    const button = make("button", { type: "button", "data-held": text }, text);
    button.disabled = !able;
    button.addEventListener("click", () => { page = to; fill(); });
    return button;
  }
  function fill() {
    const held = box.contains(document.activeElement) ? document.activeElement.dataset.held : undefined;
    let some = rows().filter((row) => row.cells.some((cell) => typeof cell === "string" && cell.toLowerCase().includes(wanted)));
    if (sorted !== null) some = [...some].sort(compare);
    const last = Math.max(0, Math.ceil(some.length / PAGE) - 1);
    page = Math.min(page, last);
    heads.forEach((head, column) => head.setAttribute("aria-sort", column !== sorted ? "none" : downwards ? "descending" : "ascending"));
    body.replaceChildren(...some.slice(page * PAGE, (page + 1) * PAGE).map(line));
    pages.replaceChildren(step("Before", page - 1, page > 0), `${page + 1} of ${last + 1}, ${some.length} rows`, step("Next", page + 1, page < last));
    pages.hidden = last === 0;
    if (held !== undefined) for (const each of box.querySelectorAll("[data-held]"))
      if (each.dataset.held === held) each.focus({ preventScroll: true });
  }
  function line(row) {
    const cells = row.cells.map((cell, column) => {
      if (column === 0 && options.pick) {
        const button = make("button", { type: "button", "data-held": row.key }, String(cell));
        button.addEventListener("click", () => {
          options.pick(row.key);
          find("panel").scrollIntoView({ block: "nearest" });
        });
        return make("td", {}, button);
      }
      return make("td", typeof cell === "number" ? { class: "n" } : {}, number(cell));
    });
    return make("tr", row.on ? { class: "on" } : {}, ...cells);
  }
  const parts = [make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.label }, make("table", options.name ? { id: options.name } : {}, make("thead", {}, make("tr", {}, ...heads)), body)), pages];
  if (options.filter) {
    const field = make("input", { type: "search", "aria-label": "Filter by name", placeholder: "Filter by name" });
    field.addEventListener("input", () => { wanted = field.value.toLowerCase(); page = 0; fill(); });
    parts.unshift(field);
  }
  box.replaceChildren(...parts);
  fill();
  return fill;
}

const fills = [];
function siteTable() {
  const old = find("site-table");
  if (!old) return;
  const header = ["Site", "Search", "Rows", "Edges", "SMHD"];
  if (data.gold) header.push("SMHD to gold");
  const box = make("div");
  old.parentNode.replaceWith(box);
  const rows = () => data.sites.map((site, key) => {
    const cells = [site.name, site.status, site.rows, site.edges, distance(key)];
    return { key, cells: data.gold ? [...cells, site.gold] : cells, on: key === now.site };
  });
  fills.push(table(box, header, rows, { pick: pickSite, label: "Sites", name: "site-table", filter: data.sites.length > 20 }));
}
function edgeTable() {
  const header = ["From", "To", "In this network", "Support", "Deleted at θ", "θ, decimal", "Ψ", "Ψ, decimal"];
  const gold = data.pairs.some((row) => row[5]), known = data.pairs.some((row) => row[6] !== null);
  if (known) header.push("Sites");
  if (seen) header.push("Of", "Judges");
  if (gold) header.push("Against gold");
  const words = ["no", "yes, compelled", "yes, compelled", "yes, open"];
  const rows = () => {
    const codes = codesAt(now.reading, now.state);
    return data.pairs.map((row, key) => {
      const [from, to] = ends(key, codes[key]);
      const cells = [data.names[from], data.names[to], words[codes[key]], row[2], row[3], decimal(row[3]), row[4], decimal(row[4])];
      if (known) cells.push(row[6]);
      if (seen) cells.push(row[7], row[8]);
      if (gold) cells.push(row[5] || null);
      return { key, cells, on: key === now.pair };
    }).sort((a, b) => (codes[b.key] > 0) - (codes[a.key] > 0) || (b.cells[3] ?? 0) - (a.cells[3] ?? 0));
  };
  fills.push(table(find("edge-table"), header, rows, { pick: pickPair, label: "Edges", filter: true }));
}

/* --- parameters --- */

function plain(header, rows) {
  const cell = (value) => make("td", typeof value === "number" ? { class: "n" } : {}, typeof value === "number" ? String(value) : value);
  const head = make("thead", {}, make("tr", {}, ...header.map((name) => make("th", { scope: "col" }, name))));
  const body = make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell))));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Parameters" }, make("table", {}, head, body));
}
function showParameters(node) {
  const box = find("parameter-table");
  if (!box || !data.parameters) return;
  const found = data.parameters[node], parts = [make("h3", {}, data.names[node])];
  if (!found) {
    box.replaceChildren(...parts, make("p", {}, "Its table, or that of an ancestor, is not known."));
    return;
  }
  const parents = found.parents.map((parent) => data.names[parent]);
  if (found.states) {
    if (found.marginal) parts.push(make("p", {}, "Alone:"), plain(found.states, [found.marginal]));
    parts.push(make("p", {}, parents.length ? `Given ${parents.join(", ")}:` : "It has no parents."));
    parts.push(plain([...parents, ...found.states], found.rows.map(([values, cells]) => [...values, ...cells])));
    if (found.n_rows > found.rows.length) parts.push(make("p", {}, `The first ${found.rows.length} of ${found.n_rows} rows; all are in network.json.`));
    if (found.n_states > found.states.length) parts.push(make("p", {}, `The first ${found.states.length} of ${found.n_states} states.`));
  } else {
    const rows = [["intercept", found.intercept], ["standard deviation", found.deviation]];
    parts.push(plain(["Term", "Value"], [...rows, ...parents.map((name, k) => [name, found.coefficients[k]])]));
  }
  box.replaceChildren(...parts);
}
function parameterChoice() {
  const box = find("parameter-table");
  if (!box) return;
  const choice = make("select", { "aria-label": "Variable", id: "variable" }, ...data.names.map((name, k) => make("option", { value: k }, name)));
  choice.addEventListener("change", () => {
    pickNode(Number(choice.value));
    bringIntoView(now.node);
  });
  box.before(choice);
  showParameters(Math.max(0, (data.parameters || []).findIndex((found) => found)));
}

/* --- what is chosen --- */

function refresh() {
  const state = stateNow(), theta = state.theta === null ? "G+, everything kept" : `θ = ${fraction(state.theta)}`;
  const chosen = now.reading === data.chosen[0] && now.state === data.chosen[1];
  if (find("bar")) {
    const text = `${theta}: ${state.edges} ${state.edges === 1 ? "edge" : "edges"}, mean SMHD ${number(state.smhd)}${chosen ? ", the consensus" : ""}`;
    find("slider").value = now.state;
    find("slider").setAttribute("aria-valuetext", text);
    find("state").textContent = data.n_hidden ? `${text} (edges of few sites are not drawn)` : text;
  }
  for (const point of document.querySelectorAll(".point"))
    point.classList.toggle("now", Number(point.dataset.r) === now.reading && Number(point.dataset.s) === now.state);
  for (const node of document.querySelectorAll(".node"))
    node.classList.toggle("on", Number(node.dataset.v) === now.node);
  drawEdges();
  fills.forEach((fill) => fill());
  if (now.pair !== null) showPair(now.pair);
  else if (now.site !== null) showSite(now.site);
  else if (now.node !== null) showNode(now.node);
}
function pickState(reading, state) {
  now.reading = reading;
  now.state = Math.min(state, data.readings[reading].states.length - 1);
  if (find("slider")) find("slider").max = data.readings[reading].states.length - 1;
  for (const radio of document.querySelectorAll("#readings input")) radio.checked = Number(radio.value) === reading;
  refresh();
}
function pickPair(k) {
  now.pair = k;
  now.node = null;
  refresh();
  showPair(k);
}
function pickSite(site) {
  now.site = now.site === site ? null : site;
  now.pair = now.node = null;
  find("panel").replaceChildren(make("p", { class: "hint" }, "Choose an edge, a variable or a site."));
  refresh();
}
function pickNode(node) {
  now.node = node;
  now.pair = null;
  now.site = null;
  if (find("variable")) find("variable").value = node;
  showParameters(node);
  refresh();
  showNode(node);
}
function showNode(node) {
  const codes = codesAt(now.reading, now.state), lists = { "Parents": [], "Children": [], "Direction not determined": [] };
  for (let k = 0; k < codes.length; k++) {
    if (!codes[k] || !data.pairs[k].slice(0, 2).includes(node)) continue;
    const [from, to] = ends(k, codes[k]), support = data.pairs[k][2];
    const told = data.names[from === node ? to : from] + (support === null ? "" : `, support ${number(support)}`);
    lists[codes[k] === 3 ? "Direction not determined" : to === node ? "Parents" : "Children"].push(told);
  }
  const parts = Object.entries(lists).filter(([, names]) => names.length).flatMap(([title, names]) => listed(title, names));
  find("panel").replaceChildren(make("h3", {}, data.names[node]), ...(parts.length ? parts : [make("p", {}, "No edge in this network.")]));
}
function bringIntoView(node) {
  const box = find("drawing").parentNode, [x, y, width] = data.boxes[node];
  box.scrollTo((x + width / 2) * zoom - box.clientWidth / 2, y * zoom - box.clientHeight / 3);
}
function busiest() {
  const codes = codesAt(now.reading, now.state), counts = data.names.map(() => 0);
  codes.forEach((code, k) => { if (code) for (const node of data.pairs[k].slice(0, 2)) counts[node] += 1; });
  return counts.indexOf(Math.max(...counts));
}

function start() {
  document.documentElement.className = "scripted";
  const drawing = find("drawing");
  const chosen = (event) => event.target.closest("[data-k]") || event.target.closest("[data-v]");
  const pick = (element) => element && (element.dataset.k ? pickPair(Number(element.dataset.k)) : pickNode(Number(element.dataset.v)));
  drawing.addEventListener("click", (event) => pick(chosen(event)));
  drawing.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    const element = chosen(event);
    if (!element) return;
    event.preventDefault();
    pick(element);
    const again = drawing.querySelector(`.edge[data-k="${element.dataset.k}"]`);
    if (again) again.focus();
  });
  if (find("plot")) find("plot").addEventListener("click", (event) => {
    const point = event.target.closest(".point");
    if (point) pickState(Number(point.dataset.r), Number(point.dataset.s));
  });
  if (find("bar")) {
    find("bar").hidden = false;
    find("slider").addEventListener("input", () => pickState(now.reading, Number(find("slider").value)));
    find("back").addEventListener("click", () => pickState(...data.chosen));
    if (data.readings.length > 1) data.readings.forEach((each, k) => {
      const radio = make("input", { type: "radio", name: "reading", value: k });
      radio.addEventListener("change", () => pickState(k, now.state));
      find("readings").append(make("label", {}, radio, ` ${each.reading} `));
    });
  }
  find("tools").hidden = false;
  find("smaller").addEventListener("click", () => zoomTo(zoom / 1.3));
  find("larger").addEventListener("click", () => zoomTo(zoom * 1.3));
  find("fit").addEventListener("click", () => zoomTo(fitted()));
  if (find("status")) find("status").addEventListener("change", drawEdges);
  find("names").replaceChildren(...data.names.map((name) => make("option", { value: name })));
  find("finder").addEventListener("change", () => {
    const node = data.names.indexOf(find("finder").value);
    if (node < 0) return;
    pickNode(node);
    bringIntoView(node);
  });
  fitLabels();
  siteTable();
  edgeTable();
  parameterChoice();
  if (fitted() < 1 && fitted() > 0.6) zoomTo(fitted());
  pickState(...data.chosen);
  if (fitted() < 1 && data.names.length) bringIntoView(busiest());
}
start();
