// The panel of an app: its frame, switches for theme and width, and its messages. It is loaded when an app is shown.
import { useEffect, useRef, useState } from './vendor/hooks.mjs';
import { html, S, set, formatTime, formatBytes, countNoun, safeURL } from './lib.js';
import { Pick, ask } from './ui.js';
import { post } from './act.js';
import { AppHost, hostContext, makeFrame, responseOf } from './host.js';

const widths = [[390, 'Phone'], [768, 'Tablet'], [0, 'Full']];
const systemTheme = () => S.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');

// AppPanel shows S.app.
export function AppPanel() {
  const { app } = S, dialog = useRef(), box = useRef(), host = useRef(), refused = useRef(0), asking = useRef(false), [, draw] = useState(0), [theme, setTheme] = useState(systemTheme()), [width, setWidth] = useState(0), [open, setOpen] = useState(0);
  const page = app.declared.page, [late, setLate] = useState(false);
  const wide = () => width || box.current.clientWidth;
  // confirmed asks one question at a time. After three refusals it asks no more.
  const confirmed = async (text, title, word) => {
    if (asking.current || refused.current >= 3 || S.dialog || S.confirm) return false;
    asking.current = true;
    const yes = await ask(text, title, word);
    asking.current = false;
    if (!yes) refused.current++;
    return yes;
  };
  const request = async (method, params) => {
    if (method === 'ui/open-link') {
      const url = safeURL(params.url);
      if (!url || !await confirmed(`The app wants to open ${url}`, 'Open the address?', 'Open')) return { result: { isError: true } };
      window.open(url, '_blank', 'noopener,noreferrer');
      return { result: {} };
    }
    const r = { target: app.call.target, method, params };
    let answer = await post('apprequest', { app: r });
    for (let i = 0; answer.confirm && i < 3; i++) answer = await confirmed('The app: ' + answer.confirm) ? await post('apprequest', { app: { ...r, confirmed: true } }) : { text: 'the user refused it' };
    return responseOf(answer);
  };
  const close = () => host.current.teardown().then(() => set(S.app === app ? { app: null } : {}));
  useEffect(() => {
    let frames = 0;
    const frame = makeFrame(app), timer = setTimeout(() => setLate(true), 10000), h = host.current = new AppHost({ frame, origin: new URL(app.frame).origin, input: app.input, result: app.result, ask: request, onEnd: close,
      sandbox: { csp: app.declared.page.declared && app.declared.page.declared.csp || {} }, context: () => hostContext({ theme: systemTheme(), width: box.current.clientWidth, definition: app.definition }),
      onChange: () => { frames ||= requestAnimationFrame(() => { frames = 0; draw(n => n + 1); }); }, onSize: (w, height) => { if (height) frame.style.height = height + 'px'; } });
    box.current.append(frame);
    dialog.current.showModal();
    document.getElementById('close-app').focus();
    return () => { h.close(); clearTimeout(timer); frame.remove(); };
  }, []);
  useEffect(() => {
    const { frame } = host.current;
    frame.style.width = width ? width + 'px' : '100%';
    host.current.contextChanged({ theme, containerDimensions: { width: wide(), maxHeight: 4000 } });
  }, [theme, width]);
  const h = host.current || { entries: [], state: 'loading', count: 0, dropped: 0 }, shown = h.entries.find(e => e.n === open);
  return html`<dialog class="app-panel" aria-label="App" ref=${dialog} onCancel=${e => { e.preventDefault(); close(); }}>
    <header class="title"><h2>App of ${app.call.tool} <span class="dim">${app.declared.resourceUri}, ${formatBytes(page.bytes)}</span></h2>
      <${Pick} label="Theme" list=${[['light', 'Light'], ['dark', 'Dark']]} value=${theme} onPick=${setTheme} /><${Pick} label="Width" list=${widths} value=${width} onPick=${setWidth} /><button id="close-app" aria-label="Close the app" title="Esc" onClick=${close}>✕</button></header>
    <p class="dim">${page.origins.length ? html`May reach <b>${page.origins.join(', ')}</b>. ` : 'May reach no other address. '}${page.permissions.length ? html`Asks for <b>${page.permissions.join(', ')}</b>. ` : ''}
      ${h.state === 'loading' ? late && html`<span class="wrong">It has not sent ui/initialize, which an app does first. </span>` : ''}${h.dropped ? html`<b class="wrong">${countNoun(h.dropped, 'message')} dropped: too many or too large. </b>` : ''}
      ${app.declared.problems.map(p => html`<span class="wrong">${p}. </span>`)}</p>
    <div class="app-body"><div class=${'app-box ' + theme} ref=${box}></div>
      <div class="app-messages" aria-label="Messages of the app" tabindex="0"><h3>${countNoun(h.count, 'message')}</h3>${h.entries.slice(-200).reverse().map(e => html`<button class="plain app-message" key=${e.n} aria-expanded=${e.n === open} onClick=${() => setOpen(e.n === open ? 0 : e.n)}>
        <span class="time">${formatTime(e.time, true)}</span> <b>${e.dir === 'sent' ? '→' : '←'}</b> ${e.method} <span class="dim">${formatBytes(e.bytes)}</span></button>${e === shown && html`<pre>${e.text}</pre>`}`)}</div></div></dialog>`;
}
