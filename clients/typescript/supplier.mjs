// Works the supplier process through the official TypeScript clients, as an agent, a person and an operator would.
//
//   node supplier.mjs DIR/dev.json sdk|client-legacy|client-modern
//
// `sdk` is @modelcontextprotocol/sdk; `client-…` is @modelcontextprotocol/client in the handshake era and in 2026-07-28.

import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [, , devFile, library] = process.argv;
const dev = JSON.parse(readFileSync(devFile, 'utf8'));
setTimeout(() => { console.error('timed out'); process.exit(1); }, 60_000).unref();

async function connect(name) {
  const info = { name: 'quorate-client-tests', version: '1.0.0' };
  const init = { requestInit: { headers: { Authorization: `Bearer ${dev.tokens[name]}` } } };
  const url = new URL(dev.mcp[0]);
  let client, transport;
  if (library === 'sdk') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    client = new Client(info);
    transport = new StreamableHTTPClientTransport(url, init);
  } else {
    const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
    const mode = library === 'client-modern' ? { pin: '2026-07-28' } : 'legacy';
    client = new Client(info, { versionNegotiation: { mode } });
    transport = new StreamableHTTPClientTransport(url, init);
  }
  await client.connect(transport);
  return client;
}

async function call(client, name, args = {}) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: the envelope never sets isError`);
  assert.equal(result.content.length, 1);
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

const good = (envelope) => { assert.ok(envelope.ok, JSON.stringify(envelope)); return envelope.data; };
const refused = (envelope, code) => {
  assert.ok(!envelope.ok && envelope.error.code === code, `expected ${code}: ${JSON.stringify(envelope)}`);
  return envelope.error.issues ?? [];
};
const filled = (exact, more = {}) => ({ ...exact.arguments, ...more, requestId: randomUUID() });
const withoutUrls = (value) => JSON.parse(JSON.stringify(value, (key, v) => (key === 'url' ? undefined : v)));

async function findWork(client, runId) {
  for (let cursor; ;) {
    const page = good(await call(client, 'get_work', { limit: 100, ...(cursor && { cursor }) }));
    const item = page.items.find((i) => i.runId === runId);
    if (item) return item;
    cursor = page.nextCursor;
    assert.ok(cursor, `no work on ${runId}`);
  }
}

const [agent, fin, ops] = [await connect('agent-1'), await connect('fin@example.com'), await connect('ops@example.com')];

const listed = (await agent.listTools()).tools.map((t) => t.name).sort();
const described = good(await call(agent, 'describe'));
assert.deepEqual(listed, [...described.tools].sort());
assert.equal(listed.length, 14);

const names = [];
for (let cursor; ;) {
  const page = good(await call(agent, 'list_processes', cursor ? { cursor } : {}));
  names.push(...page.items.map((p) => p.name));
  cursor = page.nextCursor;
  if (!cursor) break;
}
assert.ok(names.includes('supplier-onboarding'));

const started = good(await call(agent, 'start_run', {
  process: 'supplier-onboarding', inputs: { vendorName: 'Acme', amount: 48000 }, requestId: randomUUID(),
}));
const runId = started.run.id;

let item = await findWork(agent, runId);
let claim = good(await call(agent, 'claim', filled(item.claim)));
const renewed = good(await call(agent, 'renew', { token: claim.token, progress: 'EU list done', requestId: randomUUID() }));
refused(await call(agent, 'submit', { token: claim.token, output: {}, summary: 'late', requestId: randomUUID() }), 'stale');

const issues = refused(await call(agent, 'submit', {
  token: renewed.token, output: { cleared: 'yes' }, summary: 'Searched.', requestId: randomUUID(),
}), 'not_accepted');
assert.ok(issues.includes('output.cleared: expected boolean') && issues.includes('evidence: file required'), issues.join('; '));

const report = Buffer.concat([Buffer.from('no hits \0'), Buffer.from([255]), Buffer.from(runId)]);
const stored = good(await call(agent, 'upload', {
  fileName: 'report.pdf', contentType: 'application/pdf', contentBase64: report.toString('base64'), requestId: randomUUID(),
}));
assert.equal(stored.sha256, createHash('sha256').update(report).digest('hex'));

const work = {
  output: { cleared: true, summary: 'No hits.' }, evidence: [{ kind: 'file', ref: stored.id }],
  summary: 'Searched both lists by legal name.', next: 'approve', reason: 'Cleared on both lists.',
};
const submit = { token: renewed.token, ...work, requestId: randomUUID() };
const first = await call(agent, 'submit', submit);
assert.equal(good(first).run.state, 'waiting');
assert.deepEqual(withoutUrls(await call(agent, 'submit', submit)), withoutUrls(first), 'a replay is the original result');

item = (await findWork(fin, runId)).workItem;
refused(await call(agent, 'decide', filled(item.decide, { decision: 'approved' })), 'forbidden');
let view = good(await call(fin, 'decide', filled(item.decide, { decision: 'rejected', note: 'Which aliases?' })));
assert.equal(view.data.steps.check_vendor.history.length, 1);

claim = good(await call(agent, 'claim', filled((await findWork(agent, runId)).claim)));
assert.equal(claim.data.steps.approve.decision, 'rejected');
view = good(await call(agent, 'escalate', { token: claim.token, note: 'The alias list is locked.', requestId: randomUUID() }));
assert.equal(view.workItems[0].escalation.note, 'The alias list is locked.');

item = (await findWork(ops, runId)).workItem;
good(await call(ops, 'decide', filled(item.decide, { decision: 'returned', note: 'Access granted.' })));
claim = good(await call(agent, 'claim', filled((await findWork(agent, runId)).claim)));
assert.equal(claim.handoff.returned.note, 'Access granted.');
good(await call(agent, 'submit', { token: claim.token, ...work, requestId: randomUUID() }));

item = (await findWork(fin, runId)).workItem;
const done = good(await call(fin, 'decide', filled(item.decide, { decision: 'approved' })));
assert.equal(done.run.outcome, 'onboarded');
const evidence = good(await call(agent, 'get_run', { runId })).data.steps.check_vendor.evidence[0];
const fetched = await fetch(evidence.url);
assert.equal(fetched.headers.get('x-content-type-options'), 'nosniff');
assert.ok(fetched.headers.get('content-disposition').startsWith('attachment'));
assert.deepEqual(Buffer.from(await fetched.arrayBuffer()), report);
refused(await call(ops, 'cancel', { runId, reason: 'too late', requestId: randomUUID() }), 'conflict');

for (const client of [agent, fin, ops]) await client.close();
console.log(`typescript ${library}: ${runId} onboarded`);
