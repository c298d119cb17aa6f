// What can be done: actions with their keys, buttons and dialogs, questions and held messages.
import { useEffect, useLayoutEffect, useRef, useState } from './vendor/hooks.mjs';
import { html, S, set, showToast, openDialog, closeDialog, shownQuery as shown, showError, everything, showRow, formatTime, formatSeconds, countNoun, quoteValue, tryParseJSON, safeURL, isAborted, views, shownViews, requestTitle, showsRows, newConversations } from './lib.js';
import { Dialog, FilterInput, Pick, Tree, Link, Markdown, nav, ask, onDialogOpened, onCtrlEnter, copyText, rowTone } from './ui.js';
import { Form, defaultValues } from './form.js';
import { useDocs, moveTab } from './views.js';
import { Login, Output, Step, canHelp, logIn, openTry, openTryOf, showTry, focusForm, inTry } from './try.js';

let data;
export const useData = d => { data = d; };

export const post = (name, ...more) => data.post('do/' + name, ...more);
// postAndShow sends an action and shows a text, or else the text of the response.
export const postAndShow = (name, body, text, more) => post(name, body).then(r => showToast(text || r.text, more), showError);
const isProblem = x => rowTone(x.row || x) === 'failed' || (x.row || x).findings > 0;
const query = () => ({ ...shown(), only: S.only ? S.only.split(',') : undefined, sort: S.sort });
// focusWhenDrawn focuses the element with an id as soon as it is drawn, or the first one inside, so that it gets the next keys.
function focusWhenDrawn(id, inside, tries = 60) {
  const e = document.getElementById(id);
  if (e && e.offsetParent) (inside && e.querySelector(inside) || e).focus(); else if (tries) requestAnimationFrame(() => focusWhenDrawn(id, inside, tries - 1));
}
// openQuestion opens the questions, and focuses the first field. focusedBefore had the focus before.
let focusedBefore;
function openQuestion() {
  const on = document.activeElement;
  if (on !== document.body && !on.closest('.waiting')) focusedBefore = on;
  set({ waiting: 'questions' });
  focusWhenDrawn('questions', 'input, select, textarea');
}
// leaveQuestion moves the focus from a removed question to the next one, or to where it was before, or to the list.
const leaveQuestion = () => requestAnimationFrame(() => {
  if (S.waiting && S.questions.length) return openQuestion();
  (focusedBefore && focusedBefore.isConnected ? focusedBefore : nav.list && nav.list.box)?.focus();
  focusedBefore = null;
});
// focusFilter focuses the filter, at the start of a new word, or the search of Try.
function focusFilter() {
  const line = document.getElementById('filter');
  if (S.view === 'try') return line.select();
  if (/\S$/.test(S.filter)) set({ filter: line.value = S.filter + ' ' });
  focusWhenDrawn('filter');
  line.setSelectionRange(line.value.length, line.value.length);
}
// toggleWord adds a word to a filter, or removes it if the filter has it.
export const toggleWord = (filter, word) => filter.split(/\s+/).includes(word) ? filter.split(/\s+/).filter(w => w !== word).join(' ') : `${filter} ${word}`.trim();
// showMatching shows the exchanges of all conversations that match a filter. It takes the focus from a button, so that
// Enter opens the selected exchange.
export const showMatching = filter => document.activeElement.blur() ?? set({ ...everything, filter, view: showsRows() ? S.view : 'talk' });
// addToFilter adds a word to the filter and shows a view of exchanges.
export const addToFilter = word => set({ filter: `${S.filter} ${word}`.trim(), view: showsRows() ? S.view : 'table', dialog: null });
// hasRow, hasAny and powerReason make the when and need of actions.
const hasRow = () => !!S.row;
const hasAny = list => () => S[list].length > 0;
export const powerReason = name => () => S.powers[name] ? '' : data.inline ? 'a bundle is read only' : ['mark', 'export'].includes(name) ? 'not possible here' : data.asks ? '' : `start it with mcpc inspect --web --allow call,resend,intercept`;

const isDark = () => matchMedia('(prefers-color-scheme: dark)').matches;
// selectedTool returns the selected tool of the Tools view, if any, and callOf a row for a call of a tool.
const selectedTool = () => S.view === 'tools' && nav.item;
const callOf = t => ({ method: 'tools/call', name: t.name, target: t.target, key: t.lastRow || '' });

