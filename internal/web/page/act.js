// What can be done: actions with their keys, buttons and dialogs, questions and held messages.
import { useEffect, useRef, useState } from './vendor/hooks.mjs';
import { html, S, set, say, ask, close, query as shown, fail, clock, took, many, quote, tryParse, link, views } from './lib.js';
import { Dialog, Form, Tree, Link, Markdown, nav, opened, defaults, copyText, tone } from './ui.js';
import { useDocs, turnTab } from './views.js';

let data;
export const useData = d => { data = d; };

const post = (name, body) => data.post('do/' + name, body);
const failed = x => tone(x.row || x) === 'failed' || (x.row || x).findings > 0;
const query = () => ({ ...shown(), only: S.only ? S.only.split(',') : undefined, sort: S.sort });
// focus goes to an element as soon as it is there: what is typed next belongs to it.
function focus(id, tries = 60) {
  const e = document.getElementById(id);
  if (e) e.focus(); else if (tries) requestAnimationFrame(() => focus(id, tries - 1));
}
// toFilter goes to the filter: what is typed there is another word.
function toFilter() {
  const line = document.getElementById('filter');
  if (/\S$/.test(S.filter)) set({ filter: line.value = S.filter + ' ' });
  focus('filter');
  line.setSelectionRange(line.value.length, line.value.length);
}
export const allOf = (filter, word) => filter.split(/\s+/).includes(word) ? filter.split(/\s+/).filter(w => w !== word).join(' ') : `${filter} ${word}`.trim();
// seek shows the exchanges of all conversations that a filter selects. Enter is theirs then.
export const seek = filter => document.activeElement.blur() ?? set({ filter, only: '', talk: '', first: false, view: ['talk', 'table', 'time'].includes(S.view) ? S.view : 'talk' });
export const onlyLike = word => set({ filter: `${S.filter} ${word}`.trim(), view: ['talk', 'table', 'time'].includes(S.view) ? S.view : 'table', dialog: null });
const row = () => !!S.row;
const some = list => () => S[list].length > 0;
const power = name => () => S.powers[name] ? '' : data.inline ? 'a bundle is read only' : ['mark', 'export'].includes(name) ? 'not possible here' : `start with --allow=${name}`;

// Each action: key, name, function, when it has something to act on, and why it is not allowed.
const actions = [
  ...views.map(([view, name], i) => ({ key: String(i + 1), name: `View: ${name}`, run: () => set({ view }) })),
  { key: 'j', name: 'Next', run: () => move(1) }, { key: 'k', name: 'Previous', run: () => move(-1) },
  { key: 'g', name: 'First', run: () => { set({ follow: false }); nav.list && nav.list.to(false); } },
  { key: 'G', name: 'Newest, and follow it', run: () => { set({ follow: true }); nav.list && nav.list.to(true); } },
  { key: '/', name: 'Filter', run: toFilter },
  { key: ']', name: 'Next that failed or has findings', run: () => find(1) }, { key: '[', name: 'Previous that failed or has findings', run: () => find(-1) },
  { key: 'Enter', name: 'Open the detail', when: row, run: () => { set({ detail: true }); focus('panel'); } },
  { key: 'Escape', name: 'Close, go back', run: () => set(S.detail ? { detail: false } : S.only ? { only: '' } : { toast: '' }) },
  { key: 'p', name: () => S.paused ? 'Go on' : 'Pause the view', run: () => set({ paused: !S.paused, seq: S.status.seq }) },
  { key: 'c', name: 'Hide what came until now', when: () => !data.inline, run: () => set({ filter: `${S.filter.replace(/(^| )since:\S*/g, '')} since:${clock(Date.now())}`.trim() }) },
  { key: 'C', name: 'Show everything', run: () => set({ filter: '', only: '', talk: '', first: false }) },
  { key: 'S', name: 'Slowest first', run: () => set({ view: 'table', sort: S.sort === '-took' ? 'took' : '-took', follow: false }) },
  { key: 'o', name: () => S.only ? 'All exchanges' : 'Only this exchange', when: () => row() || S.only, run: () => set({ only: S.only ? '' : S.row }), bar: true },
  { key: 'f', name: 'Only like this…', when: row, run: () => withRow(r => openMenu('filter', r)), bar: true },
  { key: 'F', name: 'Not like this…', when: row, run: () => withRow(r => openMenu('not', r)), bar: true },
  { key: 'y', name: 'Copy…', when: row, run: () => withRow(r => openMenu('copy', r)), bar: true },
  { key: 'r', name: 'Send again', when: row, need: power('resend'), run: () => send('resend', { key: S.row }), bar: true },
  { key: 'E', name: 'Edit and send again…', when: row, need: power('resend'), run: () => ask('edit', { key: S.row }), bar: true },
  { key: 't', name: 'Try a tool…', need: power('call'), run: () => S.view === 'tools' && nav.item ? tryTool(nav.item) : withRow(r => tryTool(null, r)) },
  { key: 'm', name: 'Mark', when: row, need: power('mark'), run: () => withRow(r => mark(r, !r.mark, r.note || '')), bar: true },
  { key: 'n', name: 'Note…', when: row, need: power('mark'), run: () => withRow(row => ask('note', { row })), bar: true },
  { key: 'a', name: 'Answer the server', when: some('questions'), run: () => focus('questions') },
  { key: 'i', name: 'Hold messages…', need: power('intercept'), run: () => ask('intercept') },
  { key: 'I', name: 'Hold nothing, let all go', need: power('intercept'), run: () => intercept(false, '') },
  { key: 'e', name: 'Edit the held message', when: some('held'), run: () => focus('held-text') },
  { key: 'd', name: 'Drop the held message', when: some('held'), need: power('intercept'), run: () => post('drop', { id: S.held[0].id }).catch(fail) },
  { key: 'x', name: 'Export…', need: power('export'), run: () => ask('export') },
  { key: 'D', name: 'Compare conversations…', when: () => !data.inline, run: () => ask('compare') },
  { key: '?', name: 'Keys and actions', run: () => ask('palette') },
  { key: ':', name: 'Command', run: () => ask('palette') },
];
const nameOf = a => typeof a.name === 'function' ? a.name() : a.name;
const why = a => a.need && a.need() || (a.when && !a.when() ? 'nothing to act on' : '');

