// Searches the sections of search.json for the words of a text.
"use strict";

function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];
}

// count returns how often a word, or one that it begins, is among others.
function count(words, word) {
  return words.reduce((n, w) => n + (w === word ? 1 : word.length > 2 && w.startsWith(word) ? 0.5 : 0), 0);
}

// find returns at most 12 sections, best first. A section needs all words of the text; only if
// none has all, those with most of them count. Rare words weigh more, and words of headings most.
function find(sections, text) {
  const wanted = [...new Set(wordsOf(text))];
  for (const s of sections) {
    s.words = s.words || { title: wordsOf(s.title), page: wordsOf(s.page), text: wordsOf(s.text) };
  }
  const hits = sections.map((s) => ({
    section: s,
    has: wanted.map((w) => 8 * count(s.words.title, w) + 2 * count(s.words.page, w) + Math.log2(1 + count(s.words.text, w))),
  }));
  const rarity = wanted.map((_, i) => Math.log(1 + sections.length / (1 + hits.filter((h) => h.has[i] > 0).length)));
  for (const h of hits) {
    h.matched = h.has.filter((x) => x > 0).length;
    h.score = h.has.reduce((sum, x, i) => sum + x * rarity[i], 0);
  }
  const most = Math.max(0, ...hits.map((h) => h.matched));
  return hits.filter((h) => h.matched > 0 && h.matched === most).sort((a, b) => b.score - a.score).slice(0, 12).map((h) => h.section);
}

function show(list, sections, text) {
  list.replaceChildren();
  const found = find(sections, text);
  for (const s of found) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = s.link;
    link.textContent = s.title;
    item.append(link);
    if (s.page !== s.title) {
      const page = document.createElement("small");
      page.textContent = s.page;
      item.append(page);
    }
    list.append(item);
  }
  if (text.trim() && !found.length) {
    list.append(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
  }
}

if (typeof document !== "undefined") {
  const form = document.getElementById("search");
  const list = document.getElementById("found");
  let sections; // is fetched at the first letter
  const search = async () => {
    sections = sections || fetch("search.json").then((r) => r.json());
    show(list, await sections, form.q.value);
  };
  form.addEventListener("input", search);
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    const first = list.querySelector("a");
    if (first) location.assign(first.href);
  });
} else {
  module.exports = { find };
}