// The actions: key, name, the function run, when (true if it has something to act on), need (why it is not allowed, or
// ''), and bar (true for a button in the detail).
const actions = [
  ...views.map(([view, name, key]) => ({ key, name: `View: ${name}`, when: () => shownViews().some(([id]) => id === view), run: () => view === 'try' ? showTry() : set({ view }) })),
  { key: 'j', name: 'Next', run: () => moveSelection(1) }, { key: 'k', name: 'Previous', run: () => moveSelection(-1) },
  { key: 'g', name: 'First', run: () => { set({ follow: false }); nav.list && nav.list.to(false); } },
  { key: 'G', name: 'Newest, and follow it', run: () => { set({ follow: true }); nav.list && nav.list.to(true); } },
  { key: '/', name: () => S.view === 'try' ? 'Search' : 'Filter', run: focusFilter },
  { key: ']', name: 'Next that failed or has findings', run: () => findProblem(1) }, { key: '[', name: 'Previous that failed or has findings', run: () => findProblem(-1) },
  { key: 'Enter', name: () => S.view === 'try' ? 'Go to the form' : 'Open the detail', when: () => hasRow() || S.view === 'try', run: () => { if (S.view === 'try') return focusForm(); set({ detail: true }); focusWhenDrawn('panel'); } },
  { key: 'Escape', name: 'Close, go back', run: () => set(S.waiting ? { waiting: '' } : S.detail ? { detail: false } : S.only ? { only: '' } : { toast: '' }) },
  { key: 'p', name: () => S.paused ? 'Go on' : 'Pause the view', run: () => set({ paused: !S.paused, seq: S.status.seq }) },
  { key: 'c', name: 'Hide all exchanges until now', when: () => !data.inline, run: () => set({ filter: `${S.filter.replace(/(^| )since:\S*/g, '')} since:${formatTime(Date.now())}`.trim() }) },
  { key: 'C', name: 'Show everything', run: () => set(everything) },
  { key: 'S', name: 'Slowest first', run: () => set({ view: 'table', sort: S.sort === '-took' ? 'took' : '-took', follow: false }) },
  { key: 'o', name: () => S.only ? 'All exchanges' : 'Only this exchange', when: () => hasRow() || S.only, run: () => set({ only: S.only ? '' : S.row }), bar: true },
  { key: 'f', name: 'Only like this…', when: hasRow, run: () => withRow(r => openMenu('filter', r)), bar: true },
  { key: 'F', name: 'Not like this…', when: hasRow, run: () => withRow(r => openMenu('not', r)), bar: true },
  { key: 'y', name: 'Copy…', when: () => hasRow() || ['home', 'try'].includes(S.view), run: () => S.view === 'try' ? inTry.copy() : S.view === 'home' ? nav.item && openMenu('server', nav.item) : withRow(r => openMenu('copy', r)), bar: true },
  { key: 'r', name: 'Send again', when: hasRow, need: powerReason('resend'), run: () => send({ key: S.row }), bar: true },
  { key: 'E', name: 'Edit and send again…', when: hasRow, need: powerReason('resend'), run: () => openDialog('edit', { key: S.row }), bar: true },
  { key: 'b', name: 'Set a fault…', when: () => hasRow() || selectedTool(), need: powerReason('intercept'), run: () => selectedTool() ? openMenu('fault', callOf(selectedTool())) : withRow(r => openMenu('fault', r)), bar: true },
  { key: 'B', name: 'Faults that this view has set', when: hasAny('faults'), run: () => openMenu('faults') },
  { key: 'w', name: 'Go to a new conversation', when: () => newConversations().length > 0, run: () => set({ ...everything, talk: S.unseen[0], view: showsRows() ? S.view : 'talk' }) },
  { key: 't', name: () => S.view === 'home' ? 'Try the server' : 'Try', need: powerReason('call'), run: () => S.view === 'try' ? focusForm() : S.view === 'home' && nav.item ? openTry(nav.item.name) : selectedTool() ? openTryOf(nav.item) : withRow(r => openTryOf(null, r, data)), bar: true },
  { key: 'A', name: 'Connect to a URL or demo', when: () => S.status.home, need: powerReason('call'), run: () => { set({ view: 'home' }); focusWhenDrawn('add'); } },
  { key: 'R', name: () => S.view === 'try' ? 'Ask the server again' : 'Ask the servers of Home again', when: () => S.status.home || S.view === 'try', need: powerReason('call'), run: () => { if (S.view === 'try') return inTry.reload(); set({ view: 'home' }); checkServers(); } },
  { key: 'L', name: 'Log in to the server', when: () => S.view === 'home' ? nav.item : S.view === 'try' ? S.server : hasRow(), need: powerReason('call'), run: () => S.view === 'home' ? logInTo(nav.item.name) : S.view === 'try' ? logInTo(S.server) : withRow(r => canHelp(r) ? logInTo(r.target) : set({ toast: 'Log in: this exchange was not refused with HTTP 401 or 403. In Home, L logs in to a server.', bad: true })), bar: () => canHelp(S.picked) },
  { key: 'O', name: 'What the server wrote to standard error', when: () => S.status.own || S.status.output, run: () => S.status.output ? openDialog('output') : showToast('The server has written nothing to standard error.') },
  { key: 'X', name: 'Cancel the request or the task of Try', when: () => S.view === 'try', run: () => inTry.cancel() },
  { key: 'u', name: 'Subscribe to the resource of Try', when: () => S.view === 'try', run: () => inTry.subscribe() },
  { key: 'm', name: 'Mark', when: hasRow, need: powerReason('mark'), run: () => withRow(r => setMark(r, !r.mark, r.note || '')), bar: true },
  { key: 'n', name: 'Note…', when: hasRow, need: powerReason('mark'), run: () => withRow(row => openDialog('note', { row })), bar: true },
  { key: 'a', name: 'Answer the server', when: hasAny('questions'), run: openQuestion },
  { key: 'i', name: 'Hold messages…', need: powerReason('intercept'), run: () => openDialog('intercept') },
  { key: 'I', name: 'Release all messages', need: powerReason('intercept'), run: () => holdNothing() },
  { key: 'e', name: 'Edit the held message', when: hasAny('held'), run: () => { set({ waiting: 'held' }); focusWhenDrawn('held-text'); } },
  { key: 'd', name: 'Drop the held message', when: hasAny('held'), need: powerReason('intercept'), run: () => drop(S.held[0]) },
  { key: 'x', name: 'Export…', need: powerReason('export'), run: () => openDialog('export') },
  { key: 'D', name: 'Compare conversations…', when: () => !data.inline, run: () => openDialog('compare') },
  { key: 'z', name: () => S.theme ? 'Colors of the system' : isDark() ? 'Light page' : 'Dark page', run: () => set({ theme: S.theme ? '' : isDark() ? 'light' : 'dark' }) },
  { key: '?', name: 'Keys and actions', run: () => openDialog('palette') },
  { key: ':', name: 'Command', run: () => openDialog('palette') },
];
const actionName = a => typeof a.name === 'function' ? a.name() : a.name;
// disabledReason says why an action cannot run now, or returns ''.
const disabledReason = a => a.need && a.need() || (a.when && !a.when() ? 'nothing to act on' : '');

