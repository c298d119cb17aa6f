// The Home view: cards of the known servers, and what can be done with one.
import { useEffect, useRef, useState } from './vendor/hooks.mjs';
import { html, S, countNoun, formatSeconds } from './lib.js';
import { nav, takeKeys, copyText } from './ui.js';
import { useDocs } from './views.js';
import { Button, checkServers, logInTo, powerReason } from './act.js';
import { openTry } from './try.js';

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
