// The data of a running mcpc. remote() and inline() return the same members: title, powers, get,
// post, body, image, file and watch.

const kept = 'mcpc-page';

export async function remote(session = sessionStorage) {
  const shown = new URLSearchParams(location.hash.slice(1)), token = shown.get('t');
  shown.delete('t');
  let door = JSON.parse(session.getItem(kept) || 'null');
  if (token) {
    history.replaceState(null, '', location.pathname + (shown.size ? '#' + shown : ''));
    door = await ask('/enter', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) }).then(r => r.json());
    session.setItem(kept, JSON.stringify(door));
  }
  if (!door) throw new Error('Open the address that mcpc inspect --web printed. It lets one page in.');
  const head = { 'X-Mcpc': door.key };
  const query = params => new URLSearchParams(Object.entries(params || {}).filter(([, v]) => v || v === 0));
  const get = (name, params, signal) => ask(`/api/${name}?${query(params)}`, { headers: head, signal });
  const post = (name, body) => ask('/api/' + name, { method: 'POST', headers: { ...head, 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  return {
    title: door.title, powers: door.powers,
    get: (name, params, signal) => get(name, params, signal).then(r => r.json()),
    post: (name, body) => post(name, body).then(r => r.json()),
    body: params => get('body', params).then(r => r.text()),
    image: params => get('image', params).then(r => r.blob()),
    // file is what an export answers: a file to save, or a document about one.
    file: (name, body) => post(name, body).then(async r => {
      const saved = /filename="(.*)"/.exec(r.headers.get('Content-Disposition') || '');
      return saved ? { name: saved[1], blob: await r.blob() } : { done: await r.json() };
    }),
    watch: (changed, lost) => void follow(get, changed, lost),
  };
}

async function ask(url, init) {
  const r = await fetch(url, init);
  if (r.ok) return r;
  const said = await r.json().catch(() => ({}));
  throw Object.assign(new Error(said.error || `HTTP ${r.status}`), { status: r.status, column: said.column });
}

// follow reads the events for as long as the page is open, with pauses from 0.5 s to 8 s.
async function follow(get, changed, lost) {
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
      lost('Connection lost. Trying again.');
    } catch (e) {
      lost(e.status === 401 ? 'This page was not let in. Open the address that mcpc inspect --web prints.' : 'Connection lost. Trying again.');
      if (e.status === 401) return;
    }
    await new Promise(r => setTimeout(r, wait));
  }
}
