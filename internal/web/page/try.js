// The Home and Try views: the servers, the login at one, and what a server offers, with a form for each request. The result is the
// detail of the recorded exchange.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.mjs';
import { html, S, set, showToast, openDialog, closeDialog, everything, showRow, showError, isAborted, tryParseJSON, formatSeconds, countNoun } from './lib.js';
import { List, Source, Tree, Dialog, Link, Pick, nav, takeKeys, onCtrlEnter, copyText } from './ui.js';
import { Form, defaultValues, hasArguments, dropGone } from './form.js';
import { useDocs } from './views.js';
import { Button, checkServers, post, postAndShow, postConfirmed, powerReason, addToFilter, logInTo, recordedCall } from './act.js';

// kinds lists the kinds of offers: id, plural, the verb of their request, and its method.
const kinds = [['tool', 'Tools', 'Call', 'tools/call'], ['prompt', 'Prompts', 'Get', 'prompts/get'], ['resource', 'Resources', 'Read', 'resources/read'], ['template', 'Templates', 'Read', 'resources/read'], ['task', 'Tasks', 'Get', 'tasks/get']];
const kindOf = id => kinds.find(k => k[0] === id) || kinds[0];

// catalogs has the state of each server that was tried: its catalog, the lists of offers by kind, error, reading.
// drafts has the text of each form. Both stay until the page is closed, also if the server dies.
const catalogs = new Map(), drafts = new Map(), subscribed = new Set();
const nothing = [], noLists = new Map();
const idOf = o => JSON.stringify([S.server, o.kind, o.name]);

// readCatalog asks a server what it offers. If the user did not start it (auto), it does not ask at the terminal.
function readCatalog(target, auto) {
  const was = catalogs.get(target) || {};
  if (was.reading) return;
  const version = S.status.catalogs || 0;
  catalogs.set(target, { ...was, reading: true });
  post('catalog', { target }, undefined, auto).then(catalog => {
    if (catalog.needsLogin) return catalogs.set(target, { login: true, error: catalog.needsLogin });
    const lists = new Map(catalog.lists.map(l => [l.kind, l.offers.map((o, i) => ({ ...o, at: String(i), words: [o.name, o.title, o.description].join('\n').toLowerCase() }))]));
    for (const [kind, list] of was.lists || noLists) for (const o of list) dropArguments(JSON.stringify([target, kind, o.name]), o, (lists.get(kind) || nothing).find(x => x.name === o.name));
    catalogs.set(target, { catalog, lists, version });
  }, e => {
    if (!isAborted(e)) catalogs.set(target, { ...was, error: e.message }); else if (was.catalog) catalogs.set(target, was); else catalogs.delete(target);
  }).finally(() => set({}));
}

// dropArguments removes the arguments from a draft that the schema of an offer had and that of the new offer has not.
function dropArguments(id, was, is) {
  const { value } = tryParseJSON(drafts.get(id) || ''), gone = [];
  if (!value || !is) return;
  const kept = dropGone(value, was.schema, is.schema, gone);
  if (!gone.length) return;
  drafts.set(id, JSON.stringify(kept, null, 2));
  showToast([S.toast, `${gone.join(', ')} ${gone.length > 1 ? 'are no arguments' : 'is no argument'} of ${is.name} any more.`].filter(Boolean).join('; '));
}

// search returns the offers that have all words, first the offers that have them in their name.
function search(list, words) {
  const isNamed = o => words.every(w => o.name.toLowerCase().includes(w)), found = list.filter(o => words.every(w => o.words.includes(w)));
  return [...found.filter(isNamed), ...found.filter(o => !isNamed(o))];
}