function run(a) {
  const no = why(a);
  if (no) set({ toast: `${nameOf(a)}: ${no}`, bad: true }); else a.run();
}
export const act = key => run(actions.find(a => a.key === key));
function move(d) {
  set({ follow: false });
  if (nav.list) nav.list.move(d);
}
function find(d) {
  set({ follow: false });
  if (nav.list && nav.list.find) nav.list.find(d, failed);
}
function withRow(f) {
  if (S.picked && S.picked.key === S.row || !S.row) return f(S.picked);
  reading++;
  data.get('row', { key: S.row }).then(d => { set({ picked: d.row }); f(d.row); }).catch(fail).finally(() => { reading--; typeAhead(); });
}

// ahead are the keys that were typed while an action reads what it needs, or until its dialog is drawn: they are for the
// dialog, or else for the page. catchKey keeps them, and typeAhead types them there, each after what the last one changed
// was drawn.
let reading = 0, ahead = [], typing = false;
const opening = () => reading > 0 || S.dialog && !document.querySelector('dialog[open]');
export function catchKey(e) {
  if (!e.isTrusted || e.ctrlKey || e.altKey || e.metaKey || !opening() && !ahead.length || e.key.length > 1 && !['Enter', 'Escape'].includes(e.key)) return;
  e.preventDefault();
  e.stopPropagation();
  ahead.push(e.key);
}
async function typeAhead() {
  if (typing) return;
  typing = true;
  for (; ahead.length && !opening(); ahead.shift()) {
    type(ahead[0]);
    for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
  }
  typing = false;
}
opened(typeAhead);
function type(key) {
  const on = document.activeElement;
  if (key.length === 1 && on.matches('textarea, input:not([type=radio], [type=checkbox])')) {
    on.setRangeText(key, on.selectionStart, on.selectionEnd, 'end');
    on.dispatchEvent(new InputEvent('input', { bubbles: true, data: key }));
  } else if (key === 'Escape' && S.dialog) close();
  else if (key === 'Enter' && on.matches('button')) on.click();
  else on.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
}

