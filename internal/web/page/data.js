// The data of a running mcpc, or of a bundle (see package bundle). remote() and inline() return an object with the members
// title, powers, get, post, body, image, file and watch. maxHold, in seconds, and faults are only in the data of a running mcpc.
import { S, set, parseJSON, tryParseJSON, joinPointer as at } from './lib.js';

const storageKey = 'mcpc-page', connectionLost = 'The connection to mcpc is lost. Trying again.',
  notAdmitted = 'This page is not authorized: each address works for one page. Enter at the terminal of mcpc prints a new one to open here.';

export async function remote(session = sessionStorage) {
  const shown = new URLSearchParams(location.hash.slice(1)), token = shown.get('t');
  shown.delete('t');
  let door = JSON.parse(session.getItem(storageKey) || 'null');
  if (token) {
    history.replaceState(null, '', location.pathname + (shown.size ? '#' + shown : ''));
    door = await fetchOrThrow('/enter', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) }).then(r => r.json());
    session.setItem(storageKey, JSON.stringify(door));
  }
  if (!door) throw Object.assign(new Error(notAdmitted), { uninvited: true });
  const head = { 'X-Mcpc': door.key };
  const query = params => new URLSearchParams(Object.entries(params || {}).filter(([, v]) => v || v === 0));
  const get = (name, params, signal) => fetchOrThrow(`/api/${name}?${query(params)}`, { headers: head, signal })
    .catch(e => { throw Object.assign(e, { filter: params && params.filter }); });
  const postOnce = (name, body, signal) => fetchOrThrow('/api/' + name, { method: 'POST', headers: { ...head, 'Content-Type': 'application/json' }, body: JSON.stringify(body), signal });
  // post sends an action. If it needs a power that the user can give at the terminal, it asks there, and sends the action
  // again. An action that the user did not start (auto) does not ask.
  const post = (name, body, signal, auto) => postOnce(name, body, signal).catch(async e => {
    if (!e.allow || auto) throw e;
    await askAtTerminal(e.allow, signal);
    return postOnce(name, body, signal);
  });
  const asking = {};
  const askAtTerminal = (power, signal) => asking[power] ??= (async () => {
    const stop = new AbortController();
    signal?.addEventListener('abort', () => stop.abort());
    set({ asking: { power, stop } });
    try { await postOnce('do/allow', { power }, stop.signal); } finally { delete asking[power]; set({ asking: null }); }
    set({ powers: { ...S.powers, [power]: true } });
  })();
  return {
    title: door.title, powers: door.powers, asks: door.asks, maxHold: door.maxHold, faults: door.faults,
    get: (name, params, signal) => get(name, params, signal).then(r => r.json()),
    // The numbers of a catalog, in schemas and arguments, keep their digits.
    post: (name, ...more) => post(name, ...more).then(r => name === 'do/catalog' ? r.text().then(parseJSON) : r.json()),
    body: params => get('body', params).then(r => r.text()),
    image: params => get('image', params).then(r => r.blob()),
    // file returns the response to an export: a file to save, or a document about a file that mcpc wrote.
    file: (name, body) => post(name, body).then(async r => {
      const saved = /filename="(.*)"/.exec(r.headers.get('Content-Disposition') || '');
      return saved ? { name: saved[1], blob: await r.blob() } : { done: await r.json() };
    }),
    watch: (changed, lost) => void followEvents(get, changed, lost),
  };
}

async function fetchOrThrow(url, init) {
  const r = await fetch(url, init).catch(e => { throw e.name === 'AbortError' ? e : new Error(connectionLost); });
  if (r.ok) return r;
  const failure = await r.json().catch(() => ({}));
  throw Object.assign(new Error(failure.error || `HTTP ${r.status}`), { status: r.status, column: failure.column, allow: failure.allow });
}

// followEvents reads the events for as long as the page is open, with pauses from 0.5 s to 8 s.
async function followEvents(get, changed, lost) {
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      const reader = (await get('events')).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ''; ;) {
        const { value, done } = await reader.read();
        if (done) break;
        wait = 500;
        text += value;
        const lines = text.split('\n');
        text = lines.pop();
        const last = lines.filter(l => l.startsWith('data: ')).pop();
        if (last) changed(JSON.parse(last.slice(6)));
      }
      lost(connectionLost);
    } catch (e) {
      lost(e.status === 401 ? notAdmitted : e.message);
      if (e.status === 401) return;
    }
    await new Promise(r => setTimeout(r, wait));
  }
}

const notInPage = 'This is not in the page. Open the file with mcpc inspect.';