// isOpening is set until an offer that was opened by its name is drawn. Its form then gets the focus.
let isOpening = false;
// openTry shows a server, and one of its offers if it is named. The user chose the server, so it is asked at once.
export function openTry(server, kind = '', offer = '') {
  const no = powerReason('call')();
  if (no) return set({ toast: 'Try: ' + no, bad: true });
  if (!(catalogs.get(server) || {}).catalog) readCatalog(server);
  isOpening = !!offer;
  set({ view: 'try', server, kind, offer, detail: false, dialog: null });
}
// showTry shows the last server of Try, or else the server of the selected or the newest conversation that can be tried.
export function showTry() {
  const can = c => c && /(^|, )https?:\/\/|^demo$/.test(c.target), one = S.conversations.find(c => c.id === (S.picked ? S.picked.talk : S.talk));
  const target = S.server || S.status.own ? '' : ([one, ...S.conversations.toReversed()].find(can) || {}).target;
  if (target) openTry(target); else set({ view: 'try' });
}
// openTryOf shows the tool of the Tools view or the request of a row with its arguments, or what showTry shows if there is
// neither.
export function openTryOf(tool, r, data) {
  if (tool && tool.refused) return showError(new Error(tool.refused));
  const [kind] = r && kinds.find(k => k[3] === r.method) || [];
  if (tool) return openTry(tool.target, 'tool', tool.name);
  if (!kind) return showTry();
  recordedCall(data, r.key).then(({ input }) => {
    if (input) drafts.set(JSON.stringify([r.target, kind, r.name]), JSON.stringify(input, null, 2));
    openTry(r.target, kind, r.name);
  }, showError);
}

// send sends the request for an offer.
async function send(o, value) {
  const stop = new AbortController(), run = { id: idOf(o), name: o.name, method: kindOf(o.kind)[3], began: Date.now(), stop };
  // What failed because the server was down is no longer shown when it runs again.
  const fail = text => set({ failure: { id: run.id, text, row: S.row, wasDown: !!S.status.trouble } });
  // Beside the form is the exchange of this request, or nothing.
  set({ run, failure: null, row: '', picked: null });
  try {
    const s = await postConfirmed('request', { target: S.server, kind: o.kind, name: o.name, arguments: value }, stop.signal);
    if (!s) return;
    if (s.key) showRow(s.key, { tab: 'answer' });
    if (s.text) return fail(s.text);
    if (s.key) o.last = { key: s.key, arguments: value };
    showToast(`${kindOf(o.kind)[2]} ${o.name}: ${s.channel}`);
  } catch (e) {
    if (stop.signal.aborted) fail('Cancelled.'); else if (!isAborted(e)) fail(e.message);
  } finally {
    set({ run: null, detail: S.detail && !!S.row });
    if (o.kind === 'task') readCatalog(S.server);
  }
}
// followRun shows the row of the running request as soon as it is recorded, and reads its newest progress.
async function followRun(data, run) {
  if (!run || run.asked) return;
  run.asked = true;
  try {
    if (run.key) {
      const { text } = (await data.get('row', { key: run.key })).lines.findLast(l => l.kind === 'progress') || {};
      if (text !== run.progress) {
        run.progress = text;
        set({});
      }
      return;
    }
    const { rows } = await data.get('rows', { filter: 'method:' + run.method, from: -5, count: 5 });
    const row = rows.findLast(r => Date.parse(r.time) >= run.began - 5 && r.state !== 'done');
    if (!row || S.run !== run) return;
    run.key = row.key;
    showRow(row.key, { tab: 'summary' });
  } catch { /* the next change reads again */ } finally { run.asked = false; }
}

// inTry has what the keys of the view do: copy, cancel, subscribe, turn (to another kind) and reload.
const ignore = () => {};
export const inTry = { reload: () => powerReason('call')() || (readCatalog(S.server), set({})) };
const focusIn = box => (box && box.querySelector('input, select, textarea, fieldset button') || document.querySelector('.offer .main'))?.focus();
export const focusForm = () => focusIn(document.querySelector('.offer .form'));

function commandOf(o, text) {
  if (!o.command || !o.command.length) return '';
  const { value, error } = tryParseJSON(text);
  return o.command.join(!o.schema ? '' : `'${(error ? text : JSON.stringify(value)).replaceAll("'", "'\\''")}'`);
}