// onKey runs actions by their keys, but for those that belong to an input or a button.
export function onKey(e) {
  if (e.ctrlKey || e.altKey || e.metaKey || e.defaultPrevented || S.dialog) return;
  const on = e.target, typing = on.matches('input, textarea, select');
  if (typing) {
    if (e.key === 'Escape') on.blur();
    return;
  }
  if ((e.key === 'Enter' || e.key === ' ') && on.matches('button, a, summary')) return;
  const turn = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
  if (turn && S.detail) {
    e.preventDefault();
    return turnTab(turn);
  }
  if ((e.key === '+' || e.key === '=' || e.key === '-') && nav.list && nav.list.zoom) return void nav.list.zoom(e.key === '-' ? 1 / 0.6 : 0.6);
  const a = actions.find(x => x.key === e.key);
  if (!a) return;
  e.preventDefault();
  run(a);
}

// Button is an action; what is not allowed stays visible, with the reason.
export function Button({ k, short }) {
  const a = actions.find(x => x.key === k), no = why(a);
  return html`<button class="act" aria-disabled=${no ? 'true' : undefined} title=${`${nameOf(a)} (${k})${no ? ': ' + no : ''}`} onClick=${() => run(a)}>${short || nameOf(a)} <kbd>${k}</kbd>${no && a.need && a.need() ? html`<span class="sr">: ${no}</span>` : ''}</button>`;
}
export function Actions() {
  const list = actions.filter(a => a.bar), no = [...new Set(list.map(a => a.need && a.need()).filter(Boolean))];
  return html`<div class="buttons" role="toolbar" aria-label="This exchange">${list.map(a => html`<${Button} k=${a.key} />`)}${no.map(t => html`<span class="dim">Disabled: ${t}</span>`)}</div>`;
}

const mark = (r, on, note) => post('mark', { key: r.key, mark: on, note }).then(() => say(on ? 'Marked.' : 'Not marked any more.', { picked: { ...r, mark: on, note }, marks: (S.marks || 0) + 1, marked: on ? r.key : S.marked }), fail);
const intercept = (on, filter) => post('intercept', { on, filter }).then(() => say(on ? 'Messages are held.' : 'Nothing is held.', { dialog: null }), fail);

// sent shows what became of a request, and asks where the tool may change something.
function sent(again, back) {
  return s => {
    set({ dialog: null, toast: '' });
    if (s.confirm) return ask('confirm', { text: s.confirm, back, yes: () => { close(); again(); } });
    set({ toast: `${s.channel || 'sent'}${s.text ? ': ' + s.text : ''}`, bad: s.channel && s.channel !== 'ok', ...(s.key ? { row: s.key, picked: null, detail: true, tab: 'answer', follow: false } : {}) });
  };
}
// send closes the dialog, so that a question of the server can be answered. It comes back where nothing was sent.
function send(name, body, dialog = S.dialog) {
  const stop = new AbortController(), back = () => set({ dialog });
  say(name === 'call' ? 'Calling…' : 'Sending…', { dialog: null, stop });
  return data.post('do/' + name, body, stop.signal).then(sent(() => send(name, { ...body, confirmed: true }, dialog), back), e => {
    if (!S.dialog) back();
    if (stop.signal.aborted) say('Cancelled.'); else fail(e);
  })
    .finally(() => S.stop === stop && set({ stop: null }));
}
export function tryTool(tool, r) {
  const no = power('call')();
  if (no) set({ toast: 'Try a tool: ' + no, bad: true }); else ask('try', { tool, row: r });
}
export const openMenu = (menu, r) => ask('menu', { menu, row: r });

// menuOf lists the choices for a row: key, name, what they do.
function menuOf(menu, r) {
  if (menu === 'copy') return [['m', 'as mcpc command', 'mcpc'], ['c', 'as curl', 'curl'], ['d', 'as Markdown', 'markdown'], ['j', 'as JSON', 'json'], ['r', 'the request', 'request'], ['k', 'the number', '']].map(([key, name, form]) => ({
    key, name, run: () => { close(); if (form && data.inline) fail(new Error('A bundle has no copies: mcpc export makes them.')); else form ? post('copy', { key: r.key, form }).then(t => copyText(t.text), fail) : copyText(r.key); } }));
  const words = [r.name && 'name:' + quote(r.name), r.method && 'method:' + quote(r.method), 'channel:' + quote(r.channel), r.failed && 'is:error', r.server && 'server:' + quote(r.server), r.client && 'client:' + quote(r.client), r.http && 'http:' + r.http, r.seconds > 0.01 && 'dur:>' + Math.round(r.seconds * 1000) + 'ms', 'dir:' + r.dir].filter(Boolean);
  return words.map((w, i) => ({ key: String(i + 1), name: (menu === 'not' ? '-' : '') + w, code: true, run: () => onlyLike((menu === 'not' ? '-' : '') + w) }))
    .concat(menu === 'filter' ? words.slice(0, 2).map((w, i) => ({ key: 'ab'[i], name: '-' + w, code: true, run: () => onlyLike('-' + w) })) : []);
}

