// The script of the page. Without it everything works too, but only when a form is sent.
"use strict";

// A form with data-live="ID" is sent while somebody types, and what the server answers
// replaces the content of the element with that ID. Elements in it with data-keep="NAME" that
// were opened stay open.
for (const form of document.querySelectorAll("form[data-live]")) {
  const target = document.getElementById(form.dataset.live);
  let timer, request;

  const ask = async () => {
    clearTimeout(timer);
    request?.abort();
    const mine = (request = new AbortController());
    const fields = new URLSearchParams(new FormData(form));
    const post = form.method === "post";
    const address = new URL(form.action);
    if (!post) address.search = fields;
    target.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(address, {
        method: form.method,
        body: post ? fields : undefined,
        headers: { "X-Part": "1" },
        credentials: "same-origin",
        signal: mine.signal,
      });
      if (answer.status === 401) return location.reload();
      if (!answer.headers.get("Content-Type")?.startsWith("text/html")) throw new Error(await answer.text());
      const text = await answer.text();
      const open = new Set([...target.querySelectorAll("details[open][data-keep]")].map((d) => d.dataset.keep));
      target.innerHTML = text; // escaped by the server
      for (const d of target.querySelectorAll("details[data-keep]")) d.open ||= open.has(d.dataset.keep);
      const status = document.getElementById("status");
      if (status) status.textContent = target.querySelector("[data-status]")?.textContent ?? "";
      if (!post) history.replaceState(null, "", address);
    } catch (e) {
      if (e.name === "AbortError") return;
      const p = document.createElement("p");
      p.className = "bad";
      p.setAttribute("role", "alert");
      p.textContent = e instanceof TypeError ? "The server does not answer. Is it still running?" : e.message;
      target.replaceChildren(p);
    }
    if (mine === request) target.removeAttribute("aria-busy");
  };

  form.addEventListener("input", (e) => {
    clearTimeout(timer);
    timer = setTimeout(ask, e.target.matches("textarea, [type=search]") ? 120 : 0);
  });
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    ask();
  });
  for (const b of form.querySelectorAll("button[data-without-script]")) b.hidden = true;
  // A browser may have kept what was typed before the page was loaded again.
  const text = form.querySelector("textarea");
  if (text) addEventListener("pageshow", () => text.value !== text.defaultValue && ask());
}

// The key "/" leads to the field with data-key.
document.addEventListener("keydown", (e) => {
  const field = document.querySelector("[data-key]");
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || !field) return;
  if (e.target.matches("input, textarea, select, [contenteditable]")) return;
  e.preventDefault();
  field.focus();
  field.select();
});
