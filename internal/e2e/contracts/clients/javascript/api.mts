// Drives a server through openapi-fetch with the types that openapi-typescript makes of openapi.yaml: it posts the lines on
// stdin, follows the events up to the first, looks a text up, asks what a post repeats, and deletes it: api.mts URL ID TEXT.
// What came of it is a line of JSON.
import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./refrain.js";

const [url, id, text] = process.argv.slice(2) as [string, string, string];
const client = createClient<paths>({ baseUrl: url });

// ok is the data of an answer; a problem is an error.
function ok<T>({ data, error }: { data?: T; error?: components["schemas"]["Problem"] }): T {
  if (data === undefined) throw new Error(`${error?.status} ${error?.title}: ${error?.detail}`);
  return data;
}

// firstEvent follows a stream that does not end, and stops it.
async function firstEvent(): Promise<components["schemas"]["Event"]> {
  const stop = new AbortController();
  const stream = ok<ReadableStream<Uint8Array> | null>(
    await client.GET("/v1/events", {
      params: { query: { from: "start", format: "ndjson" } },
      parseAs: "stream",
      signal: stop.signal,
    }),
  )!;
  const utf8 = new TextDecoder();
  let came = "";
  for await (const piece of stream) {
    came += utf8.decode(piece, { stream: true });
    if (came.includes("\n")) break;
  }
  stop.abort();
  return JSON.parse(came.split("\n")[0]!);
}

const posted = ok(
  await client.POST("/v1/posts", {
    body: readFileSync(0, "utf8"),
    bodySerializer: (lines) => lines,
    headers: { "Content-Type": "application/x-ndjson" },
  }),
);
const event = await firstEvent();
if (event.type !== "dev.refrain.reuse.v1") throw new Error(event.type);
let matches = 0;
while (matches === 0) matches = ok(await client.POST("/v1/match", { body: { text } })).sentences[0]!.matches.length;
const post = { params: { path: { id } } };
let repeats = 0;
while (repeats === 0) repeats = ok(await client.GET("/v1/posts/{id}/reuse", post)).repeats.length; // the index follows
const deleted = await client.DELETE("/v1/posts/{id}", post);
let problem: string | undefined;
while (!problem) problem = (await client.GET("/v1/posts/{id}/reuse", post)).error?.type; // nor is it gone at once
console.log(
  JSON.stringify({
    Accepted: posted.accepted, Event: event.id, Deleted: deleted.response.status, Problem: problem,
  }),
);
