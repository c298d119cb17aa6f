// The page of a running mcpc. remote() returns the page's data: an object with the members title, powers, get, post, body,
// image, file and watch, and asks, maxHold and faults.
import { S, set, parseJSON } from './lib.js';
import { start } from './main.js';

const storageKey = 'mcpc-page', connectionLost = 'The connection to mcpc is lost. Trying again.',
  notAdmitted = 'This page is not authorized: each address works for one page. Enter at the terminal of mcpc prints a new one to open here.';

async function remote() {
  const shown = new URLSearchParams(location.hash.slice(1)), token = shown.get('t');
  shown.delete('t');
  let door = JSON.parse(sessionStorage.getItem(storageKey) || 'null');
  if (token) {
    history.replaceState(null, '', location.pathname + (shown.size ? '#' + shown : ''));
    door = await fetchOrThrow('/enter', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) }).then(r => r.json());
    sessionStorage.setItem(storageKey, JSON.stringify(door));
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
  // unanswered has the powers that the terminal still asks about after the user has cancelled the wait here.
  const asking = {}, unanswered = new Set();
  const askAtTerminal = (power, signal) => asking[power] ??= (async () => {
    const stop = new AbortController(), cancel = () => stop.abort(new DOMException('Cancelled.', 'AbortError'));
    signal?.addEventListener('abort', cancel);
    set({ asking: { power, cancel, again: unanswered.has(power) } });
    unanswered.add(power);
    try {
      await postOnce('do/allow', { power }, stop.signal);
    } finally {
      if (!stop.signal.aborted) unanswered.delete(power);
      delete asking[power];
      set({ asking: null });
    }
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

start(remote);
