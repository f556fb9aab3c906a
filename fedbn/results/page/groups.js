
/* --- groups of sites: the cut of the tree, and two networks side by side --- */

const GROUP_MARKS = ["●", "■", "▲", "◆", "▼", "★"];
const APART = 3; // rows between two numbers where sites are not named
function cutInto(count) {
  const groups = data.groups, m = groups.sites.length, parent = [...Array(2 * m - 1).keys()];
  const root = (v) => { while (parent[v] !== v) v = parent[v]; return v; };
  groups.joins.slice(0, m - count).forEach(([a, b], row) => { parent[root(a)] = parent[root(b)] = m + row; });
  const numbers = new Map();
  return groups.sites.map((_, s) => {
    const top = root(s);
    if (!numbers.has(top)) numbers.set(top, numbers.size);
    return numbers.get(top);
  });
}
function showCut(of) {
  const groups = data.groups, m = groups.sites.length, all = [...of];
  groups.joins.forEach(([a, b], row) => { all[m + row] = all[a] === all[b] ? all[a] : -1; });
  for (const branch of document.querySelectorAll("#tree .branch")) {
    const group = all[Number(branch.dataset.b)];
    branch.setAttribute("class", `branch ${group < 0 ? "g-none" : `g${group % 6}`}`);
  }
  let last = -APART, before = -1;
  document.querySelectorAll("#tree .leaf").forEach((leaf, place) => {
    const site = Number(leaf.dataset.s), group = of[site];
    const begins = group !== before && place - last >= APART, bare = m > 80 && !begins;
    const named = m <= 80 ? ` ${groups.sites[site]}${groups.alone.includes(site) ? " stands alone" : ""}` : "";
    leaf.setAttribute("class", `leaf g${group % 6}${bare ? " bare" : ""}`);
    leaf.lastChild.data = `${GROUP_MARKS[group % 6]}${bare ? "" : ` ${group + 1}${named}`}`;
    if (!bare) last = place;
    before = group;
  });
  const sizes = [];
  for (const group of of) sizes[group] = (sizes[group] || 0) + 1;
  find("cut").value = sizes.length;
  find("cut-state").textContent = `${sizes.length} ${sizes.length === 1 ? "group" : "groups"} of ${sizes.slice(0, 12).join(", ")}${sizes.length > 12 ? ", ..." : ""} sites`;
}
function cutBelow(node) {
  const m = data.groups.sites.length;
  showCut(cutInto(2 * m - node));
}
function stepInTree(branch, step) {
  const next = document.querySelector(`#tree .branch[data-b="${Number(branch.dataset.b) + step}"]`);
  if (!next) return;
  branch.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
const TREE_STEPS = { ArrowLeft: 1, ArrowUp: 1, ArrowRight: -1, ArrowDown: -1 };
function drawGroup(box, own, other) {
  const groups = data.groups, [width, height] = groups.size;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img" });
  svg.style.minWidth = `${0.6 * width}px`;
  svg.setAttribute("aria-label", `Network of group ${own + 1}`);
  groups.pairs.forEach(([i, j], k) => {
    const here = groups.codes[own][k], there = groups.codes[other][k];
    if (here % 4 === 0 && there % 4 === 0) return;
    const kind = here === 4 || there === 4 ? "unknown" : !here ? "away" : !there ? "only" : here !== there ? "turned" : "both";
    const code = here % 4 || there, from = code === 2 ? j : i, to = code === 2 ? i : j;
    const path = draw("path", { class: `edge ${kind}`, d: groups.paths[k] });
    if (code === 1) path.setAttribute("marker-end", "url(#h4)");
    if (code === 2) path.setAttribute("marker-start", "url(#h4)");
    const title = draw("title", {});
    title.append(`${data.names[from]} ${code === 3 ? "—" : "→"} ${data.names[to]}: ${{ away: "only the other group", only: "only this group", turned: "the direction differs", both: "both", unknown: `no site of ${here === 4 ? "this" : "the other"} group has both` }[kind]}`);
    path.append(title);
    svg.append(path);
  });
  groups.boxes.forEach(([x, y, width], v) => {
    svg.append(draw("rect", { class: "box", x, y, width, height: groups.box_height, rx: 6 }));
    const text = draw("text", { class: "box-name", x: x + width / 2, y: y + groups.box_height / 2 + 4 });
    text.append(groups.labels[v]);
    svg.append(text);
  });
  box.replaceChildren(svg);
}
function showPairOfGroups() {
  const left = Number(find("group-left").value), right = Number(find("group-right").value);
  drawGroup(find("net-left"), left, right);
  drawGroup(find("net-right"), right, left);
  const [one, two] = [Math.min(left, right) + 1, Math.max(left, right) + 1];
  const body = document.querySelector("#differences tbody");
  const shown = data.groups.rows.filter((row) => row[0] === one && row[1] === two).slice(0, 200);
  body.replaceChildren(...shown.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell === null ? "-" : String(cell))))));
}
function startGroups() {
  if (find("tree")) {
    find("cut").addEventListener("input", () => showCut(cutInto(Number(find("cut").value))));
    find("cut-back").addEventListener("click", () => showCut(data.groups.of));
    const chosen = (event) => event.target.closest(".branch");
    find("tree").addEventListener("click", (event) => { if (chosen(event)) cutBelow(Number(chosen(event).dataset.b)); });
    find("tree").addEventListener("keydown", (event) => {
      const branch = chosen(event), step = TREE_STEPS[event.key];
      if (!branch || (!step && event.key !== "Enter" && event.key !== " ")) return;
      event.preventDefault();
      if (step) stepInTree(branch, step);
      else cutBelow(Number(branch.dataset.b));
    });
    showCut(data.groups.of);
  }
  if (find("group-left")) {
    for (const name of ["group-left", "group-right"]) find(name).addEventListener("change", showPairOfGroups);
    showPairOfGroups();
  }
}
if (data.groups) startGroups();
