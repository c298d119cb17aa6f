// What all modules use: the state, its form in the URL, and texts for values.
import { h, options } from './vendor/preact.mjs';
import htm from './vendor/htm.mjs';

options.debounceRendering = f => requestAnimationFrame(f);

// clean makes control and direction characters in a server's text visible. html calls it for all text that it shows.
const hiddenCharacters = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
export const clean = s => typeof s !== 'string' || s.search(hiddenCharacters) < 0 ? s
  : s.replace(hiddenCharacters, c => c === '\r' ? '' : c < ' ' ? String.fromCharCode(0x2400 + c.charCodeAt(0)) : `‹U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}›`);
const cleanChildren = c => Array.isArray(c) ? c.map(cleanChildren) : clean(c);
export const html = htm.bind((type, props, ...children) => {
  if (props) {
    for (const name of ['title', 'aria-label', 'placeholder', 'label']) props[name] &&= clean(props[name]);
    // Kinds and levels come from files.
    if (typeof props.class === 'string') props.class = props.class.replace(/[^\w -]/g, '');
  }
  return h(type, props, ...children.map(cleanChildren));
});

// views lists the views: id, name, key. shownViews leaves out Home if there are no servers to show, and Try in a file.
export const views = [['talk', 'Talk', '1'], ['table', 'Table', '2'], ['time', 'Time', '3'], ['tools', 'Tools', '4'], ['streams', 'Streams', '5'], ['secrets', 'Secrets', '6'], ['home', 'Home', 'H'], ['try', 'Try', 'T']];
export const shownViews = () => views.filter(([id]) => (id !== 'home' || S.status.home) && (id !== 'try' || !S.status.file));

// S is the state; set changes it and draws once in the next frame.
// Views ask for asked, the filter that follows filter, the text of the filter line, once typing pauses.
export const S = { view: 'talk', filter: '', asked: '', sort: '', server: '', kind: '', offer: '', talk: '', only: '', row: '', tab: 'summary', detail: false,
  status: {}, seq: 0, conversations: [], questions: [], held: [], texts: [], faults: [], unseen: [], waiting: '', confirm: null, asking: null, follow: true, paused: false, lost: '', toast: '', error: null, dialog: null, zoom: null, run: null, failure: null, app: null, powers: {}, theme: '' };
// shownTalk returns the id of the shown conversation, or '' for all. The conversation that the page chose at the start
// (S.first) applies only to the Talk view without a filter: filters and lists of tools cover everything recorded.
export const shownTalk = () => S.first && (S.asked || S.only || S.view !== 'talk') ? '' : S.talk;
// showsRows reports whether the view lists exchanges.
export const showsRows = () => ['talk', 'table', 'time'].includes(S.view);
// newConversations returns the ids of the conversations that began since the user looked, the oldest first. A conversation
// counts as seen once it is on the screen.
export const newConversations = () => S.unseen = S.unseen.filter(id => S.conversations.some(c => c.id === id)
  && !(showsRows() && !document.hidden && (shownTalk() === id || !shownTalk() && isFollowing() && !S.paused)));
// orAbsentText returns the text for an empty list, or a different one if no row of the conversation is kept any more.
export const orAbsentText = text => shownTalk() && S.conversations.length && !S.conversations.some(c => c.id === shownTalk()) ? 'No exchange of this conversation is kept. C shows everything.' : text;
// isFollowing reports whether the newest exchange stays selected, which needs the order of time.
export const isFollowing = () => S.follow && !(S.sort && S.view === 'table');
let redraw = () => {};
export const onDraw = f => { redraw = f; };
export function set(patch) {
  if ('filter' in patch) {
    clearTimeout(pause);
    S.asked = patch.filter;
  }
  Object.assign(S, patch);
  redraw();
}
// typeFilter sets the filter line, and asks for it once typing pauses. It waits longer while the last filter asked for
// is incomplete.
let pause;
export function typeFilter(filter) {
  set({ filter, asked: S.asked });
  clearTimeout(pause);
  pause = setTimeout(() => set({ filter: S.filter }), S.error ? 1000 : 250);
}
// isRefused reports whether mcpc has refused the filter asked for, so that no view asks for it again.
export const isRefused = () => !!S.error && S.error.filter === S.asked;