function Menu({ menu, row: r }) {
  const list = menuOf(menu, r);
  return html`<${Dialog} title=${{ copy: 'Copy', filter: 'Only like this', not: 'Not like this' }[menu]}><div class="menu" onKeyDown=${e => { const x = list.find(a => a.key === e.key); if (x) { e.preventDefault(); x.run(); } }}>
    ${list.map(x => html`<button onClick=${x.run}><kbd>${x.key}</kbd> ${x.code ? html`<code>${x.name}</code>` : x.name}</button>`)}</div><//>`;
}

// Palette finds actions by their names. Other text is a filter.
function Palette() {
  const [text, setText] = useState('');
  const words = text.toLowerCase().split(/\s+/);
  const list = actions.filter(a => words.every(w => `${nameOf(a)} ${a.key}`.toLowerCase().includes(w)));
  const go = a => { close(); requestAnimationFrame(() => run(a)); };
  const enter = e => {
    if (e.key !== 'Enter') return;
    e.preventDefault();
    if (list.length) go(list[0]); else set({ dialog: null, filter: text.replace(/^filter\s+/, '') });
  };
  return html`<${Dialog} wide title="Keys and actions"><input class="full" aria-label="Action, or a filter" placeholder="Action, or a filter" value=${text} onInput=${e => setText(e.target.value)} onKeyDown=${enter} />
    <div class="menu keys">${list.map(a => html`<button aria-disabled=${why(a) ? 'true' : undefined} onClick=${() => go(a)}><kbd>${a.key}</kbd> ${nameOf(a)} <span class="dim">${why(a)}</span></button>`)}
    ${!list.length && html`<p class="dim">Enter shows what fits <code>${text}</code>.</p>`}</div><//>`;
}

// onceOf leaves out tools that are called in the same way as one before them, by the same server.
function onceOf(tools) {
  const seen = new Set(), same = t => JSON.stringify([t.name, t.server, t.command || t.target]);
  return tools.filter(t => !seen.has(same(t)) && seen.add(same(t)));
}
const nameOfServer = t => [...new Set([t.server, t.target])].filter(Boolean).join(', ');

