// Steps of iceberg-js' story, one per call: story.mjs URL STEP, with the packages in the folder
// MODULES. Prints what the client saw as JSON; story.py asserts on that and on the catalog.
import { createRequire } from "node:module";

const { IcebergRestCatalog, IcebergError, getCurrentSchema } = createRequire(process.env.MODULES + "/")("iceberg-js");
const [url, step] = process.argv.slice(2);

const schema = (...names) => ({
  type: "struct",
  "schema-id": 0,
  fields: names.map((name, i) => ({ id: i + 1, name, type: "string", required: false })),
});
const connect = (fetch) => new IcebergRestCatalog({ baseUrl: url, warehouse: "main", fetch });
const key = (init) => new Headers(init.headers).get("Idempotency-Key");

async function refused(call) {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof IcebergError)) throw error;
    return { status: error.status, type: error.icebergType, conflict: error.isConflict(), missing: error.isNotFound() };
  }
  return null;
}

// Sends every change twice under its key, as after an answer that was lost; the client sees the second.
function repeating(seen) {
  return async (target, init) => {
    const first = await fetch(target, init);
    if (init.method === "GET" || init.method === "HEAD") return first;
    const second = await fetch(target, init);
    const copies = [first, second.clone()];
    seen.push({
      what: `${init.method} ${new URL(target).pathname}`,
      key: key(init),
      statuses: copies.map((answer) => answer.status),
      tags: copies.map((answer) => answer.headers.get("etag")),
      bodies: await Promise.all(copies.map((answer) => answer.text())),
    });
    return second;
  };
}

async function mutations() {
  const seen = [];
  const catalog = connect(repeating(seen));
  const ns = { namespace: ["keys", "inner"] };
  const table = { ...ns, name: "t" };
  const moved = { namespace: ["keys"], name: "moved" };
  await catalog.createNamespace(ns, { properties: { owner: "story", old: "1" } });
  await catalog.updateNamespaceProperties(ns, { updates: { a: "1" }, removals: ["old"] });
  const made = await catalog.createTableResult(ns, { name: "t", schema: schema("a", "b"), properties: { p: "0" } });
  await catalog.commitTable(table, {
    requirements: [{ type: "assert-table-uuid", uuid: made.metadata["table-uuid"] }],
    updates: [
      { action: "set-properties", updates: { p: "1" } },
      { action: "add-schema", schema: schema("a", "b", "c") },
      { action: "set-current-schema", "schema-id": -1 },
    ],
  });
  const stale = await refused(catalog.commitTable(table, {
    requirements: [{ type: "assert-current-schema-id", "current-schema-id": 0 }],
    updates: [{ action: "set-properties", updates: { p: "2" } }],
  }));
  const twice = await refused(catalog.createNamespace(ns));
  await catalog.renameTable({ source: table, destination: moved });
  const loaded = await catalog.loadTableResult(moved);
  await catalog.createTable(ns, { name: "other", schema: schema("x") });
  await catalog.dropTable({ ...ns, name: "other" }, { purge: true });
  await catalog.dropTable(moved);
  await catalog.registerTable(ns, { name: "back", "metadata-location": loaded["metadata-location"] });
  await catalog.createNamespace({ namespace: ["short"] });
  await catalog.dropNamespace({ namespace: ["short"] });
  return { seen, stale, twice, columns: getCurrentSchema(loaded.metadata).fields.map((field) => field.name) };
}

// A key that was used for another request is refused, and nothing is done.
async function otherRequest() {
  let last;
  const catalog = connect((target, init) => {
    if (!key(init)) return fetch(target, init);
    last ??= key(init);
    return fetch(target, { ...init, headers: { ...init.headers, "Idempotency-Key": last } });
  });
  await catalog.createNamespace({ namespace: ["first"] });
  return { refused: await refused(catalog.createNamespace({ namespace: ["second"] })),
    there: await catalog.namespaceExists({ namespace: ["second"] }) };
}

async function conditional() {
  const answers = [];
  let coding = "gzip";
  const catalog = connect(async (target, init) => {
    const answer = await fetch(target, { ...init, headers: { ...init.headers, "Accept-Encoding": coding } });
    answers.push([answer.status, answer.headers.get("content-encoding")]);
    return answer;
  });
  const ns = { namespace: ["tags"] };
  const table = { ...ns, name: "wide" };
  await catalog.createNamespace(ns);
  const wide = schema(...Array.from({ length: 400 }, (_, i) => `column_${i}`));
  const made = await catalog.createTableResult(ns, { name: "wide", schema: wide });
  answers.length = 0;
  const loaded = await catalog.loadTableResult(table);
  const same = [await catalog.loadTable(table, { ifNoneMatch: made.etag }), await catalog.loadTable(table, { ifNoneMatch: loaded.etag })];
  const weak = await catalog.loadTable(table, { ifNoneMatch: `"none", W/${loaded.etag.replace(/^W\//, "")}` });
  coding = "identity";
  const plain = await catalog.loadTable(table, { ifNoneMatch: loaded.etag });
  const whole = await catalog.loadTableResult(table);
  coding = "gzip";
  const refs = await catalog.loadTableResult(table, { ifNoneMatch: loaded.etag, snapshots: "refs" });
  await catalog.commitTable(table, { requirements: [], updates: [{ action: "set-properties", updates: { n: "1" } }] });
  const changed = await catalog.loadTableResult(table, { ifNoneMatch: loaded.etag });
  const settled = await catalog.loadTable(table, { ifNoneMatch: changed.etag });
  return { answers, tags: [made.etag, loaded.etag, whole.etag, changed.etag], same, weak, plain, settled,
    refs: refs && refs.etag, columns: loaded.metadata.schemas[0].fields.length, n: changed.metadata.properties.n };
}

async function names() {
  const catalog = connect();
  const ns = { namespace: ["a b", "ü/x%", "dot.ted"] };
  await catalog.createNamespaceIfNotExists(ns);
  await catalog.createNamespaceIfNotExists(ns);
  const all = ["t+t", "q?#", "日本", "per%20cent", "plain"];
  for (const name of all) await catalog.createTableIfNotExists(ns, { name, schema: schema("a") });
  const again = await catalog.createTableIfNotExists(ns, { name: all[0], schema: schema("a") });
  const pages = [];
  let pageToken = "";
  while (pageToken !== undefined) {
    const page = await catalog.listTables(ns, { pageSize: 2, pageToken });
    pages.push(page.identifiers.map((one) => one.name));
    pageToken = page.nextPageToken;
  }
  const whole = await catalog.listTables(ns);
  const there = await Promise.all(all.map((name) => catalog.tableExists({ ...ns, name })));
  const dropped = await refused(catalog.dropNamespace(ns));
  for (const name of all) await catalog.dropTable({ ...ns, name });
  return { pages, whole: whole.identifiers, there, dropped, uuid: again["table-uuid"],
    parent: (await catalog.listNamespaces({ parent: { namespace: ns.namespace.slice(0, 2) } })).namespaces,
    missing: await refused(catalog.loadTable({ ...ns, name: "none" })) };
}

async function config() {
  return connect().loadConfig();
}

const steps = { config, mutations, otherRequest, conditional, names };
console.log(JSON.stringify(await steps[step]()));