function Offer({ o }) {
  const id = idOf(o), [, , verb] = kindOf(o.kind), [, draw] = useState(0), text = drafts.get(id) ?? JSON.stringify(defaultValues(o.schema), null, 2), box = useRef(), on = document.activeElement;
  const [filled, setFilled] = useState(0), no = o.refused || powerReason('call')(), { value } = tryParseJSON(text), { run, failure } = S;
  useEffect(() => {
    if (isOpening) focusForm();
    isOpening = false;
  }, []);
  // A field that is replaced or removed gives the focus to the one of its name, or else to the first.
  const focused = box.current && box.current.contains(on) && on.closest('[data-at]');
  useLayoutEffect(() => {
    if (!focused || box.current.contains(document.activeElement)) return;
    const field = [...box.current.querySelectorAll('[data-at]')].find(e => e.dataset.at === focused.dataset.at);
    focusIn(field || document.querySelector('.offer .form'));
  });
  const write = t => {
    drafts.set(id, t);
    draw(n => n + 1);
  };
  const fill = v => {
    write(JSON.stringify(v ?? {}, null, 2));
    setFilled(filled + 1);
  };
  const body = { target: S.server, kind: o.kind, name: o.name, arguments: o.schema ? value : undefined }, command = commandOf(o, text);
  const check = useRef(), go = async () => {
    if (no || run || check.current && !await check.current() || S.run) return;
    // The last letters may not be drawn yet.
    const { value, error } = tryParseJSON((drafts.get(id) ?? text) || '{}');
    if (error) set({ failure: { id, text: 'Only JSON can be sent: ' + error } }); else send(o, o.schema && value);
  };
  const suggest = (argument, v) => post('complete', { ...body, argument, value: v }).then(c => c.values || []);
  const isSubscribed = subscribed.has(id), subscribe = () => post('subscribe', { target: S.server, name: o.name, on: !isSubscribed }).then(() => {
    subscribed[isSubscribed ? 'delete' : 'add'](id);
    showToast(!isSubscribed ? 'Subscribed. Updates are exchanges of this view.' : 'No longer subscribed.');
  }, showError);
  const cancelTask = () => postAndShow('cancel', { target: S.server, kind: 'task', name: o.name }, 'Cancelled.').then(() => readCatalog(S.server));
  Object.assign(inTry, { copy: () => command && copyText(command), cancel: () => run ? run.stop.abort() : o.kind === 'task' && cancelTask(), subscribe: () => o.kind === 'resource' && subscribe() });
  const marks = [o.status, o.mimeType, o.readOnly && 'read only', o.destructive && 'may change or delete', o.app && `app ${o.app}`].filter(Boolean), running = run && run.id === id;
  return html`<section class="offer" ref=${box} aria-label=${o.title || o.name} onKeyDown=${onCtrlEnter(go)}>
    <h2>${o.title || o.name}</h2>${(o.title || marks.length > 0) && html`<p class="dim">${[o.title && o.name, ...marks].filter(Boolean).join(', ')}</p>`}
    ${no && html`<p class="wrong">${no}</p>`}${o.description && html`<p class="text">${o.description}</p>`}${o.schemaError && html`<p class="wrong">Input schema: ${o.schemaError}</p>`}
    ${o.schema && !hasArguments(o.schema) && text === '{}' ? html`<p class="dim">No arguments.</p>` : o.schema && html`<${Form} key=${filled} schema=${o.schema} text=${text} onText=${write} label="Arguments" check=${check} suggest=${['prompt', 'template'].includes(o.kind) && suggest} />`}
    <div class="buttons">${run ? html`<button class="main" onClick=${() => run.stop.abort()}>Cancel${running ? '' : ' ' + run.name} <kbd>X</kbd></button><span role="status">Running…${running && run.progress ? ' ' + run.progress : ''}</span>` : html`<button class="main" aria-disabled=${!!no} onClick=${go}>${verb} <kbd>Ctrl ↵</kbd></button>`}
      ${o.last && html`<button onClick=${() => fill(o.last.arguments)}>Last good ${verb.toLowerCase()}</button><button onClick=${() => showRow(o.last.key, { tab: 'answer' })}>Its result</button>`}
      ${o.kind !== 'task' && html`<button onClick=${() => openDialog('step', { body })}>Save as step…</button>`}
      ${o.kind === 'resource' && html`<button aria-pressed=${isSubscribed} onClick=${subscribe}>Subscribe</button>${isSubscribed && html`<button onClick=${() => addToFilter('method:notifications/resources/updated')}>Its updates</button>`}`}
      ${o.kind === 'task' && html`<button onClick=${cancelTask}>Cancel the task</button>`}</div>
    ${failure && failure.id === id && html`<p class="callout failed" role="alert">${failure.text}</p>`}
    ${command && html`<p class="command"><code>${command}</code> <button title="Copy the command" onClick=${() => copyText(command)}>Copy <kbd>y</kbd></button></p>`}
    ${o.schema && html`<details><summary>Schema</summary><${Tree} value=${o.schema} open=${4} /></details>`}</section>`;
}

