// The page of mcpc app: one app for a browser without a user. It finishes loading when the app is quiet.
import { AppHost, hostContext, makeFrame, responseOf } from './host.js';

const base = `/${document.body.dataset.key}/`;
const post = (name, body) => fetch(base + name, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }).then(r => r.json());
const { app, input, result, theme, width, limit, quiet } = await fetch(base + 'config').then(r => r.json());
const frame = makeFrame(app);
document.body.style.margin = 0;
document.body.style.background = theme === 'dark' ? '#1b1b1f' : '#fff';
Object.assign(frame.style, { display: 'block', border: 0, width: width + 'px', colorScheme: 'light' });
document.querySelector('img').style.display = 'none';
let height = 600;
const resize = (_, n) => { if (n) height = n; frame.style.height = height + 'px'; };
const host = new AppHost({ frame, origin: new URL(app.frame).origin, input, result, context: () => hostContext({ theme, width, definition: app.definition }), onChange() {}, onEnd() {}, onSize: resize,
  ask: async (method, params) => method === 'ui/open-link' ? { result: { isError: true } } : responseOf(await post('request', { method, params })) });
resize();
document.body.append(frame);
const timer = setInterval(() => {
  const now = performance.now(), isQuiet = host.state === 'ready' && !host.running && now - host.changed > quiet;
  if (!isQuiet && now < limit) return;
  clearInterval(timer);
  post('done', { state: host.state, quiet: isQuiet, height, dropped: host.dropped, messages: host.entries.map(({ dir, method, bytes }) => ({ dir, method, bytes })) });
}, 50);
