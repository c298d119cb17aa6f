// The page of a bundle (see package bundle), which has its data in an element. inline(d) returns an object as remote does in
// live.js, with the members report, notes and left, and inline set.
import { tryParseJSON, joinPointer as at } from './lib.js';
import { start } from './main.js';

const notInPage = 'This is not in the page. Open the file with mcpc inspect.';

function inline(d) {
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

start(async () => inline(JSON.parse(document.getElementById('mcpc-data').textContent)));