export function Try({ data }) {
  const servers = useDocs(data, 'servers', {}) || [], [typed, setTyped] = useState(''), found = catalogs.get(S.server) || {};
  const { catalog, lists = noLists, error, reading } = found, no = powerReason('call')();
  // A server that only the address of the page names is not asked before the user agrees.
  const isNone = !S.server && !S.status.own, isAgreed = !isNone && (!S.server || catalogs.has(S.server)), isNew = isAgreed && !no && !catalog && !error && !reading;
  useEffect(() => { if (isNew) { readCatalog(S.server, !catalogs.has(S.server)); set({}); } }, [S.server, isNew]);
  useEffect(() => { if (catalog && found.version !== (S.status.catalogs || 0)) { readCatalog(S.server); set({}); } }, [catalog, S.status.catalogs]);
  // The login may have ended.
  useEffect(() => { if (found.login && !S.dialog) readCatalog(S.server, true); }, [S.dialog]);
  useEffect(() => void followRun(data, S.run), [S.seq, S.run]);
  useEffect(() => { if (S.failure && S.failure.wasDown && !S.status.trouble) set({ failure: null, detail: S.detail && S.row !== S.failure.row }); }, [S.failure, S.status.trouble]);
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = useMemo(() => new Map([...lists].map(([k, list]) => [k, words.length ? search(list, words) : list])), [lists, typed]);
  // If nothing of the chosen kind fits, the first kind that has something is shown.
  const present = kinds.filter(([k]) => lists.has(k)), kind = [S.kind, 'tool', ...present.map(([k]) => k)].find(k => (matches.get(k) || []).length) || S.kind || (present[0] || ['tool'])[0], list = matches.get(kind) || nothing;
  const src = useMemo(() => Source.of(list, o => o.at), [list]), o = list.find(o => o.name === S.offer) || list[0];
  const problem = error || catalog && (catalog.lists.find(l => l.kind === kind) || {}).error;
  if (!o) Object.assign(inTry, { copy: ignore, cancel: ignore, subscribe: ignore });
  // The detail of another offer is not shown beside the form.
  const choose = (kind, offer = '') => set({ kind, offer, detail: S.detail && !!o && offer === o.name });
  inTry.turn = d => present.length && choose(present[(present.findIndex(([k]) => k === kind) + d + present.length) % present.length][0]);
  const keys = e => {
    if (e.key === 'Enter' && o) { e.preventDefault(); focusForm(); }
    else if (e.key === 'ArrowDown' || e.key === 'ArrowUp') { e.preventDefault(); nav.list.move(e.key === 'ArrowDown' ? 1 : -1); }
  };
  const about = catalog && [catalog.title || catalog.server, catalog.version, catalog.revision].filter(Boolean).join(', ');
  const pick = target => target === S.server ? readCatalog(target) : openTry(target), names = [...new Set([...(S.status.own ? [''] : []), ...servers.map(s => s.name), S.server])];
  return html`<div class="try"><div class="offers">
    <div class="server"><select aria-label="Server" value=${S.server} onChange=${e => pick(e.target.value)}>${names.map(n => html`<option value=${n}>${n || (S.status.own ? 'the server of this view' : 'Choose a server')}</option>`)}</select><button aria-disabled=${!!(reading || no)} onClick=${() => !reading && !no && readCatalog(S.server)}>${reading ? 'Reading…' : catalog ? 'Reload' : 'Connect'}</button></div>
    ${catalog && (catalog.instructions ? html`<details><summary>${about}: instructions</summary><p class="text">${catalog.instructions}</p></details>` : html`<p class="dim">${about}</p>`)}
    ${S.status.output && !S.server && html`<button onClick=${() => openDialog('output')}>Server output <kbd>O</kbd></button>`}
    ${no && html`<p class="callout">Try is not allowed: ${no}</p>`}${problem && html`<p class="callout failed" role="alert">${problem}${found.login && html` <button class="main" onClick=${() => logInTo(S.server)}>Log in <kbd>L</kbd></button>`}</p>`}
    <input id="filter" type="search" aria-label="Search by name, title and description" placeholder="Search  (/)" autocomplete="off" spellcheck=${false} value=${typed} onInput=${e => { setTyped(e.target.value); set({ detail: false }); }} onKeyDown=${keys} />
    <${Pick} cls="chips" label="Kinds" value=${kind} onPick=${choose} list=${(present.length ? present : kinds.slice(0, 1)).map(([k, name]) => [k, html`${name} <span class="dim">${(matches.get(k) || []).length.toLocaleString('en')}</span>`])} />
    <${List} main head=${false} src=${src} cls="try-list" label=${kindOf(kind)[1]} sel=${o && o.at} cols=${[{ cls: 'm', cell: o => html`<span title=${o.description || o.name}>${o.title && o.title !== o.name ? html`${o.title} <span class="dim">${o.name}</span>` : o.name}${o.schemaError && html` <b class="wrong">!</b>`}</span>` }]}
      onSel=${(k, o) => choose(kind, o.name)} onClick=${() => requestAnimationFrame(focusForm)} onOpen=${focusForm} empty=${!catalog ? (reading ? 'Reading…' : S.lost || 'Nothing was read yet.') : typed ? 'Nothing fits.' : `The server has no ${kindOf(kind)[1].toLowerCase()}.`} /></div>
    ${o ? html`<${Offer} key=${idOf(o)} o=${o} />` : html`<section class="offer"><p class="empty">${catalog ? '' : reading ? 'Reading…' : no || error || (isAgreed ? '' : !isNone ? `Connect asks ${S.server} what it offers.` : 'Choose a server.')}</p></section>`}</div>`;
}

