// The login at a server: what starts it, and the dialog that shows each step.
import { useEffect, useState } from './vendor/hooks.mjs';
import { html, openDialog, closeDialog, everything, showRow, showError, formatSeconds, countNoun } from './lib.js';
import { Dialog, Link, copyText } from './ui.js';
import { postConfirmed } from './act.js';

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

function Step({ s }) {
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
    <ol>${l.steps.map(s => html`<${Step} key=${s.name} s=${s} />`)}</ol></div>
    <div class="buttons end">${l.done ? html`<button onClick=${closeDialog}>Close</button>` : html`<button onClick=${closeDialog}>Hide, it continues</button><button class="danger" onClick=${close}>Cancel the login</button>`}</div><//>`;
}