function runAction(a) {
  const no = disabledReason(a);
  if (no) set({ toast: `${actionName(a)}: ${no}`, bad: true }); else a.run();
}
export const runActionByKey = key => runAction(actions.find(a => a.key === key));
function moveSelection(d) {
  set({ follow: false });
  if (nav.list) nav.list.move(d);
}
function findProblem(d) {
  set({ follow: false });
  if (nav.list && nav.list.find) nav.list.find(d, isProblem);
}
// withRow calls f with the selected row, which it reads if only its key is known.
function withRow(f) {
  if (S.picked && S.picked.key === S.row || !S.row) return f(S.picked);
  pendingReads++;
  data.get('row', { key: S.row }).then(d => { set({ picked: d.row }); f(d.row); }).catch(showError).finally(() => { pendingReads--; typeAhead(); });
}

// typedAhead has the keys that the user typed while an action reads its row, or before its dialog is drawn. They are meant
// for that dialog. catchKey keeps them, and typeAhead types them into the dialog or the page, each after the effect of the
// previous one is drawn.
let pendingReads = 0, typedAhead = [], isTypingAhead = false;
const isDialogOpening = () => pendingReads > 0 || (S.dialog || S.confirm) && !document.querySelector('dialog[open]');
export function catchKey(e) {
  if (!e.isTrusted || e.ctrlKey || e.altKey || e.metaKey || !isDialogOpening() && !typedAhead.length || e.key.length > 1 && !['Enter', 'Escape'].includes(e.key)) return;
  e.preventDefault();
  e.stopPropagation();
  typedAhead.push(e.key);
}
async function typeAhead() {
  if (isTypingAhead) return;
  isTypingAhead = true;
  for (; typedAhead.length && !isDialogOpening(); typedAhead.shift()) {
    type(typedAhead[0]);
    for (let frames = 0; frames < 2; frames++) await new Promise(requestAnimationFrame);
  }
  isTypingAhead = false;
}
onDialogOpened(typeAhead);
// type has the effect of a key in the focused element.
function type(key) {
  const on = document.activeElement;
  if (key.length === 1 && on.matches('textarea, input:not([type=radio], [type=checkbox])')) {
    on.setRangeText(key, on.selectionStart, on.selectionEnd, 'end');
    on.dispatchEvent(new InputEvent('input', { bubbles: true, data: key }));
  } else if (key === 'Escape' && S.dialog) closeDialog();
  else if (key === 'Enter' && on.matches('button')) on.click();
  else on.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
}

// onKey runs an action by its key, unless the key belongs to the focused input or button.
export function onKey(e) {
  if (e.ctrlKey || e.altKey || e.metaKey || e.defaultPrevented || S.dialog || S.confirm || S.asking || S.app) return;
  const on = e.target, typing = on.matches('input, textarea, select');
  if (typing) {
    if (e.key === 'Escape') on.blur();
    return;
  }
  if ((e.key === 'Enter' || e.key === ' ') && on.matches('button, a, summary')) return;
  const turn = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
  if (turn && S.detail) {
    e.preventDefault();
    return moveTab(turn);
  }
  if (turn && S.view === 'try') return inTry.turn(turn);
  if ((e.key === '+' || e.key === '=' || e.key === '-') && nav.list && nav.list.zoom) return void nav.list.zoom(e.key === '-' ? 1 / 0.6 : 0.6);
  const a = actions.find(x => x.key === e.key);
  if (!a) return;
  e.preventDefault();
  runAction(a);
}