// EditCall is the dialog for a request that is sent again, or a tool that is tried.
function EditCall({ dialog }) {
  const { kind, key, row: r } = dialog, found = useDocs(data, 'tools', {}, true);
  // Not the page that no client fetched. A server that was recorded under several targets is listed once.
  const tools = onceOf((found || []).filter(t => t.inputSchema || t.called));
  const [tool, setTool] = useState(dialog.tool);
  const [text, setText] = useState(dialog.text ?? null);
  const [d, setD] = useState(null);
  const [warned, setWarned] = useState(false);
  useEffect(() => { if (kind === 'edit') data.get('row', { key }).then(setD, fail); }, []);
  useEffect(() => { if (kind === 'try') setTool(was => tools.find(t => was ? t.name === was.name && t.target === was.target : r && r.method === 'tools/call' && t.name === r.name && t.target === r.target) || was); }, [tools.length]);
  const message = d && d.request ? tryParse(d.request.text).value : null;
  const asCall = message && message.params && message.params.arguments, schema = kind === 'try' ? tool && tool.inputSchema : asCall ? d.inputSchema : null;
  useEffect(() => {
    if (dialog.text && (!tool || tool.name === dialog.tool.name && tool.target === dialog.tool.target)) return;
    if (kind === 'try' && tool) setText(JSON.stringify(defaults(tool.inputSchema), null, 2));
    if (message) setText(JSON.stringify(asCall || message, null, 2));
  }, [tool && tool.target + tool.name, d]);
  const { value, error } = tryParse(text || '{}');
  const go = () => {
    if (error && !warned) return setWarned(true);
    if (error) return fail(new Error('Only JSON can be sent: ' + error));
    if (tool && tool.refused) return fail(new Error(tool.refused));
    Object.assign(dialog, { tool, text });
    if (kind === 'try') send('call', { target: tool.target, tool: tool.name, arguments: value }); else send('resend', { key, message: asCall ? { ...message, params: { ...message.params, arguments: value } } : value });
  };
  const command = tool && tool.command && text && tool.command.join(`'${(error ? text : JSON.stringify(value)).replaceAll("'", "'\\''")}'`);
  const servers = Object.values(Object.groupBy(tools, t => t.target)).sort((a, b) => !!a[0].refused - !!b[0].refused);
  return html`<${Dialog} wide title=${kind === 'try' ? 'Try a tool' : `Edit and send ${key} again`}><div onKeyDown=${e => { if (e.key === 'Enter' && (e.metaKey || e.ctrlKey)) { e.preventDefault(); go(); } }}>
    ${kind === 'try' && html`<label class="field"><span>Tool</span><select onChange=${e => setTool(tools[e.target.value])}><option value="-1" selected=${!tool}>Choose a tool</option>${servers.map(list => html`<optgroup disabled=${!!list[0].refused} label=${nameOfServer(list[0]) + (list[0].refused ? ': cannot be called from here' : '')}>
        ${list.map(t => html`<option value=${tools.indexOf(t)} selected=${tool && t.name === tool.name && t.target === tool.target}>${t.name}</option>`)}</optgroup>`)}</select></label>
      ${tool && tool.refused && html`<p class="wrong">${tool.refused}</p>`}
      ${tool && html`<p class="dim text">${nameOfServer(tool)}${tool.description && '\n' + tool.description}</p>`}`}
    ${text !== null ? html`<${Form} key=${tool ? tool.name : key} schema=${schema} text=${text} onText=${setText} label=${asCall || kind === 'try' ? 'Arguments' : 'Message'} />` : kind === 'edit' && html`<p class="dim">Reading…</p>`}
    ${command && html`<p class="command"><code>${command}</code> <button onClick=${() => copyText(command)}>Copy</button></p>`}
    ${warned && error && html`<p class="wrong">This is not JSON.</p>`}
    <div class="buttons end"><button class="main" disabled=${text === null || tool && tool.refused} onClick=${go}>${kind === 'try' ? 'Call' : 'Send'} <kbd>Ctrl ↵</kbd></button></div></div><//>`;
}

function Note({ row: r }) {
  const [text, setText] = useState(r.note || '');
  return html`<${Dialog} title=${'Note on ' + r.key}><textarea class="full" rows="4" aria-label="Note" value=${text} onInput=${e => setText(e.target.value)}></textarea>
    <div class="buttons end"><button class="main" onClick=${() => { close(); mark(r, true, text); }}>Keep</button></div><//>`;
}

function Intercept() {
  const [filter, setFilter] = useState(S.status.wanted || S.filter), input = useRef();
  const hold = () => intercept(true, input.current.value); // what is typed may not be drawn yet
  return html`<${Dialog} title="Hold messages"><p>Messages that fit are held until you let them go, at most 10 minutes. Empty: all.</p>
    <input ref=${input} class="full mono" aria-label="Message filter" value=${filter} onInput=${e => setFilter(e.target.value)} onKeyDown=${e => { if (e.key === 'Enter') { e.preventDefault(); document.getElementById('hold').focus(); } }} />
    <p class="dim">This is for all running taps and proxies. Enter goes to the button, and Enter there holds.</p>
    <div class="buttons end">${S.status.intercept && html`<button onClick=${() => intercept(false, '')}>Hold nothing</button>`}<button id="hold" class="main danger" onClick=${hold}>Hold</button></div><//>`;
}

