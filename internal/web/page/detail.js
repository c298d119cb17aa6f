// Detail shows one exchange in tabs.
import { useEffect, useState } from './vendor/hooks.mjs';
import { html, S, set, fail, clock, took, size, many, tryParse, secondsOf, what } from './lib.js';
import { Tree, Markdown, Bar, phaseWords, tone } from './ui.js';
import { arrow, useDocs } from './views.js';
import { Actions } from './act.js';

const tabs = [['summary', 'Summary'], ['request', 'Request'], ['answer', 'Answer'], ['events', 'Events'], ['wire', 'Wire'], ['time', 'Time'], ['findings', 'Findings'], ['diff', 'Diff']];

export function Detail({ data }) {
  const [d, setD] = useState(null);
  const running = !d || d.row.key !== S.row || d.row.state !== 'done';
  useEffect(() => {
    let left = false;
    if (S.row) data.get('row', { key: S.row }).then(x => left || setD({ ...x, when: performance.now() }), e => left || (setD(null), fail(e)));
    return () => { left = true; };
  }, [S.row, running ? S.seq : 0, S.marks]);
  if (!S.row) return html`<p class="empty">Select an exchange.</p>`;
  if (!d) return html`<p class="empty">Reading…</p>`;
  const r = d.row, tab = tabs.some(([id]) => id === S.tab) ? S.tab : 'summary';
  const counts = { events: d.frames.filter(f => f.kind !== 'head' && f.body).length, wire: d.frames.length, findings: (d.findings || []).length };
  const step = e => {
    const i = tabs.findIndex(([id]) => id === tab), to = { ArrowRight: i + 1, ArrowLeft: i - 1 + tabs.length, Home: 0, End: tabs.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    set({ tab: tabs[to % tabs.length][0] });
    requestAnimationFrame(() => e.target.parentNode && e.target.parentNode.querySelector('[aria-selected=true]').focus());
  };
  return html`<header class="title"><h2><span class=${'tone ' + tone(r)}>${r.state === 'done' ? r.channel : r.state}</span> ${what(r)} <span class="dim">${r.key}, ${took(secondsOf(r, d.when))}</span></h2>
      <button aria-label="Close the detail" title="Esc" onClick=${() => set({ detail: false })}>✕</button></header>
    <${Actions} row=${r} detail=${d} />
    <div class="tabs" role="tablist" aria-label="Detail" onKeyDown=${step}>${tabs.map(([id, name]) => html`<button role="tab" id=${'tab-' + id} aria-controls="panel" aria-selected=${id === tab} tabindex=${id === tab ? 0 : -1}
      onClick=${() => set({ tab: id })}>${name}${counts[id] ? html` <span class="dim">${counts[id]}</span>` : ''}</button>`)}</div>
    <div class="panel" id="panel" role="tabpanel" aria-labelledby=${'tab-' + tab} tabindex="0" key=${r.key + tab}>${panels[tab]({ d, r, data })}</div>`;
}

const Facts = ({ list }) => html`<dl class="facts">${list.map(([k, v]) => html`<dt>${k}</dt><dd>${v}</dd>`)}</dl>`;
const none = text => html`<p class="empty">${text}</p>`;

const panels = {
  summary: ({ d, r }) => html`${d.cut && html`<p class="callout cut">✂ ${d.cut}</p>`}${d.why && html`<p class="callout">${d.why}</p>`}${r.failed && r.text && html`<p class="callout failed">${r.text}</p>`}
    <${Facts} list=${d.facts} />${r.note && html`<p class="callout">★ ${r.note}</p>`}
    ${d.lines.length > 0 && html`<h3>Messages</h3><div class="mini">${d.lines.slice(0, 300).map(l => html`<div class="mrow"><span class="time">${clock(l.time, true)}</span>${arrow(l)}</div>`)}</div>`}
    ${d.stderr && d.stderr.length > 0 && html`<h3>stderr of the server meanwhile</h3><pre>${d.stderr.join('\n')}</pre>`}`,
  request: ({ d, r, data }) => d.request ? html`<${Body} body=${d.request} data=${data} row=${r.key} side="params" wrong=${d.wrong} schema=${d.inputSchema} />` : none('There is no request.'),
  answer: ({ d, r, data }) => d.response ? html`<${Body} body=${d.response} data=${data} row=${r.key} side="result" schema=${d.outputSchema} draw />` : none(r.state === 'done' ? 'No answer came.' : 'No answer yet.'),
  events: ({ d, r, data }) => html`<${Frames} frames=${d.frames.filter(f => f.kind !== 'head' && f.body)} data=${data} row=${r.key} pretty empty="No messages." />`,
  wire: ({ d, r, data }) => html`<${Frames} frames=${d.frames} data=${data} row=${r.key} empty="Nothing was recorded." />`,
  time: ({ d, r }) => {
    const phases = r.phases || [], seconds = secondsOf(r, d.when);
    return html`<p class="big">${took(seconds)}${r.state !== 'done' && ' and going on'}</p>${d.why && html`<p class="callout">${d.why}</p>`}${d.group && html`<p>${d.group}</p>`}
      <div class="wide"><${Bar} row=${r} seconds=${seconds} full=${seconds} /></div>
      <table><thead><tr><th>phase</th><th class="num">time</th><th class="num">part</th></tr></thead><tbody>${phases.map(p => html`<tr><td>${phaseWords[p.name] || p.name}</td><td class="num">${took(p.seconds)}</td><td class="num">${Math.round(p.seconds / (seconds || 1) * 100)} %</td></tr>`)}</tbody></table>
      ${r.firstByte > 0 && html`<p>First byte after ${took(r.firstByte)}.</p>`}${r.quiet > 0 && r.state !== 'done' && html`<p>Last heard ${took(r.quiet)} ago.</p>`}`;
  },
  findings: ({ d }) => (d.findings || []).length ? d.findings.map(f => html`<article class=${'finding ' + f.severity}><h3><b>${f.severity}</b> ${f.rule}${f.pointer && html` <code>${f.pointer}</code>`}</h3><p>${f.text}</p>${f.fix && html`<p class="dim">${f.fix}</p>`}</article>`)
    : none('No rule was broken.'),
  diff: ({ d, r, data }) => html`<${Diff} d=${d} r=${r} data=${data} />`,
};

// Body shows a message: as a tree, drawn where it has text and images, or its bytes.
function Body({ body, data, row, side, wrong, schema, draw }) {
  const [rest, setRest] = useState('');
  const [form, setForm] = useState('pretty');
  const text = body.text + rest, { value } = body.hex || body.cut && !rest ? {} : tryParse(text);
  const object = value && typeof value === 'object' ? value : null, inner = object && object[side] !== undefined ? object[side] : undefined;
  const forms = ['pretty', 'raw', ...(schema ? ['schema'] : [])], shown = !object && form === 'pretty' ? 'raw' : form;
  const marks = Object.fromEntries((wrong || []).map(w => [(side === 'params' ? '/params/arguments' : '/result/structuredContent') + w.pointer, w.text]));
  const more = () => data.body({ key: row, frame: body.frame }).then(all => setRest(all.slice(body.text.length)), fail);
  const pictures = data.inline ? null : { data, row, frame: body.frame };
  return html`<div class="pick" role="group" aria-label="Show as">${forms.map(f => html`<button aria-pressed=${shown === f} onClick=${() => setForm(f)}>${f}</button>`)}<span class="dim">${size(body.bytes)}${body.hex ? ', hex' : ''}</span>
      ${body.cut && !rest && html`<button onClick=${more}>Read all of it</button>`}</div>
    ${(wrong || []).length > 0 && html`<ul class="wrongs">${wrong.map(w => html`<li class="wrong">✗ ${w.text}</li>`)}</ul>`}
    ${shown === 'raw' ? html`<pre class="raw">${text.length > 400000 ? text.slice(0, 400000) + '…' : text}</pre>` : shown === 'schema' ? html`<${Tree} value=${schema} open=${5} />`
      : html`${draw && inner && html`<${Content} list=${inner.content || inner.contents} />`}<${Tree} value=${object} open=${5} wrong=${marks} pictures=${pictures} />`}`;
}

// Content draws the text of a result. Text of a server is shown as text or as Markdown, never as HTML.
function Content({ list }) {
  const [plain, setPlain] = useState(true);
  const texts = (Array.isArray(list) ? list : []).filter(c => c && typeof c.text === 'string').slice(0, 50);
  if (!texts.length) return null;
  return html`<section class="drawn" aria-label="Text of the result"><button class="link corner" aria-pressed=${plain ? 'false' : 'true'} onClick=${() => setPlain(!plain)}>${plain ? 'as Markdown' : 'as text'}</button>
    ${texts.map(c => plain ? html`<pre>${c.text.slice(0, 100000)}</pre>` : html`<${Markdown} text=${c.text} />`)}</section>`;
}

function Frames({ frames, data, row, pretty, empty }) {
  const [count, setCount] = useState(100);
  if (!frames.length) return none(empty);
  return html`${frames.slice(0, count).map(f => html`<${FrameOf} key=${f.n} f=${f} data=${data} row=${row} pretty=${pretty} />`)}
    ${frames.length > count && html`<button onClick=${() => setCount(count + 200)}>${many(frames.length - count, 'more frame')}</button>`}`;
}
function FrameOf({ f, data, row, pretty }) {
  const [open, setOpen] = useState(false);
  const side = f.body && !f.body.hex && pretty ? tryParse(f.body.text).value : null;
  const text = f.line || (side && (side.method || (side.error ? 'error' : 'result' in side ? 'result' : ''))) || (f.body ? f.body.text.slice(0, 200) : '');
  return html`<details class=${'frame ' + f.dir} onToggle=${e => setOpen(e.target.open)}><summary><span class="time">${clock(f.time, true)}</span> <b>${f.dir === 'sent' ? '→' : f.dir === 'received' ? '←' : '·'}</b> <span class="kind">${f.kind}</span>
      ${f.event && html`<code>event ${f.event}</code>`}${f.id && html`<code>id ${f.id}</code>`} ${text}${f.note && html`<i> ${f.note}</i>`}${f.was && html` <b class="wrong">edited</b>`}${f.body && html` <span class="dim">${size(f.body.bytes)}</span>`}</summary>
    ${open && html`${f.head && html`<${Facts} list=${f.head} />`}${f.was && html`<h3>Before it was edited</h3><pre class="raw">${f.was.text}</pre><h3>As it was sent on</h3>`}
      ${f.body && (pretty ? html`<${Body} body=${f.body} data=${data} row=${row} side="params" />` : html`<pre class="raw">${f.body.text}${f.body.cut ? '…' : ''}</pre>`)}`}</details>`;
}

function Diff({ d, r, data }) {
  const choice = [d.before && ['the call before', d.before], r.again && ['the recorded original', r.again], S.marked && S.marked !== r.key && ['the marked row', S.marked]].filter(Boolean);
  const [other, setOther] = useState(choice.length ? choice[0][1] : '');
  const found = useDocs(data, other ? 'diff' : 'status', other ? { a: other, b: r.key } : {}, true);
  return html`<p class="pick">Against ${choice.map(([name, key]) => html`<button aria-pressed=${key === other} onClick=${() => setOther(key)}>${name} <span class="dim">${key}</span></button>`)}
      <label>or number <input size="8" value=${other} onChange=${e => setOther(e.target.value.trim())} /></label></p>
    ${found && found.request && other && [['Request', found.request], ['Answer', found.response]].map(([name, list]) => html`<h3>${name}</h3>${list.length ? html`<table class="diff"><thead><tr><th>where</th><th>in ${other}</th><th>in ${r.key}</th></tr></thead>
      <tbody>${list.slice(0, 300).map(c => html`<tr><td><code>${c.pointer || '/'}</code></td><td class="was">${short(c.was)}</td><td class="is">${short(c.is)}</td></tr>`)}</tbody></table>` : html`<p class="dim">The same.</p>`}`)}
    ${!other && none('Nothing to compare with: mark another exchange with m, or give its number.')}`;
}
const short = v => v === undefined ? '–' : (t => t.length > 400 ? t.slice(0, 400) + '…' : t)(JSON.stringify(v));