// Button runs an action. An action that is not allowed stays visible, with the reason.
export function Button({ k, short }) {
  const a = actions.find(x => x.key === k), no = disabledReason(a);
  return html`<button class="act" aria-disabled=${!!no} title=${`${actionName(a)} (${k})${no ? ': ' + no : ''}`} onClick=${() => runAction(a)}>${short || actionName(a)} <kbd>${k}</kbd>${no && a.need && a.need() ? html`<span class="sr">: ${no}</span>` : ''}</button>`;
}
export function Actions() {
  const list = actions.filter(a => typeof a.bar === 'function' ? a.bar() : a.bar), no = [...new Set(list.map(a => a.need && a.need()).filter(Boolean))];
  return html`<div class="buttons" role="toolbar" aria-label="This exchange">${list.map(a => html`<${Button} k=${a.key} />`)}${no.map(t => html`<span class="dim">Disabled: ${t}</span>`)}</div>`;
}

const setMark = (r, on, note) => postAndShow('mark', { key: r.key, mark: on, note }, on ? 'Marked.' : 'No longer marked.', { picked: { ...r, mark: on, note }, marks: (S.marks || 0) + 1, marked: on ? r.key : S.marked });
const holdNothing = () => postAndShow('intercept', { on: false, filter: '' }, 'Nothing is held.', { dialog: null });
const drop = m => postAndShow('drop', { id: m.id }, 'Dropped.');

// postConfirmed sends an action. If mcpc wants the user's consent, it asks, and sends the action again. Returns undefined if the
// user refuses.
export async function postConfirmed(name, body, signal) {
  const r = await post(name, body, signal);
  if (!r.confirm) return r;
  if (await ask(r.confirm)) return post(name, { ...body, confirmed: true }, signal);
}
// send sends a recorded request again. It closes the dialog, so that a question of the server can be answered, and opens it again if
// nothing was sent.
async function send(body) {
  const stop = new AbortController(), { dialog } = S, back = () => set({ toast: '', dialog: S.dialog || dialog });
  showToast('Sending…', { dialog: null, stop });
  try {
    const s = await postConfirmed('resend', body, stop.signal);
    if (!s) return back();
    set({ toast: `${(s.channel || 'sent').replaceAll('_', ' ')}${s.text ? ': ' + s.text : ''}`, bad: s.channel && s.channel !== 'ok' });
    if (s.key) showRow(s.key, { tab: 'answer' });
  } catch (e) {
    back();
    if (stop.signal.aborted) showToast('Cancelled.'); else showError(e);
  } finally {
    if (S.stop === stop) set({ stop: null });
  }
}
// checkServers asks the servers of Home in the background. Their results are a change, which the view reads.
export const checkServers = auto => data.post('do/check', {}, undefined, auto).catch(e => auto || showError(e));
// logInTo logs in to a server.
export const logInTo = target => (no => no ? set({ toast: 'Log in: ' + no, bad: true }) : logIn(data, target))(powerReason('call')());
export const openMenu = (menu, r) => openDialog('menu', { menu, row: r });

// menuChoices lists the choices for a row: key, name, what they do.
function menuChoices(menu, r) {
  if (menu === 'server') return [...r.commands, ...(r.help ? [{ key: 'h', name: 'What helps', line: r.help }] : [])].map(c => ({ key: c.key, name: `${c.name}: ${c.line}`, run: () => { closeDialog(); copyText(c.line); } }));
  if (menu === 'copy') return [['m', 'as mcpc command', 'mcpc'], ['c', 'as curl', 'curl'], ['d', 'as Markdown', 'markdown'], ['j', 'as JSON', 'json'], ['r', 'the request', 'request'], ['k', 'the number', '']].map(([key, name, form]) => ({
    key, name, run: () => { closeDialog(); if (form && data.inline) showError(new Error('A bundle has no copies: mcpc export makes them.')); else form ? post('copy', { key: r.key, form }).then(t => copyText(t.text), showError) : copyText(r.key); } }));
  const setFault = fault => { closeDialog(); postAndShow('fault', { fault }); };
  if (menu === 'faults') return [...S.faults.map((f, i) => ({ key: String(i + 1), name: `${f.name}, for the next ${f.request}`, run: () => setFault({ kind: '', id: f.id }) })), { key: 'o', name: 'remove all', run: () => setFault({ kind: '' }) }];
  if (menu === 'fault') return data.faults.map(({ key, kind, name }) => ({ key, name, run: () => setFault({ kind, method: r.method, name: r.name, target: r.target, key: r.key }) }));
  const words = [r.name && 'name:' + quoteValue(r.name), r.method && 'method:' + quoteValue(r.method), 'channel:' + quoteValue(r.channel), r.failed && 'is:error', r.server && 'server:' + quoteValue(r.server), r.client && 'client:' + quoteValue(r.client), r.http && 'http:' + r.http, r.seconds > 0.01 && 'dur:>' + Math.round(r.seconds * 1000) + 'ms', 'dir:' + r.dir].filter(Boolean);
  return words.map((w, i) => ({ key: String(i + 1), name: (menu === 'not' ? '-' : '') + w, code: true, run: () => addToFilter((menu === 'not' ? '-' : '') + w) }))
    .concat(menu === 'filter' ? words.slice(0, 2).map((w, i) => ({ key: 'ab'[i], name: '-' + w, code: true, run: () => addToFilter('-' + w) })) : []);
}

