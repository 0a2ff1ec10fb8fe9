// Follows the events with EventSource, in a browser or in Node, and tells the test several times a second how often each
// stream has been opened and which posts have come.
//
// Node: node follow.js http://HOST:PORT STREAMS, with the package eventsource in NODE_PATH.
"use strict";

function follow(EventSource, base, count) {
  let round = "", sources = [], seen = [];

  function open(i, query) {
    const s = new EventSource(base + "/v1/events" + query);
    // What comes with the answer's header has come a moment later.
    s.onopen = () => setTimeout(() => seen[i].opened++, 100);
    s.onerror = e => { if (s.readyState === EventSource.CLOSED) seen[i].gone = e.message || "closed"; };
    s.onmessage = e => seen[i].strays.push(e.data); // an event without a name
    s.addEventListener("dev.refrain.reuse.v1", e => seen[i].posts.push(JSON.parse(e.data).data.later.post));
    return s;
  }

  function begin(next, query) {
    round = next;
    for (const s of sources) s.close();
    seen = Array.from({ length: count }, () => ({ opened: 0, posts: [], strays: [], gone: "" }));
    sources = seen.map((_, i) => open(i, query));
  }

  async function report() {
    try {
      const answer = await fetch(base + "/report", { method: "POST", body: JSON.stringify({ round, streams: seen }) });
      const [next, query] = (await answer.text()).split(" ");
      if (next !== "0" && next !== round) begin(next, query);
    } catch { /* the next report says the same */ }
    setTimeout(report, 100);
  }
  report();
}

if (typeof window === "undefined") follow(require("eventsource").EventSource, process.argv[2], Number(process.argv[3]));
