"use strict";
// Everything that belongs to a line of the user's program carries its number in data-l: pointing at one thing, or
// moving the focus to it, marks all others of that line. A click, or Enter, keeps the marks and goes to the other side.
(() => {
  const byLine = new Map();
  for (const element of document.querySelectorAll("[data-l]")) {
    for (const line of element.dataset.l.split(" ")) {
      if (!byLine.has(line)) byLine.set(line, []);
      byLine.get(line).push(element);
    }
  }
  const status = document.querySelector(".status");
  const isGone = (row, stage) => row.classList.contains(`t${stage}`);
  const isVisible = (element) => element.getClientRects().length > 0;
  let lit = [];
  let kept = null;

  function light(element) {
    for (const other of lit) other.classList.remove("on");
    const found = new Set();
    if (element) for (const line of element.dataset.l.split(" ")) for (const other of byLine.get(line)) found.add(other);
    lit = [...found];
    for (const other of lit) other.classList.add("on");
    status.textContent = element ? counted() : "";
  }

  function counted() {
    const lines = lit.filter((other) => other.id.startsWith("l")).length;
    const stage = document.querySelector('input[name="stage"]:checked').id.slice(1);
    const here = lit.filter((other) => other.closest(".rows") && isVisible(other) && !isGone(other, stage)).length;
    const text = lit.filter((other) => other.closest(".text")).length;
    const say = (count, one, many) => `${count} ${count === 1 ? one : many}`;
    const parts = [say(lines, "line", "lines"), `${say(here, "call", "calls")} in this stage`];
    if (text) parts.push(say(text, "generated line", "generated lines"));
    return parts.join(" · ");
  }

  const owner = (target) => (target instanceof Element ? target.closest("[data-l]") : null);

  // ---- pointing ----
  document.addEventListener("pointerover", (event) => {
    if (!kept) light(owner(event.target));
  });
  document.addEventListener("click", (event) => {
    const element = owner(event.target);
    if (event.target.closest("a, summary, label, input")) return;
    if (!element || element === kept) { kept = null; light(null); return; }
    keep(element);
  });

  function keep(element) {
    kept = element;
    light(element);
    const isSource = Boolean(element.closest(".source"));
    for (const list of document.querySelectorAll(isSource ? ".rows, .text" : ".source")) {
      const target = lit.find((other) => list.contains(other) && isVisible(other));
      if (target) reveal(target, list);
    }
  }

  function reveal(target, list) {
    const box = list.classList.contains("text") ? list : target.closest("aside");
    if (box && box.scrollHeight > box.clientHeight) {
      const place = target.getBoundingClientRect().top - box.getBoundingClientRect().top;
      if (place < 0 || place > box.clientHeight - 40) box.scrollTop += place - box.clientHeight / 3;
    } else if (list.matches(".rows")) {
      target.scrollIntoView({ block: "nearest" });
    }
  }

  // ---- keyboard: one stop for Tab in each list, arrows within it ----
  const lists = [...document.querySelectorAll(".walk")];
  const steps = (list) => [...list.querySelectorAll(":scope > [data-l]")].filter(isVisible);
  for (const list of lists) {
    for (const link of list.querySelectorAll("a")) link.tabIndex = -1; // Enter on the row does the same
    const first = list.querySelector(":scope > [data-l]");
    if (first) first.tabIndex = 0;
  }
  function stop(list, element) {
    for (const other of list.querySelectorAll(':scope > [tabindex="0"]')) other.tabIndex = -1;
    element.tabIndex = 0;
  }
  for (const input of document.querySelectorAll('.stages > input')) {
    input.addEventListener("change", () => {
      const list = document.querySelector(".rows");
      const [first] = steps(list);
      if (first) stop(list, first);
    });
  }
  document.addEventListener("focusin", (event) => {
    const element = owner(event.target);
    if (!element || !event.target.matches(":focus-visible")) return;
    kept = null;
    light(element);
    const list = element.closest(".walk");
    if (list) stop(list, element);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { kept = null; light(null); return; }
    const element = document.activeElement;
    if (!element || !element.dataset.l || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === "Enter") { cross(element); event.preventDefault(); return; }
    const list = element.closest(".walk");
    const moves = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    if (!list || !(event.key in moves)) return;
    const all = steps(list);
    const place = Math.min(Math.max(all.indexOf(element) + moves[event.key], 0), all.length - 1);
    all[place].tabIndex = 0;
    all[place].focus();
    event.preventDefault();
  });

  // From a line of the source to the first call that it became in this stage, and from anything else to its line.
  function cross(element) {
    const side = element.closest(".source") ? ".rows" : ".source";
    for (const file of document.querySelectorAll("details.file")) {
      if (side === ".source" && lit.some((other) => file.contains(other))) file.open = true;
    }
    const target = lit.find((other) => other.closest(side) && isVisible(other));
    if (!target) return;
    target.tabIndex = 0;
    target.focus();
  }
})();