function Menu({ menu, row: r }) {
  const list = menuChoices(menu, r);
  return html`<${Dialog} title=${{ copy: 'Copy', server: 'Copy for this server', filter: 'Only like this', not: 'Not like this', faults: 'Choose a fault to remove it', fault: r && `Fault for the next ${requestTitle(r)}` }[menu]}><div class="menu" onKeyDown=${e => { const x = list.find(a => a.key === e.key); if (x) { e.preventDefault(); x.run(); } }}>
    ${list.map(x => html`<button onClick=${x.run}><kbd>${x.key}</kbd> ${x.code ? html`<code>${x.name}</code>` : x.name}</button>`)}</div><//>`;
}

// Palette finds actions by their names. Other text is a filter.
function Palette() {
  const [text, setText] = useState('');
  const words = text.toLowerCase().split(/\s+/);
  const list = actions.filter(a => words.every(w => `${actionName(a)} ${a.key}`.toLowerCase().includes(w)));
  const go = a => { closeDialog(); requestAnimationFrame(() => runAction(a)); };
  const enter = e => {
    if (e.key !== 'Enter') return;
    e.preventDefault();
    if (list.length) go(list[0]); else set({ dialog: null, filter: text.replace(/^filter\s+/, '') });
  };
  return html`<${Dialog} wide title="Keys and actions"><input class="full" aria-label="Action, or a filter" placeholder="Action, or a filter" value=${text} onInput=${e => setText(e.target.value)} onKeyDown=${enter} />
    <div class="menu keys">${list.map(a => html`<button aria-disabled=${!!disabledReason(a)} onClick=${() => go(a)}><kbd>${a.key}</kbd> ${actionName(a)} <span class="dim">${disabledReason(a)}</span></button>`)}
    ${!list.length && html`<p class="dim">Enter shows what fits <code>${text}</code>.</p>`}</div><//>`;
}

// EditCall is the dialog for a request that is sent again. It opens once the request is read.
function EditCall({ dialog }) {
  const { key } = dialog, [d, setD] = useState(), check = useRef();
  useEffect(() => {
    data.get('row', { key }).then(d => {
      const message = d.request && tryParseJSON(d.request.text).value;
      if (!message) throw new Error('This request cannot be edited.');
      setD({ ...d, message });
    }).catch(e => { closeDialog(); showError(e); });
  }, []);
  if (!d) return '';
  const { message } = d, asCall = message.params && message.params.arguments, text = () => dialog.text ?? JSON.stringify(asCall || message, null, 2);
  const go = async () => {
    if (!await check.current()) return;
    const { value, error } = tryParseJSON(text() || '{}');
    if (error) return showError(new Error('Only JSON can be sent: ' + error));
    send({ key, message: asCall ? { ...message, params: { ...message.params, arguments: value } } : value });
  };
  return html`<${Dialog} wide title=${`Edit and send ${key} again to ${d.row.target}`}><div onKeyDown=${onCtrlEnter(go)}>
    <${Form} schema=${asCall ? d.inputSchema : null} text=${text()} onText=${t => { dialog.text = t; set({}); }} label=${asCall ? 'Arguments' : 'Message'} check=${check} />
    <div class="buttons end"><button class="main" onClick=${go}>Send <kbd>Ctrl ↵</kbd></button></div></div><//>`;
}

function Note({ row: r }) {
  const [text, setText] = useState(r.note || '');
  return html`<${Dialog} title=${'Note on ' + r.key}><textarea class="full" rows="4" aria-label="Note" value=${text} onInput=${e => setText(e.target.value)}></textarea>
    <div class="buttons end"><button class="main" onClick=${() => { closeDialog(); setMark(r, true, text); }}>Keep</button></div><//>`;
}