const exportForms = [['bundle', 'Bundle: for a colleague; a double click opens it in a browser'], ['har', 'HAR'], ['markdown', 'Markdown'], ['jsonl', 'JSON lines'], ['saved', 'Saved calls'], ['html', 'HTML page']];
function Export() {
  const [form, setForm] = useState('bundle');
  const [marked, setMarked] = useState(false);
  const [seen, setSeen] = useState(null);
  const e = { ...query(), from: 0, count: 0, form, marked };
  useEffect(() => {
    let left = false;
    setSeen(null);
    post('preview', e).then(p => left || setSeen(p), x => left || setSeen({ error: x.message }));
    return () => { left = true; };
  }, [form, marked]);
  const save = () => data.file('do/export', e).then(f => {
    if (f.blob) {
      const a = Object.assign(document.createElement('a'), { href: URL.createObjectURL(f.blob), download: f.name });
      a.click();
      setTimeout(() => URL.revokeObjectURL(a.href), 60000);
    }
    say(`Saved ${f.name || f.done.file}.`, { dialog: null });
  }, fail);
  return html`<${Dialog} title="Export what is shown"><fieldset><legend>As</legend>${exportForms.map(([id, name]) => html`<label class="check"><input type="radio" name="form" checked=${id === form} onChange=${() => setForm(id)} />${name}</label>`)}</fieldset>
    <label class="check"><input type="checkbox" checked=${marked} onChange=${x => setMarked(x.target.checked)} />Only marked exchanges</label>
    <div class="callout" role="status">${!seen ? 'Counting…' : seen.error ? html`<span class="wrong">${seen.error}</span>` : html`<p>${many(seen.rows, 'exchange')}. ${seen.hidden ? many(seen.hidden, 'secret') + ' hidden.' : 'No secret had to be hidden.'}</p>
      ${(seen.doubts || []).length > 0 && html`<p class="wrong">Still looks like a secret:</p><ul>${seen.doubts.slice(0, 20).map(w => html`<li><code>${w}</code></li>`)}</ul>`}`}</div>
    <div class="buttons end"><button class="main" disabled=${!seen || seen.error || !seen.rows} onClick=${save}>${S.powers.files ? 'Write the file' : 'Download'}</button></div><//>`;
}

function Compare() {
  const list = S.conversations;
  // The one that is shown, and the newest other one, of the same server if there is one.
  const one = list.find(c => c.id === S.talk) || list.find(c => c.first) || {}, server = c => (c.server || c.target || '').split(' ')[0], same = c => server(c) === server(one);
  const byAge = (x, y) => x.began < y.began ? -1 : 1, [other] = list.filter(c => c !== one).sort((x, y) => same(y) - same(x) || byAge(y, x));
  const [before, after] = [one, other || {}].sort(byAge);
  const [a, setA] = useState(before.id), [b, setB] = useState(after.id);
  const found = useDocs(data, a && b && a !== b ? 'compare' : 'status', a && b && a !== b ? { a, b } : {}, true);
  const pick = (label, v, to) => html`<label class="field">${label} <select onChange=${e => to(e.target.value)}>${list.map(c => html`<option value=${c.id} selected=${c.id === v}>${clock(c.began)} ${c.client || c.by} → ${c.server || c.target}, ${many(c.rows, 'exchange')}</option>`)}</select></label>`;
  return html`<${Dialog} wide title="Compare conversations">${pick('From', a, setA)}${pick('To', b, setB)}
    ${!a || !b || a === b ? html`<p class="dim">Choose two conversations.</p>` : !found || !found.tools && !found.a ? html`<p class="dim">Reading…</p>` : [['Tools', found.tools], ['Schemas', found.schemas], ['Calls', found.calls], ['Timing', found.timing]].map(([name, x]) =>
      html`<h3>${name}</h3>${(x || []).length ? html`<ul>${x.slice(0, 200).map(t => html`<li>${t}</li>`)}</ul>` : html`<p class="dim">No difference.</p>`}`)}<//>`;
}

export function Dialogs() {
  const d = S.dialog;
  if (!d) return null;
  switch (d.kind) {
    case 'palette': return html`<${Palette} />`;
    case 'menu': return html`<${Menu} ...${d} />`;
    case 'edit': case 'try': return html`<${EditCall} dialog=${d} />`;
    case 'note': return html`<${Note} row=${d.row} />`;
    case 'intercept': return html`<${Intercept} />`;
    case 'export': return html`<${Export} />`;
    case 'compare': return html`<${Compare} />`;
    case 'report': return html`<${Dialog} wide title="Report"><${Markdown} text=${`${data.notes || ''}\n\n${data.report || ''}`} /><//>`;
    case 'text': return html`<${Dialog} title=${d.title}><pre>${d.text}</pre><//>`;
    case 'confirm': return html`<${Dialog} title="Send it?" onClose=${d.back}><p>${d.text}</p><div class="buttons end"><button onClick=${d.back}>Cancel</button><button class="main danger" onClick=${d.yes}>Send</button></div><//>`;
  }
}