// Output shows the last lines that the server of this view wrote to standard error, and follows new ones.
export function Output({ data }) {
  const lines = useDocs(data, 'output', {}), end = useRef();
  useEffect(() => { if (end.current) end.current.scrollIntoView(); }, [lines && lines.join()]);
  return html`<${Dialog} wide title="Server output"><pre>${lines ? lines.join('\n') : 'Reading…'}</pre><span ref=${end} /><//>`;
}

// Step shows a request as a step of a file of saved calls, and appends it to a file if that is possible.
export function Step({ body }) {
  const [text, setText] = useState(''), [run, setRun] = useState(''), [file, setFile] = useState('calls.mcpc.yaml');
  useEffect(() => { post('step', body).then(t => { setText(t.text); setRun(t.run); }, e => { closeDialog(); showError(e); }); }, []);
  const save = () => post('step', { ...body, file }).then(t => showToast(`Appended. It runs with: ${t.run}`, { dialog: null }), showError);
  return html`<${Dialog} wide title="Save as step"><pre>${text || 'Reading…'}</pre>${run && !S.powers.files && html`<p>Save it as calls.mcpc.yaml. It runs with: <code>${run}</code></p>`}
    ${S.powers.files && html`<label class="field"><span>File</span><input class="mono" value=${file} onInput=${e => setFile(e.target.value)} /></label>`}
    <div class="buttons end"><button disabled=${!text} onClick=${() => copyText(text)}>Copy</button>${S.powers.files && html`<button class="main" disabled=${!text || !file} onClick=${save}>Append to the file</button>`}</div><//>`;
}