function Intercept() {
  const [filter, setFilter] = useState(S.status.wanted || S.filter), [error, setError] = useState(''), [responses, setResponses] = useState(!!S.status.intercept);
  // What is typed may not be drawn yet.
  const hold = () => post('intercept', { on: true, responses, filter: document.getElementById('hold-filter').value }).then(() => showToast('Messages are held.', { dialog: null }), e => isAborted(e) || setError(e.message));
  return html`<${Dialog} title="Hold messages"><p>Messages that fit are held until you let them go, at most ${countNoun(Math.round(data.maxHold / 60), 'minute')}. Empty: all.</p>
    ${!/\bis:/.test(filter) && html`<${Pick} label="What to hold" list=${[[false, 'Requests'], [true, 'Requests and responses']]} value=${responses} onPick=${setResponses} />`}
    <${FilterInput} data=${data} id="hold-filter" label="Message filter" placeholder="name:get-sum method:tools/call" value=${filter} onText=${setFilter} onEnter=${() => document.getElementById('hold').focus()} />
    ${error && html`<p id="hold-filter-error" class="wrong" role="alert">${error}</p>`}<p class="dim">For all taps and proxies. Enter twice holds.</p>
    <div class="buttons end">${S.status.intercept && html`<button onClick=${holdNothing}>Hold nothing</button>`}<button id="hold" class="main danger" onClick=${hold}>Hold</button></div><//>`;
}

const exportForms = [['bundle', 'Bundle: for a colleague; a double click opens it in a browser'], ['har', 'HAR'], ['markdown', 'Markdown'], ['jsonl', 'JSON lines'], ['saved', 'Saved calls'], ['html', 'HTML page']];
function Export() {
  const [form, setForm] = useState('bundle');
  const [marked, setMarked] = useState(false);
  const [seen, setSeen] = useState(null);
  const e = { ...query(), from: 0, count: 0, form, marked };
  useEffect(() => {
    let timeLeft = false;
    setSeen(null);
    post('preview', e).then(p => timeLeft || setSeen(p), x => timeLeft || setSeen({ error: x.message }));
    return () => { timeLeft = true; };
  }, [form, marked]);
  const save = () => data.file('do/export', e).then(f => {
    if (f.blob) {
      const a = Object.assign(document.createElement('a'), { href: URL.createObjectURL(f.blob), download: f.name });
      a.click();
      setTimeout(() => URL.revokeObjectURL(a.href), 60000);
    }
    showToast(`Saved ${f.name || f.done.file}.`, { dialog: null });
  }, showError);
  return html`<${Dialog} title="Export what is shown"><fieldset><legend>As</legend>${exportForms.map(([id, name]) => html`<label class="check"><input type="radio" name="form" checked=${id === form} onChange=${() => setForm(id)} />${name}</label>`)}</fieldset>
    <label class="check"><input type="checkbox" checked=${marked} onChange=${x => setMarked(x.target.checked)} />Only marked exchanges</label>
    <div class="callout" role="status">${!seen ? 'Counting…' : seen.error ? html`<span class="wrong">${seen.error}</span>` : html`<p>${countNoun(seen.rows, 'exchange')}. ${seen.hidden ? countNoun(seen.hidden, 'secret') + ' hidden.' : 'No secret had to be hidden.'}</p>
      ${(seen.doubts || []).length > 0 && html`<p class="wrong">Still looks like a secret:</p><ul>${seen.doubts.slice(0, 20).map(w => html`<li><code>${w}</code></li>`)}</ul>`}`}</div>
    <div class="buttons end"><button class="main" disabled=${!seen || seen.error || !seen.rows} onClick=${save}>${S.powers.files ? 'Write the file' : 'Download'}</button></div><//>`;
}

function Compare() {
  const list = S.conversations;
  // The shown conversation, and the newest other conversation, preferably of the same server.
  const one = list.find(c => c.id === S.talk) || list.find(c => c.first) || {}, server = c => (c.server || c.target || '').split(' ')[0], same = c => server(c) === server(one);
  const byAge = (x, y) => x.began < y.began ? -1 : 1, [other] = list.filter(c => c !== one).sort((x, y) => same(y) - same(x) || byAge(y, x));
  const [before, after] = [one, other || {}].sort(byAge);
  const [a, setA] = useState(before.id), [b, setB] = useState(after.id);
  const found = useDocs(data, a && b && a !== b ? 'compare' : 'status', a && b && a !== b ? { a, b } : {}, true);
  const pick = (label, v, to) => html`<label class="field">${label} <select onChange=${e => to(e.target.value)}>${list.map(c => html`<option value=${c.id} selected=${c.id === v}>${formatTime(c.began)} ${c.client || c.by} → ${c.server || c.target}, ${countNoun(c.rows, 'exchange')}</option>`)}</select></label>`;
  return html`<${Dialog} wide title="Compare conversations">${pick('From', a, setA)}${pick('To', b, setB)}
    ${!a || !b || a === b ? html`<p class="dim">Choose two conversations.</p>` : !found || !found.tools && !found.a ? html`<p class="dim">Reading…</p>` : [['Tools', found.tools], ['Schemas', found.schemas], ['Calls', found.calls], ['Timing', found.timing]].map(([name, x]) =>
      html`<h3>${name}</h3>${(x || []).length ? html`<ul>${x.slice(0, 200).map(t => html`<li>${t}</li>`)}</ul>` : html`<p class="dim">No difference.</p>`}`)}<//>`;
}