// The URL's fragment has what is shown, and never a token. Another view, conversation or detail is a step of the
// browser's history: Back undoes it.
const urlParams = { v: 'view', f: 'filter', s: 'sort', c: 'talk', only: 'only', row: 'row', tab: 'tab', server: 'server', kind: 'kind', offer: 'offer', theme: 'theme' };
const historyStep = hash => { const p = new URLSearchParams(hash.slice(1)); return ['v', 'c', 'only', 'd', 'server'].map(name => p.get(name)).join('\n'); };
const defaultState = { view: 'talk', tab: 'summary' };
// What this file wrote or read last; anything else was typed, and is read soon.
let knownHash;
export function saveURL() {
  if (knownHash !== undefined && location.hash !== knownHash) return;
  const p = new URLSearchParams();
  for (const [short, name] of Object.entries(urlParams)) if (S[name] && S[name] !== defaultState[name] && !(name === 'row' && S.follow) && !(name === 'talk' && S.first)) p.set(short, S[name]);
  if (S.detail) p.set('d', 1);
  const hash = p.size ? '#' + p : '';
  if (hash !== location.hash) history[knownHash !== undefined && historyStep(hash) !== historyStep(location.hash) ? 'pushState' : 'replaceState'](null, '', location.pathname + location.search + hash);
  knownHash = location.hash;
}
export function loadURL() {
  knownHash = location.hash;
  const p = new URLSearchParams(location.hash.slice(1));
  const found = { detail: p.has('d') };
  for (const [short, name] of Object.entries(urlParams)) found[name] = p.get(short) || defaultState[name] || '';
  // The conversation that the page began with is in no URL.
  const first = S.first && !found.talk;
  set({ ...found, talk: first ? S.talk : found.talk, first, follow: !found.row });
}

// applyTheme shows the page light, dark, or as the system is ('').
export const applyTheme = () => { document.documentElement.style.colorScheme = S.theme || 'light dark'; };

// showError shows an error: an error in the filter at its column, any other in a toast.
export const isAborted = e => e.name === 'AbortError';
export const showError = e => isAborted(e) || set(e.column ? { error: e } : { toast: e.message, bad: true });
export const clearError = () => S.error && set({ error: null });
export const showToast = (toast, more) => set({ toast, bad: false, ...more });

// everything is the state that shows all exchanges.
export const everything = { filter: '', only: '', talk: '', first: false, zoom: null, error: null };
// showRow shows the detail of an exchange, which may not be in the list yet.
export const showRow = (row, more) => set({ row, picked: null, detail: true, follow: false, ...more });

export const closeDialog = () => set({ dialog: null });
export const openDialog = (kind, more) => set({ dialog: { kind, ...more } });

const twoDigits = n => String(n).padStart(2, '0');
export function formatTime(t, exact) {
  const d = new Date(t);
  if (!t || isNaN(d) || d.getFullYear() < 1971) return '';
  const time = `${twoDigits(d.getHours())}:${twoDigits(d.getMinutes())}:${twoDigits(d.getSeconds())}`;
  return exact ? `${time}.${String(d.getMilliseconds()).padStart(3, '0')}` : time;
}
export function formatSeconds(s) {
  if (s === undefined || s === null) return '';
  if (s < 0.9995) return `${(s * 1000).toFixed(s > 5e-5 && s < 0.00995 ? 1 : 0)} ms`;
  if (s < 60) return `${s.toFixed(s < 10 ? 2 : 1)} s`;
  const m = Math.floor(s / 60);
  return m < 60 ? `${m}:${twoDigits(Math.floor(s % 60))} min` : `${Math.floor(m / 60)}:${twoDigits(m % 60)} h`;
}
export const formatBytes = n => n < 1000 ? `${n} B` : n < 1e6 ? `${(n / 1000).toFixed(n < 1e4 ? 1 : 0)} kB` : `${(n / 1e6).toFixed(1)} MB`;
export const countNoun = (n, one, more = one + 's') => `${n.toLocaleString('en')} ${n === 1 ? one : more}`;
// elapsedSeconds returns how long a row took, or for an open row how long it has been open; at is when it was read.
export const elapsedSeconds = (r, at) => r.state === 'done' || S.status.file || !at ? r.seconds : r.seconds + (performance.now() - at) / 1000;
// withoutVersion returns a name without its version.
export const withoutVersion = s => String(s).replace(/ v?\d\S*$/, '');
export const quoteValue = v => /^[\w.*/-]+$/.test(v) ? v : `"${v.replace(/[\\"]/g, '\\$&')}"`;

// parseJSON parses JSON. Numbers that JavaScript would round keep their digits.
export const parseJSON = text => JSON.parse(text, (_, v, c) =>
  typeof v === 'number' && c && c.source && JSON.rawJSON && !Number.isSafeInteger(v) && String(v) !== c.source ? JSON.rawJSON(c.source) : v);
export const isRaw = v => !!(JSON.isRawJSON && JSON.isRawJSON(v));
export function tryParseJSON(text) {
  try { return { value: parseJSON(text) }; } catch (e) { return { error: e.message }; }
}
// sizeInPixels returns a ref that sets CSS sizes of an element. The page's policy forbids style attributes.
export const sizeInPixels = sizes => el => { if (el) for (const [name, n] of Object.entries(sizes)) el.style[name] = n + 'px'; };
export const safeURL = url => {
  try { return /^https?:$/.test(new URL(url).protocol) ? url : ''; } catch { return ''; }
};
export const shownQuery = () => ({ filter: S.asked, talk: shownTalk(), only: S.only });
export const joinPointer = (path, name) => `${path}/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`;
export const requestTitle = r => [r.method, r.name].filter(Boolean).join(' ');