const stateOf = s => s.asking ? 'asking…' : s.text || 'not asked';
const toneOf = s => s.asking ? 'open' : s.failed ? 'failed' : s.state === 'ok' ? 'ok' : 'dim';
const signOf = s => ({ open: '…', failed: '✗', ok: '✓', dim: '·' })[toneOf(s)];

function Card({ s, on, no, select }) {
  return html`<li class=${'card' + (on ? ' on' : '')} aria-current=${on ? 'true' : undefined} aria-label=${s.name} onFocusIn=${select} onClick=${select}>
    <h2>${s.name}</h2><p class="dim">${s.from}</p>
    <p class="text"><span class=${'tone ' + toneOf(s)}>${signOf(s)} ${stateOf(s)}</span>${s.tools !== undefined && html`<span class="dim">, ${[countNoun(s.tools, 'tool'), formatSeconds(s.seconds), s.protocol].filter(Boolean).join(', ')}</span>`}</p>
    ${s.help && html`<p class="command"><code>${s.help}</code> <button aria-label=${'Copy what helps ' + s.name} onClick=${() => copyText(s.help)}>Copy</button></p>`}
    <div class="buttons"><button class="main" aria-disabled=${!!no} title=${no || 'Connect and show what it offers (t)'} aria-label=${'Try ' + s.name} onClick=${() => openTry(s.name)}>Try</button>
      ${s.commands.map(c => c.key === 'l' ? html`<button aria-disabled=${!!no} title=${no || 'Log in, and see each step (L)'} aria-label=${'Log in to ' + s.name} onClick=${() => logInTo(s.name)}>Log in</button>` : html`<button title=${c.line} aria-label=${`${c.name}: ${c.line}`} onClick=${() => copyText(c.line)}>${c.name}</button>`)}</div></li>`;
}

export function Home({ data }) {
  const servers = useDocs(data, 'servers', {}), [name, setName] = useState(''), input = useRef(), box = useRef();
  const no = powerReason('call')(), list = servers || [], at = Math.max(0, list.findIndex(s => s.name === name));
  const waits = servers && S.powers.call && !list.some(s => s.asking || s.state === 'ok');
  useEffect(() => { if (waits && !Home.asked) { Home.asked = true; checkServers(true); } }, [waits]);
  nav.item = list[at];
  const go = i => { const e = box.current.children[Math.max(0, Math.min(list.length - 1, i))]; if (e) { e.querySelector('button.main').focus(); } };
  useEffect(() => takeKeys({ move: d => go(at + d), to: end => go(end ? list.length : 0) }));
  const add = () => { const text = input.current.value.trim(); if (text) openTry(text); };
  return html`<div class="home"><div class="buttons"><${Button} k="R" short="Check" />
      <input id="add" class="mono" aria-label="Address of a server, or demo" placeholder="https://… or demo  (A)" ref=${input} onKeyDown=${e => e.key === 'Enter' && add()} /><button aria-disabled=${!!no} title=${no || 'Connect and show what it offers'} onClick=${add}>Add</button>
      <span class="dim">A command cannot be added here: <code>mcpc inspect -- COMMAND</code></span></div>
    ${!S.powers.call && html`<p class="callout">${no ? 'To ask servers and to try them, ' + no : 'Nothing is sent before you allow it at the terminal: Check and Try ask there.'}</p>`}
    <ul class="cards" aria-label="Servers" ref=${box}>${list.map((s, i) => html`<${Card} key=${s.name} s=${s} on=${i === at} no=${no} select=${() => setName(s.name)} />`)}</ul>
    ${!list.length && html`<p class="empty">${S.lost || (servers ? 'mcpc inspect without a FILE shows servers here.' : 'Reading…')}</p>`}</div>`;
}

// canHelp reports whether a login may help with an exchange: the server refused it.
export const canHelp = r => !!r && (r.http === 401 || r.http === 403);

// logIn shows the login that runs, or starts one at a server.
export async function logIn(data, target) {
  try {
    const running = await data.get('login');
    if (running && !running.done || await postConfirmed('login', { target })) openDialog('login');
  } catch (e) { showError(e); }
}