// Confirm draws the question of ask. Each question is a new dialog.
export function Confirm() {
  const c = S.confirm, no = () => c.done(false);
  return c && html`<${Dialog} key=${c.done} title=${c.title} onClose=${no}><p>${c.text}</p><div class="buttons end"><button onClick=${no}>Cancel</button><button class="main danger" onClick=${() => c.done(true)}>${c.word}</button></div><//>`;
}

// Asking says that the user has to answer at the terminal. It may be above another dialog.
export function Asking() {
  const { asking } = S;
  return asking && html`<${Dialog} title="Allow it at the terminal" onClose=${asking.cancel}><p>This page may not ${data.asks[asking.power]}.</p>
    <p>The terminal that runs <code>mcpc</code> ${asking.again ? 'still asks you' : 'asks you now'}: <kbd>y</kbd> and Enter there allows it until the view ends, <kbd>n</kbd> refuses. The action then goes on here.</p>
    <p class="dim">From the start: <code>--allow=${asking.power}</code></p><div class="buttons end"><button onClick=${asking.cancel}>Cancel</button></div><//>`;
}

export function Dialogs() {
  const d = S.dialog;
  if (!d) return null;
  switch (d.kind) {
    case 'palette': return html`<${Palette} />`;
    case 'menu': return html`<${Menu} ...${d} />`;
    case 'edit': return html`<${EditCall} dialog=${d} />`;
    case 'step': return html`<${Step} ...${d} />`;
    case 'note': return html`<${Note} row=${d.row} />`;
    case 'intercept': return html`<${Intercept} />`;
    case 'export': return html`<${Export} />`;
    case 'login': return html`<${Login} data=${data} />`;
    case 'output': return html`<${Output} data=${data} />`;
    case 'compare': return html`<${Compare} />`;
    case 'report': return html`<${Dialog} wide title="Report"><${Markdown} text=${`${data.notes || ''}\n\n${data.report || ''}`} /><//>`;
    case 'text': return html`<${Dialog} title=${d.title}><pre>${d.text}</pre><//>`;
  }
}

// timeLeft returns the time until a held message is let go or a question is cancelled.
const left = until => until && Date.parse(until) > 0 ? `${formatSeconds(Math.max(0, (Date.parse(until) - Date.now()) / 1000))} left` : '';

function Question({ x: q, first }) {
  const sampling = q.method === 'sampling/createMessage', roots = q.method === 'roots/list';
  const [text, setText] = useState(JSON.stringify(sampling ? { role: 'assistant', content: { type: 'text', text: '' }, model: 'person' } : roots ? { roots: [] } : defaultValues(q.schema), null, 2));
  // The last letters may not be drawn yet.
  const latest = useRef(text), check = useRef(), box = useRef(), answer = async action => {
    if (action === 'accept' && check.current && !await check.current()) return;
    const { value, error } = tryParseJSON(latest.current);
    if (action === 'accept' && error) return showError(new Error('The answer is not JSON: ' + error));
    postAndShow('answer', { id: q.id, action, ...(action === 'accept' && !q.url ? { content: value } : {}) }, 'Answered.');
  };
  useLayoutEffect(() => () => { if (box.current.contains(document.activeElement)) leaveQuestion(); }, []);
  const host = q.url && safeURL(q.url) ? new URL(q.url).host : '';
  return html`<section class="ask" ref=${box} onKeyDown=${onCtrlEnter(() => answer('accept'))} id=${first ? 'questions' : undefined} tabindex="-1" aria-label=${`${q.server} asks`}><h2>? ${q.server} asks: ${q.method}${q.watched && html` <span class="dim">in the place of the client</span>`} <span class="dim" aria-hidden="true">${left(q.until)}</span></h2>
    <p class="text">${q.message}</p>
    ${q.url ? html`<p>It wants you to open a page of <b>${host || 'an unknown host'}</b>: <${Link} url=${q.url} /></p>` : html`${(sampling || roots) && q.params && html`<${Tree} value=${q.params} open=${2} />`}<${Form} schema=${q.schema} text=${text} onText=${t => { latest.current = t; setText(t); }} label="Answer" check=${check} />`}
    <div class="buttons"><button class="main" onClick=${() => answer('accept')}>Accept <kbd>Ctrl ↵</kbd></button><span class="space"></span><button onClick=${() => answer('decline')}>Decline</button><button onClick=${() => answer('cancel')}>Cancel</button></div></section>`;
}

