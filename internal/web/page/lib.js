// What all modules use: the state, how it stands in the URL, and texts for values.
import { h, options } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';

options.debounceRendering = f => requestAnimationFrame(f);

// Control and direction characters of servers are shown by name, wherever text is shown.
const odd = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
export const clean = s => typeof s !== 'string' || s.search(odd) < 0 ? s
  : s.replace(odd, c => c === '\r' ? '' : c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : `‹U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`);
const cleanAll = c => Array.isArray(c) ? c.map(cleanAll) : clean(c);
export const html = htm.bind((type, props, ...children) => {
  if (props) {
    for (const name of ['title', 'aria-label', 'placeholder', 'label']) props[name] &&= clean(props[name]);
    if (typeof props.class === 'string') props.class = props.class.replace(/[^\w -]/g, ''); // kinds and levels come from files
  }
  return h(type, props, ...children.map(cleanAll));
});

export const views = [['talk', 'Talk'], ['table', 'Table'], ['time', 'Time'], ['tools', 'Tools'], ['streams', 'Streams'], ['secrets', 'Secrets']];

// S is the state; set changes it and draws once in the next frame.
export const S = { view: 'talk', filter: '', sort: '', talk: '', only: '', row: '', tab: 'summary', detail: false,
  status: {}, seq: 0, conversations: [], questions: [], held: [], follow: true, paused: false, lost: '', toast: '', error: null, dialog: null, powers: {} };
// talkOf is the conversation that is shown. The one that the page began with is for the Talk
// without a filter: a filter, or a list of tools, is about all that is recorded.
export const talkOf = () => S.first && (S.filter || S.only || S.view !== 'talk') ? '' : S.talk;
// orAbsent is a text for an empty list, which says so if no row of the conversation is kept any more.
export const orAbsent = text => talkOf() && S.conversations.length && !S.conversations.some(c => c.id === talkOf()) ? 'No row of this conversation is kept. C shows everything.' : text;
// follows is true while the newest is shown: the list is in the order of time.
export const follows = () => S.follow && !(S.sort && S.view === 'table');
let draw = () => {};
export const onDraw = f => { draw = f; };
export function set(patch) {
  Object.assign(S, patch);
  draw();
}

// The URL's fragment has what is shown, and never a token. Another view, conversation or detail is a step of the
// browser's history: Back undoes it.
const inURL = { v: 'view', f: 'filter', s: 'sort', c: 'talk', only: 'only', row: 'row', tab: 'tab' };
const stepOf = hash => { const p = new URLSearchParams(hash.slice(1)); return ['v', 'c', 'only', 'd'].map(name => p.get(name)).join('\n'); };
const usual = { view: 'talk', tab: 'summary' };
let known; // what this file wrote or read last; anything else was typed, and is read soon
export function saveURL() {
  if (known !== undefined && location.hash !== known) return;
  const p = new URLSearchParams();
  for (const [short, name] of Object.entries(inURL)) if (S[name] && S[name] !== usual[name] && !(name === 'row' && S.follow) && !(name === 'talk' && S.first)) p.set(short, S[name]);
  if (S.detail) p.set('d', 1);
  const hash = p.size ? '#' + p : '';
  if (hash !== location.hash) history[known !== undefined && stepOf(hash) !== stepOf(location.hash) ? 'pushState' : 'replaceState'](null, '', location.pathname + location.search + hash);
  known = location.hash;
}
export function loadURL() {
  known = location.hash;
  const p = new URLSearchParams(location.hash.slice(1));
  const found = { detail: p.has('d') };
  for (const [short, name] of Object.entries(inURL)) found[name] = p.get(short) || usual[name] || '';
  const first = S.first && !found.talk; // the conversation that the page began with is in no URL
  set({ ...found, talk: first ? S.talk : found.talk, first, follow: !found.row });
}

// fail shows an error: that of a filter stands at its column.
export const fail = e => e.name === 'AbortError' || set(e.column ? { error: e } : { toast: e.message, bad: true });
export const fine = () => S.error && set({ error: null });
export const say = (toast, more) => set({ toast, bad: false, ...more });
// ask opens a dialog, close closes it.
export const close = () => set({ dialog: null });
export const ask = (kind, more) => set({ dialog: { kind, ...more } });

const two = n => String(n).padStart(2, '0');
export function clock(t, exact) {
  const d = new Date(t);
  if (!t || isNaN(d) || d.getFullYear() < 1971) return '';
  const time = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
  return exact ? `${time}.${String(d.getMilliseconds()).padStart(3, '0')}` : time;
}
export function took(s) {
  if (s === undefined || s === null) return '';
  if (s < 0.9995) return `${(s * 1000).toFixed(s > 5e-5 && s < 0.00995 ? 1 : 0)} ms`;
  if (s < 60) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  const m = Math.floor(s / 60);
  return m < 60 ? `${m}:${two(Math.floor(s % 60))} min` : `${Math.floor(m / 60)}:${two(m % 60)} h`;
}
export const size = n => n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)} kB` : `${(n / 1e6).toFixed(1)} MB`;
export const many = (n, one, more = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : more}`;
// secondsOf is how long a row took; that of an open one counts on.
export const secondsOf = (r, at) => r.state === 'done' || S.status.file || !at ? r.seconds : r.seconds + (performance.now() - at) / 1000;
// unversioned is a name without its version.
export const unversioned = s => String(s).replace(/ v?\d\S*$/, '');
export const quote = v => /^[\w.*/-]+$/.test(v) ? v : `"${v.replace(/[\\"]/g, '\\$&')}"`;

// parse reads JSON; numbers that JavaScript would round keep their digits.
export const parse = text => JSON.parse(text, (_, v, c) =>
  typeof v === 'number' && c && c.source && JSON.rawJSON && !Number.isSafeInteger(v) && String(v) !== c.source ? JSON.rawJSON(c.source) : v);
export const isRaw = v => !!(JSON.isRawJSON && JSON.isRawJSON(v));
export function tryParse(text) {
  try { return { value: parse(text) }; } catch (e) { return { error: e.message }; }
}
// px gives an element sizes, which are no attributes of the markup.
export const px = sizes => el => { if (el) for (const [name, n] of Object.entries(sizes)) el.style[name] = n + 'px'; };
export const link = url => {
  try { return /^https?:$/.test(new URL(url).protocol) ? url : ''; } catch { return ''; }
};
export const query = () => ({ filter: S.filter, talk: talkOf(), only: S.only });
export const pointer = (path, name) => `${path}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
export const what = r => [r.method, r.name].filter(Boolean).join(' ');