export function inline(d) {
  const rows = d.rows || [], details = d.details || {}, blocks = d.blocks || {};
  const index = rows.map(r => [r.method, r.name, r.channel, r.client, r.server, r.text, r.notes, r.id, r.key].join(' ').toLowerCase());
  const byKey = new Map(rows.map(r => [r.key, r]));
  const orders = { took: r => r.seconds, size: r => r.sent + r.received, first: r => r.firstByte || 0, name: r => r.name || '', method: r => r.method,
    channel: r => r.channel, server: r => r.server || '', client: r => r.client || '' };
  const select = q => {
    const words = (q.filter || '').toLowerCase().split(/\s+/).filter(Boolean).map(w => w.replace(/^-?[a-z]+:/, m => m[0] === '-' ? '-' : '').replaceAll(/["*]/g, ''));
    const only = q.only && new Set(q.only.split(','));
    const found = rows.filter((r, i) => (!q.talk || r.talk === q.talk) && (!only || only.has(r.key))
      && words.every(w => w[0] === '-' ? !index[i].includes(w.slice(1)) : w === 'error' ? r.failed : index[i].includes(w)));
    const by = orders[(q.sort || '').replace('-', '')];
    if (by) found.sort((a, b) => by(a) < by(b) ? -1 : by(a) > by(b) ? 1 : 0);
    return q.sort && q.sort[0] === '-' ? found.reverse() : found;
  };
  const page = q => {
    const found = select(q), from = Math.max(0, q.from < 0 ? found.length + q.from : q.from || 0);
    return { rows: found.slice(from, from + q.count), from, total: found.length };
  };
  const reads = {
    rows: page,
    talk: q => {
      const p = page(q);
      return { blocks: p.rows.map(row => ({ row, lines: blocks[row.key] || [{ dir: row.dir, time: row.time, kind: 'request', text: `${row.method} ${row.name || ''}` }] })), page: p };
    },
    conversations: () => d.conversations || [],
    row: q => details[q.key] || (byKey.has(q.key) ? { row: byKey.get(q.key), facts: [['body', notInPage]], lines: blocks[q.key] || [], frames: [] } : null),
    tools: () => d.tools || [], streams: () => d.streams || [], secrets: () => d.hidden || [],
    lanes: q => lanes(select(q), d.conversations || [], q),
    diff: q => ({ request: diff(of(q.a, 'request'), of(q.b, 'request')), response: diff(of(q.a, 'response'), of(q.b, 'response')) }),
    suggest: () => [], questions: () => [], held: () => [],
  };
  const of = (key, side) => {
    const body = details[key] && details[key][side];
    return body ? tryParseJSON(body.text).value : undefined;
  };
  const refuse = async () => { throw new Error(notInPage); };
  return {
    title: d.title || 'bundle', powers: {}, report: d.report, notes: d.notes, left: d.left, inline: true,
    get: async (name, q) => {
      const found = reads[name] && reads[name](q || {});
      if (!found) throw new Error(notInPage);
      return found;
    },
    post: refuse, body: refuse, image: refuse, file: refuse,
    watch: changed => changed({ seq: 1, rows: rows.length, title: d.title || 'bundle', file: true, open: rows.filter(r => r.channel === 'open').length, failed: rows.filter(r => r.failed).length }),
  };
}

// lanes returns a lane for each conversation. Exchanges that ran at the same time are on different levels of it.
function lanes(rows, conversations, q) {
  const all = new Map(conversations.map(c => [c.id, { talk: c.id, title: `${c.client} → ${c.server}`, bars: [], ends: [] }]));
  for (const r of rows) {
    const from = Date.parse(r.time), to = from + r.seconds * 1000, lane = all.get(r.talk);
    if (!lane || q.from && to < Date.parse(q.from) || q.to && from > Date.parse(q.to)) continue;
    let level = lane.ends.findIndex(end => end <= from);
    if (level < 0) level = lane.ends.length;
    lane.ends[level] = to;
    lane.bars.push({ key: r.key, from: r.time, to: new Date(to).toISOString(), level, label: `${r.method} ${r.name || ''}`, channel: r.channel, state: r.state, failed: r.failed, phases: r.phases });
  }
  return [...all.values()].filter(l => l.bars.length);
}

// diff returns the differences between two values, each with its JSON pointer.
function diff(a, b, path = '') {
  const both = a && b && typeof a === 'object' && typeof b === 'object' && Array.isArray(a) === Array.isArray(b);
  if (!both) return JSON.stringify(a) === JSON.stringify(b) ? [] : [{ pointer: path, was: a, is: b }];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].flatMap(k => diff(a[k], b[k], at(path, k)));
}