// indent returns JSON on several lines, and other text unchanged.
const indent = text => (({ value, error }) => error ? text : JSON.stringify(value, null, 2))(tryParseJSON(text));
function Held({ x: m, first }) {
  const [text, setText] = useState(() => indent(m.text));
  const [warned, setWarned] = useState(false);
  const shown = useRef(text), edited = text !== shown.current, error = edited && tryParseJSON(text).error;
  const release = () => {
    if (error && !warned) return setWarned(true);
    postAndShow('release', { id: m.id, text: edited ? text : '' }, edited ? 'Let go, edited.' : 'Let go.');
  };
  const reveal = () => post('reveal', { id: m.id }).then(t => { setText(shown.current = indent(t.text)); }, showError);
  return html`<section class="ask held" aria-label=${`Held: ${m.method}`}><h2>‖ Held ${m.dir === 'sent' ? `${m.client} → ${m.server}` : `${m.server} → ${m.client}`}: ${m.method} ${m.name || ''} <span class="dim" aria-hidden="true">${left(m.until)}</span></h2>
    <textarea id=${first ? 'held-text' : undefined} class="json" rows=${Math.min(24, text.split('\n').length + 1)} spellcheck=${false} aria-label="Message" value=${text} onInput=${e => { setText(e.target.value); setWarned(false); }} onKeyDown=${onCtrlEnter(release)}></textarea>
    ${warned && error && html`<p class="wrong" role="alert">Not JSON: ${error}. Press again to send it as it is.</p>`}
    <div class="buttons"><button class="main" onClick=${release}>${edited ? 'Let go, edited' : 'Let go'}</button>${m.masked > 0 && text === indent(m.text) && html`<button onClick=${reveal}>Reveal ${countNoun(m.masked, 'secret')}</button>`}<span class="space"></span>
      <button class="danger" onClick=${() => drop(m)}>Drop</button></div></section>`;
}

// Waiting shows the held messages or the questions above the view, once they are opened. Both stay drawn, so that what was
// typed is kept.
export function Waiting() {
  const { held, questions, waiting } = S, list = (kind, items, Item) => html`<div hidden=${waiting !== kind}>${items.slice(0, 20).map((x, i) => html`<${Item} key=${x.id} x=${x} first=${!i} />`)}</div>`;
  return (held.length > 0 || questions.length > 0) && html`<div class="waiting" hidden=${!waiting}><button class="link" onClick=${() => set({ waiting: '' })}>Hide (Esc)</button>${list('held', held, Held)}${list('questions', questions, Question)}</div>`;
}

// WaitingBar counts what waits for the user, on one line, with the keys that open it.
export function WaitingBar() {
  const { questions, held, faults, status } = S, fresh = newConversations().length, first = held.map(m => m.until).sort()[0], holds = status.intercept || held.length > 0;
  const part = (tone, key, text) => html`<button class=${tone} onClick=${() => runActionByKey(key)}><kbd>${key}</kbd> ${text}</button>`;
  return (questions.length > 0 || holds || faults.length > 0 || fresh > 0) && html`<div class="bar waits" role="group" aria-label="What waits for you">
    ${questions.length > 0 && part('asking', 'a', `? ${countNoun(questions.length, 'question')}: ${questions[0].server} asks`)}
    ${holds && html`${part('holding', held.length ? 'e' : 'i', `‖ Holding ${status.wanted || 'every message'}: ${countNoun(status.held || 0, 'message')} held`)}${first && html`<span aria-hidden="true">first: ${left(first)}</span>`}<button onClick=${() => runActionByKey('I')}>Let all go (I)</button>`}
    ${faults.length > 0 && part('', 'B', `${countNoun(faults.length, 'fault')} set: ${faults.map(f => `${f.kind} ${f.request}`).join(', ')}`)}
    ${fresh > 0 && part('', 'w', `● ${countNoun(fresh, 'new conversation')}`)}</div>`;
}

// AppButton shows the app of a tool. call has the target and the tool; read(), if given, returns its arguments and its result.
export function AppButton({ call, read }) {
  const no = powerReason('call')() || (read ? '' : 'call the tool first');
  return html`<button class="act" aria-disabled=${!!no} title=${no ? 'Show app: ' + no : 'Render the page of the tool'} onClick=${() => no ? set({ toast: 'Show app: ' + no, bad: true }) : showApp(call, read)}>Show app</button>`;
}
async function showApp(call, read) {
  showToast('Reading the app…');
  try {
    const { input, result } = await read();
    const app = await postConfirmed('app', call), { AppPanel } = await import('./app.js');
    set({ toast: '', app: app ? { ...app, call, input, result, Panel: AppPanel, at: Date.now() } : null });
  } catch (e) { showError(e); }
}
// recordedCall reads the arguments and the result of a recorded call.
export async function recordedCall(data, key, detail) {
  const d = detail || await data.get('row', { key });
  const read = async body => body && tryParseJSON(body.cut ? await data.body({ key, frame: body.frame }) : body.text).value;
  const [request, response] = [await read(d.request), await read(d.response)];
  return { input: request && request.params && request.params.arguments, result: response && response.result };
}