// left counts down to the time when something is let through or cancelled.
const left = until => until && Date.parse(until) > 0 ? `${took(Math.max(0, (Date.parse(until) - Date.now()) / 1000))} left` : '';

function Question({ q, first }) {
  const sampling = q.method === 'sampling/createMessage', roots = q.method === 'roots/list';
  const [text, setText] = useState(JSON.stringify(sampling ? { role: 'assistant', content: { type: 'text', text: '' }, model: 'person' } : roots ? { roots: [] } : defaults(q.schema), null, 2));
  const answer = action => {
    const { value, error } = tryParse(text);
    if (action === 'accept' && error) return fail(new Error('The answer is not JSON: ' + error));
    post('answer', { id: q.id, action, ...(action === 'accept' && !q.url ? { content: value } : {}) }).then(() => say('Answered.'), fail);
  };
  const host = q.url && link(q.url) ? new URL(q.url).host : '';
  return html`<section class="ask" aria-label=${`${q.server} asks`}><h2 id=${first ? 'questions' : undefined} tabindex="-1">? ${q.server} asks: ${q.method}${q.watched && html` <span class="dim">in the place of the client</span>`} <span class="dim" aria-hidden="true">${left(q.until)}</span></h2>
    <p class="text">${q.message}</p>
    ${q.url ? html`<p>It wants you to open a page of <b>${host || 'an unknown host'}</b>: <${Link} url=${q.url} /></p>` : html`${(sampling || roots) && q.params && html`<${Tree} value=${q.params} open=${2} />`}<${Form} schema=${q.schema} text=${text} onText=${setText} label="Answer" />`}
    <div class="buttons"><button class="main" onClick=${() => answer('accept')}>Accept</button><span class="space"></span><button onClick=${() => answer('decline')}>Decline</button><button onClick=${() => answer('cancel')}>Cancel</button></div></section>`;
}

function Held({ m, first }) {
  const [text, setText] = useState(m.text);
  const [warned, setWarned] = useState(false);
  const shown = useRef(m.text), edited = text !== shown.current, error = edited && tryParse(text).error;
  const release = () => {
    if (error && !warned) return setWarned(true);
    post('release', { id: m.id, text: edited ? text : '' }).then(() => say(edited ? 'Let go, edited.' : 'Let go.'), fail);
  };
  const reveal = () => post('reveal', { id: m.id }).then(t => { shown.current = t.text; setText(t.text); }, fail);
  return html`<section class="ask held" aria-label=${`Held: ${m.method}`}><h2>‖ Held ${m.dir === 'sent' ? `${m.client} → ${m.server}` : `${m.server} → ${m.client}`}: ${m.method} ${m.name || ''} <span class="dim" aria-hidden="true">${left(m.until)}</span></h2>
    <textarea id=${first ? 'held-text' : undefined} class="json" rows=${Math.min(12, text.split('\n').length + 1)} spellcheck=${false} aria-label="Message" value=${text} onInput=${e => { setText(e.target.value); setWarned(false); }}
      onKeyDown=${e => e.key === 'Enter' && (e.ctrlKey || e.metaKey) && release()}></textarea>
    ${warned && error && html`<p class="wrong" role="alert">Not JSON: ${error}. Press again to send it as it is.</p>`}
    <div class="buttons"><button class="main" onClick=${release}>${edited ? 'Let go, edited' : 'Let go'}</button>${m.masked > 0 && text === m.text && html`<button onClick=${reveal}>Reveal ${many(m.masked, 'secret')}</button>`}<span class="space"></span>
      <button class="danger" onClick=${() => post('drop', { id: m.id }).then(() => say('Dropped.'), fail)}>Drop</button></div></section>`;
}

// Waiting stands above the view and leaves it readable.
export function Waiting() {
  const { held, questions } = S;
  if (!held.length && !questions.length) return null;
  return html`<div class="waiting">${held.slice(0, 20).map((m, i) => html`<${Held} key=${'h' + m.id} m=${m} first=${!i} />`)}${questions.slice(0, 20).map((q, i) => html`<${Question} key=${'q' + q.id} q=${q} first=${!i} />`)}</div>`;
}