const signs = { now: ['…', 'open', 'now'], done: ['✓', 'ok', 'done'], failed: ['✗', 'failed', 'failed'], skipped: ['–', 'dim', 'skipped'], '': ['·', 'dim', 'to come'] };
const isBad = check => /^(fail|warning)/.test(check), isPassed = check => check.startsWith('pass ');

const Body = ({ name, text }) => text ? html`<p class="dim">${name}</p><pre>${text}</pre>` : '';
function Request({ r }) {
  const line = html`<code>${r.method} ${r.url}</code> ${r.status ? html`<span class=${r.status < 400 ? 'dim' : 'wrong'}>HTTP ${r.status}, ${formatSeconds(r.seconds)}</span>` : ''}`;
  return r.request || r.response ? html`<details><summary>${line}</summary><${Body} name="Sent" text=${r.request} /><${Body} name="Received" text=${r.response} /></details>` : html`<p>${line}</p>`;
}

function LoginStep({ s }) {
  const [sign, tone, word] = signs[s.state] || signs[''], checks = s.checks || [], passed = checks.filter(isPassed);
  return html`<li class=${s.state ? '' : 'dim'} aria-current=${s.state === 'now' ? 'step' : undefined}><span class=${'tone ' + tone} title=${word}>${sign}<span class="sr"> ${word}</span></span> <b>${s.name}</b> <span class=${s.state === 'failed' ? 'wrong' : 'dim'}>${s.note}</span>
    ${s.row && html` <button onClick=${() => showRow(s.row, { ...everything, dialog: null, view: 'talk' })}>Exchange ${s.row}</button>`}
    ${checks.filter(c => !isPassed(c)).map(c => html`<p class=${isBad(c) ? 'wrong' : 'dim'}>${c}</p>`)}${(s.requests || []).map(r => html`<${Request} r=${r} />`)}
    ${passed.length > 0 && html`<details><summary class="dim">${countNoun(passed.length, 'rule')} kept</summary><ul>${passed.map(c => html`<li>${c.slice(5)}</li>`)}</ul></details>`}</li>`;
}

// Login shows the newest login until it is closed. Closing it cancels a login that runs.
export function Login({ data }) {
  const [l, setLogin] = useState(null);
  useEffect(() => {
    let timer, isClosed = false;
    const read = () => data.get('login').then(x => {
      if (isClosed) return;
      setLogin(x);
      if (x && !x.done) timer = setTimeout(read, 400);
    }, e => { showError(e); if (!isClosed) timer = setTimeout(read, 2000); });
    read();
    return () => { isClosed = true; clearTimeout(timer); };
  }, []);
  const close = () => { closeDialog(); if (l && !l.done) data.post('do/login-cancel', { target: l.target }).catch(showError); };
  if (!l) return html`<${Dialog} wide title="Login"><p class="dim">Reading…</p><//>`;
  return html`<${Dialog} wide title=${'Login at ' + l.target} onClose=${close}><div class="login">
    <div role="status">${!l.done ? '' : l.error ? html`<p class="callout failed">Failed: ${l.error}</p>` : html`<p class="callout">Logged in. The token is stored.</p>`}</div>
    ${l.done && l.help && html`<p class="command"><code>${l.help}</code> <button onClick=${() => copyText(l.help)}>Copy</button></p>`}
    ${!l.done && l.code && html`<p>Enter this code there: <b class="mono">${l.code}</b> <button onClick=${() => copyText(l.code)}>Copy the code</button></p>`}
    ${!l.done && l.url && html`<p class="command"><span>Page: <${Link} url=${l.url} /></span> <button onClick=${() => copyText(l.url)}>Copy the page</button></p>`}
    <ol>${l.steps.map(s => html`<${LoginStep} key=${s.name} s=${s} />`)}</ol></div>
    <div class="buttons end">${l.done ? html`<button onClick=${closeDialog}>Close</button>` : html`<button onClick=${closeDialog}>Hide, it continues</button><button class="danger" onClick=${close}>Cancel the login</button>`}</div><//>`;
}
