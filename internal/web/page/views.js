// The views of what was recorded, which show what matches the filter, and the detail of one exchange.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from './vendor/hooks.mjs';
import { html, S, set, isFollowing, shownTalk, orAbsentText, showError, clearError, isRefused, formatTime, formatSeconds, formatBytes, countNoun, showRow, elapsedSeconds, withoutVersion, quoteValue, sizeInPixels, shownQuery, requestTitle, tryParseJSON } from './lib.js';
import { List, Source, Bar, Tree, Markdown, Pick, nav, takeKeys, rowHeight, rowTone, toneSigns, toneWords, phaseWords } from './ui.js';
import { openMenu, addToFilter, Actions, AppButton, recordedCall } from './act.js';
import { openTryOf } from './try.js';

const stateSign = r => html`<span class=${'tone ' + rowTone(r)} title=${toneWords[rowTone(r)]}>${toneSigns[rowTone(r)]}</span>`;
const stateHead = html`<span class="sr">state</span>`;
// outcomeWords returns the outcome of a row for a headline. Tables show it as filters spell it.
const outcomeWords = r => (r.state === 'done' ? r.channel : r.state).replaceAll('_', ' ');
const keyTitle = key => (([run, n]) => n ? `run ${run}, exchange ${n}: mcpc show ${key}` : `mcpc show ${key}`)(String(key).split('.'));
const outcome = r => html`<span class=${'tone ' + rowTone(r)}>${r.state === 'done' ? r.channel : r.state}</span>`;
const flags = r => [r.mark && '★', r.findings && `⚠${r.findings}`, r.again && '↻', r.edited && '✎', r.guess && '~'].filter(Boolean).join(' ');

// lastSources has the last loaded Source of each name, with its query: its rows stay on the screen after mcpc has ended.
const lastSources = {};

// useSource returns a Source of rows for the current query. The previous Source stays on the screen until the new one has
// its first rows.
function useSource(data, name, sort, keyOf, blockLines) {
  const [, again] = useState(0);
  const q = { ...shownQuery(), sort }, id = name + JSON.stringify(q), ref = useRef({});
  if (ref.current.id !== id) {
    const unpack = name === 'talk' ? p => ({ ...p.page, items: p.blocks }) : p => ({ ...p, items: p.rows });
    const src = new Source(({ from, count }, signal) => data.get(name, { ...q, from, count, keep: [...src.items.values()].some(x => keyOf(x) === S.row) && S.row }, signal).then(unpack), keyOf, blockLines);
    src.start = isFollowing() ? -100 : 0;
    if (ref.current.next) ref.current.next.stop();
    ref.current = { id, shown: ref.current.shown || (lastSources[name] && lastSources[name].id === id ? lastSources[name].src : src), next: src };
    src.need(0, 1, () => {
      if (ref.current.next !== src) return;
      if (!src.error) {
        ref.current.shown = src;
        lastSources[name] = { id, src };
        clearError();
        set({ found: src.total, seen: src.total, pending: src.pending, texts: src.texts });
      }
      again(n => n + 1);
    });
  }
  const { shown } = ref.current;
  useLayoutEffect(() => { if (S.seq && !isRefused()) shown.old = true; }, [S.seq, S.lost]);
  // What comes for a list that the user has left changes nothing.
  useEffect(() => () => { ref.current.next.stop(); ref.current.next = null; }, []);
  return shown;
}

// rowProps returns the props that the lists of exchanges have in common.
const rowProps = data => ({
  main: true, sel: S.row, rowClass: x => rowTone(x.row || x), empty: S.pending ? `Searching, ${countNoun(S.pending, 'body', 'bodies')} left.` : S.asked || S.only || shownTalk() ? `Nothing fits${shownTalk() ? ' in this conversation' : ''}${/\S\s+\S/.test(S.filter) && !/\bor\b/.test(S.filter) ? ' all words of the filter (a or b finds either, "a b" the phrase)' : ''}. C shows everything.${S.status.hint ? ' ' + S.status.hint : ''}` : 'Nothing was recorded yet. Start a client through mcpc tap or mcpc proxy, or send a request: mcpc -s demo list',
  follow: isFollowing() && !S.paused && !S.status.file,
  onSel: (row, item, quiet) => set({ row, picked: item.row || item, ...(quiet ? {} : { pinned: true }) }),
  onClick: () => set({ detail: true }),
  onUser: end => S.follow !== end && set({ follow: end }),
  onMenu: x => openMenu('filter', x.row || x),
  onLoad: src => (S.pending !== src.pending || S.found !== src.total) && set({ pending: src.pending, found: src.total, ...(isFollowing() ? { seen: src.total } : {}) }),
});

const lineSigns = { question: '? ', answer: '↩ ', cut: '✂ ', resumed: '⟲ ', cancelled: '⊘ ', held: '‖ ' };
const lineArrow = l => html`<span class=${`arrow ${l.dir || 'remark'} ${l.kind} ${l.level || ''}`}><span class="said"><i class="kind">${lineSigns[l.kind] || ''}</i>${l.text}${l.times > 1 ? html` <i class="dim">×${l.times}</i>` : ''}</span></span>`;
const talkColumns = [
  { head: 'time', cls: 'time', cell: (b, l, src, n) => !n || l.kind === 'response' ? formatTime(l.time, true) : '' },
  { head: stateHead, cls: 'sign', cell: (b, l, src, n) => n ? '' : stateSign(b.row) },
  { head: html`<span class="ends"><span>client</span><span>server</span></span>`, cls: 'lane', cell: (b, l) => lineArrow(l) },
  { head: 'took', cls: 'num', cell: (b, l, src, n) => n ? '' : formatSeconds(elapsedSeconds(b.row, src.when)) },
  { head: 'phases', cls: 'wf', cell: (b, l, src, n) => n ? '' : html`<${Bar} row=${b.row} seconds=${elapsedSeconds(b.row, src.when)} full=${longestSeconds(src)} />` },
  { head: 'notes', cls: 'notes', cell: (b, l, src, n) => n ? '' : [flags(b.row), b.row.notes].filter(Boolean).join(' ') },
];
const linesOf = b => b.lines.length ? b.lines.length > 12 && S.row !== b.row.key ? b.cut || (b.cut = [...b.lines.slice(0, 10), { dir: '', kind: 'remark', time: '', text: countNoun(b.lines.length - 11, 'more line') + ': Enter shows all' }, b.lines[b.lines.length - 1]])
  : b.lines.slice(0, 400) : [{ dir: b.row.dir, kind: 'request', time: b.row.time, text: requestTitle(b.row) }];

// longestSeconds returns the longest duration of the loaded rows, which fills a whole bar.
function longestSeconds(src) {
  if (src.longAt !== src.when) {
    src.longAt = src.when;
    src.long = 0.001;
    for (const x of src.items.values()) src.long = Math.max(src.long, (x.row || x).seconds);
  }
  return src.long;
}

export function Talk({ data }) {
  const src = useSource(data, 'talk', '', b => b.row.key, linesOf);
  return html`<${List} ...${rowProps(data)} src=${src} cols=${talkColumns} cls="talk" label="Conversation" />`;
}

const tableColumns = [
  { head: html`<span title="run and exchange, as mcpc log numbers them">#</span>`, cls: 'key', cell: r => html`<span title=${keyTitle(r.key)}>${r.key}</span>` },
  { head: 'time', sort: 'time', cls: 'time', cell: r => formatTime(r.time, true) },
  { head: stateHead, cls: 'sign', cell: stateSign },
  { head: 'method', sort: 'method', cls: 'm', cell: r => (r.dir === 'received' ? '◀ ' : '') + r.method },
  { head: 'name', sort: 'name', cls: 'm', cell: r => r.name || '' },
  { head: 'arguments', cls: 'p dim', cell: r => html`<span title=${r.arguments}>${r.arguments || ''}</span>` },
  { head: 'outcome', sort: 'channel', cls: 's', cell: outcome },
  { head: 'HTTP', cls: 'num', cell: r => r.http || '' },
  { head: 'took', sort: 'took', cls: 'num', cell: (r, l, src) => formatSeconds(elapsedSeconds(r, src.when)) },
  { head: 'phases', cls: 'wf', cell: (r, l, src) => html`<${Bar} row=${r} seconds=${elapsedSeconds(r, src.when)} full=${longestSeconds(src)} />` },
  { head: 'size', sort: 'size', cls: 'num', cell: r => formatBytes(r.sent + r.received) },
  { head: 'tokens', cls: 'num', cell: r => r.tokens || '' },
  { head: 'client', sort: 'client', cls: 'p', cell: r => withoutVersion(r.client || '') },
  { head: 'server', sort: 'server', cls: 'p', cell: r => withoutVersion(r.server || (S.conversations.find(c => c.id === r.talk) || {}).server || r.target) },
  { head: 'notes', cls: 'notes', cell: r => [flags(r), r.notes, r.failed && r.text].filter(Boolean).join(' ') },
];
export function Table({ data }) {
  const src = useSource(data, 'rows', S.sort, r => r.key);
  return html`<${List} ...${rowProps(data)} src=${src} cols=${tableColumns} cls="table" label="Exchanges" sort=${S.sort} onSort=${sort => set({ sort })} />`;
}

// useDocs reads a list of documents, and again after each change, at most twice a second. If once is set, it reads only
// after a change of params.
export function useDocs(data, name, params, once) {
  const [docs, setDocs] = useState(null);
  const id = JSON.stringify(params), timer = useRef(0), last = useRef('');
  useEffect(() => {
    const wait = last.current === id ? 500 : 0;
    if (timer.current && wait) return;
    clearTimeout(timer.current);
    last.current = id;
    timer.current = setTimeout(() => {
      timer.current = 0;
      if (!params.filter || !isRefused()) data.get(name, params).then(d => { if (last.current === id) { setDocs(d); clearError(); } }, e => last.current === id && showError(e));
    }, wait);
  }, [id, once ? 0 : S.seq + S.lost]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return docs;
}

// Docs draws a list of documents, and facts about the selected one below it.
function Docs({ data, name, label, cols, keyOf, more, empty, rowClass }) {
  const docs = useDocs(data, name, shownQuery());
  const [chosen, setAt] = useState('');
  const src = useMemo(() => Source.of(docs || [], keyOf), [docs]);
  const item = (docs || []).find(d => keyOf(d) === chosen) || (docs || [])[0], at = item ? keyOf(item) : '';
  nav.item = item;
  return html`<div class="docs"><${List} main src=${src} cols=${cols} cls=${name} label=${label} sel=${at} onSel=${(k, d) => { setAt(k); const row = d.lastRow || d.row || (d.rows || [])[0]; if (row) set({ row, picked: null }); }}
    empty=${docs ? orAbsentText(S.filter || S.only ? `No ${label.toLowerCase()} fit the filter. C shows everything.` : empty) : 'Reading…'} rowClass=${rowClass} onOpen=${() => S.row && set({ detail: true })} />
    ${item && html`<section class="about" aria-label="Selected">${more(item)}</section>`}</div>`;
}

const checkMark = (text, good) => html`<span class=${text === good ? 'yes' : 'no'}>${text === good ? '✓' : '✗ ' + text}</span>`;
export const Tools = ({ data }) => html`<${Docs} data=${data} name="tools" label="Tools" empty="No tool was listed or called." keyOf=${t => t.target + ' ' + t.server + ' ' + t.name} rowClass=${t => t.reason ? 'cancelled' : 'ok'}
  cols=${[
    { head: 'server', cls: 'p', cell: t => t.server }, { head: 'tool', cls: 'm', cell: t => t.name },
    { head: 'listed', cls: 's', cell: t => checkMark(t.listed, 'yes') }, { head: 'page', cls: 's', cell: t => t.shortPage || t.page || '' },
    { head: 'schema', cls: 's', cell: t => t.schema && checkMark(t.schema, 'usable') }, { head: 'called', cls: 'num', cell: t => t.called || '–' },
    { head: 'failed', cls: 'num', cell: t => t.failed || '' }, { head: 'p50', cls: 'num', cell: t => t.called ? formatSeconds(t.p50) : '' }, { head: 'p95', cls: 'num', cell: t => t.called ? formatSeconds(t.p95) : '' },
    { head: 'bytes', cls: 'num', cell: t => formatBytes(t.bytes) }, { head: 'why a client may not see or call it', cls: 'notes', cell: t => (text => html`<span title=${text}>${text}</span>`)(t.reason || t.changed || t.lastError || '') }]}
  more=${t => html`<h2>${t.name}</h2><p>${t.reason || 'No problem was found with this tool.'}</p><div class="buttons"><button onClick=${() => openTryOf(t)}>Try it (t)</button>
    <button onClick=${() => addToFilter('name:' + quoteValue(t.name))}>Its calls</button>${t.lastRow && html`<button onClick=${() => showRow(t.lastRow)}>Last call</button>`}
    ${t.app && html`<${AppButton} call=${{ target: t.target, tool: t.name }} read=${t.lastRow && (() => recordedCall(data, t.lastRow))} />`}</div>
    ${t.description && html`<p class="text">${t.description}</p>`}${t.changed && html`<p>Changed: ${t.changed}</p>`}${t.lastError && html`<p class="wrong">Last error: ${t.lastError}</p>`}
    ${t.inputSchema && html`<h3>Input schema</h3><${Tree} value=${t.inputSchema} />`}`} />`;

export const Streams = ({ data }) => html`<${Docs} data=${data} name="streams" label="Streams" empty="No stream of server-sent events." keyOf=${s => s.row + s.what + s.opened} rowClass=${s => s.problem ? 'failed' : s.open ? 'open' : 'ok'}
  cols=${[
    { head: 'opened', cls: 'time', cell: s => formatTime(s.opened) }, { head: stateHead, cls: 'sign', cell: s => stateSign({ failed: s.problem, state: s.open ? 'open' : 'done' }) }, { head: 'client', cls: 'p', cell: s => s.client }, { head: 'server', cls: 'p', cell: s => s.server },
    { head: 'what', cls: 'm', cell: s => s.what }, { head: 'events', cls: 'num', cell: s => s.events }, { head: 'last id', cls: 's', cell: s => s.lastId || '' }, { head: 'silent', cls: 'num', cell: s => formatSeconds(s.quiet) },
    { head: 'how it went', cls: 'notes', cell: s => s.text }]}
  more=${s => html`<h2>${s.what}</h2><p>${s.text}</p><button onClick=${() => showRow(s.row, { tab: 'events' })}>Its events</button>`} />`;

export const Secrets = ({ data }) => html`<${Docs} data=${data} name="secrets" label="Secrets" empty="No secret was hidden." keyOf=${s => s.hash} rowClass=${s => s.servers.length > 1 ? 'cancelled' : 'ok'}
  cols=${[
    { head: 'hash', cls: 's', cell: s => s.hash }, { head: 'kind', cls: 's', cell: s => s.kind }, { head: 'times', cls: 'num', cell: s => s.times }, { head: 'places', cls: 'm', cell: s => s.places.join(', ') },
    { head: 'servers', cls: 'notes', cell: s => (s.servers.length > 1 ? '⚠ also seen in: ' : '') + s.servers.join(', ') }]}
  more=${s => html`<h2>${s.kind}</h2><p>${countNoun(s.times, 'time')}, in ${s.places.join(', ')}, to ${s.servers.join(' and ')}.</p><button onClick=${() => addToFilter('secret:' + quoteValue(s.hash))}>Where it was</button>`} />`;

// Time draws lanes over time. S.zoom is the shown period in milliseconds, or null for all.
export function Time({ data }) {
  const list = S.conversations.filter(c => !shownTalk() || c.id === shownTalk());
  // Open exchanges extend the period by at most a tenth: an exchange that is open for hours would leave the others no room.
  const first = Math.min(...list.map(c => Date.parse(c.began))), ended = Math.max(...list.map(c => Date.parse(c.last)));
  const last = ended > first && list.some(c => c.open) && !S.status.file ? Math.min(Date.now(), ended + (ended - first) / 10) : ended;
  const whole = isFinite(first) ? [first, Math.max(last, first + 50) + 1] : [Date.now() - 60000, Date.now()];
  const { zoom } = S, setZoom = zoom => set({ zoom });
  const [a, b] = zoom || whole, iso = t => new Date(t).toISOString();
  const read = useDocs(data, 'lanes', { ...shownQuery(), ...(zoom ? { from: iso(a), to: iso(b) } : {}) }), lanes = read || [];
  const change = (factor, middle = 0.5) => {
    const width = Math.min(whole[1] - whole[0], Math.max(2, (b - a) * factor)), at = a + (b - a) * middle, from = Math.max(whole[0], Math.min(whole[1] - width, at - width * middle));
    setZoom(width >= whole[1] - whole[0] ? null : [from, from + width]);
  };
  const pan = part => setZoom(zoom && (d => [a + d, b + d])(Math.max(whole[0] - a, Math.min(whole[1] - b, (b - a) * part))));
  const bars = lanes.flatMap(l => l.bars).sort((x, y) => Date.parse(x.from) - Date.parse(y.from)), at = bars.findIndex(x => x.key === S.row);
  const go = i => bars.length && set({ row: bars[Math.max(0, Math.min(bars.length - 1, i))].key, picked: null });
  useEffect(() => takeKeys({ move: d => go(at < 0 ? (d > 0 ? 0 : bars.length - 1) : at + d), to: end => go(end ? bars.length : 0), zoom: change, find: (d, test) => { for (let i = at + d; i >= 0 && i < bars.length; i += d) if (test(bars[i])) return go(i); } }));
  const wheel = e => {
    e.preventDefault();
    const { left, width } = e.currentTarget.getBoundingClientRect();
    if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) pan((e.deltaX || e.deltaY) / 1000); else change(e.deltaY < 0 ? 0.8 : 1.25, (e.clientX - left) / width);
  };
  const part = ms => ms / (b - a) * 100, pos = t => `${Math.max(-1, Math.min(101, part(t - a)))}%`;
  const marks = [0, 0.2, 0.4, 0.6, 0.8].map(x => a + (b - a) * x);
  return html`<div class="times">
    <div class="buttons"><button onClick=${() => change(0.6)}>Zoom in (+)</button><button onClick=${() => change(1 / 0.6)}>Zoom out (-)</button><button onClick=${() => pan(-0.3)} aria-label="Earlier">◀</button><button onClick=${() => pan(0.3)} aria-label="Later">▶</button>
      <button onClick=${() => setZoom(null)}>All</button><span class="dim">${formatTime(a, true)} to ${formatTime(b, true)}, ${formatSeconds((b - a) / 1000)}</span></div>
    <div class="axis" aria-hidden="true"><svg>${marks.map((t, i) => html`<text x=${i * 20 + '%'} y="12">${formatTime(t, b - a < 60000)}</text>`)}</svg></div>
    <div class="lanes" onWheel=${wheel} tabindex="0" role="group" aria-label="Exchanges by time">
      ${lanes.some(l => l.bars.length) ? lanes.filter(l => l.bars.length).slice(0, 60).map(l => {
        const levels = Math.min(12, Math.max(0, ...l.bars.map(x => x.level)) + 1);
        return html`<div class="lane" key=${l.talk}><h2>${l.title} <span class="dim">${countNoun(l.bars.reduce((n, x) => n + (x.times || 1), 0), 'exchange')}</span></h2>
          <svg role="listbox" aria-label=${l.title} ref=${sizeInPixels({ height: levels * rowHeight })}>${l.bars.filter(x => x.level < levels).slice(0, 600).map(x => {
            const y = x.level * rowHeight, start = Date.parse(x.from), end = Date.parse(x.to), left = pos(Math.max(a, start)), wide = Math.max(0.25, Math.min(102, part(Math.min(b, end) - Math.max(a, start)))), sum = (x.phases || []).reduce((n, p) => n + p.seconds, 0);
            return html`<g key=${x.key} role="option" id=${x.key === S.row ? 'on-time' : undefined} aria-selected=${x.key === S.row} aria-label=${`${x.label}, ${toneWords[rowTone(x)]}`} class=${`span ${rowTone(x)} ${x.key === S.row ? 'on' : ''}`}
              onClick=${() => showRow(x.key)}><title>${x.label}${x.times > 1 ? ` ×${x.times}` : ''}, ${formatSeconds((end - start) / 1000)}</title>
              <rect x=${left} y=${y + 2} width=${wide + '%'} height="16" class="ph" fill=${`url(#p-${x.state === 'done' ? 'wait' : 'open'})`} />
              ${sum > 0 && (x.phases || []).filter(p => ['person', 'held', 'events'].includes(p.name)).map(p => {
                const from = start + 1000 * x.phases.slice(0, x.phases.indexOf(p)).reduce((n, q) => n + q.seconds, 0);
                return html`<rect x=${pos(from)} y=${y + 2} width=${part(p.seconds * 1000) + '%'} height="16" class="ph" fill=${`url(#p-${p.name})`} />`;
              })}
              <text x=${left} dx="4" y=${y + 14}>${toneSigns[rowTone(x)] === '·' ? '' : toneSigns[rowTone(x)] + ' '}${wide > 6 ? x.label.slice(0, Math.floor(wide * 1.4)) : ''}</text></g>`;
          })}</svg></div>`;
      }) : html`<p class="empty">${S.lost || (read ? orAbsentText('Nothing in this time.') : 'Reading…')}</p>`}</div></div>`;
}

// Detail shows one exchange in tabs.
const tabs = [['summary', 'Summary'], ['request', 'Request'], ['answer', 'Answer'], ['events', 'Events'], ['wire', 'Wire'], ['time', 'Time'], ['findings', 'Findings'], ['diff', 'Compare']];

// moveTab shows the tab that is d tabs away. It wraps around; a d beyond all tabs shows the first or the last.
export function moveTab(d) {
  const n = tabs.length, i = Math.max(0, tabs.findIndex(([id]) => id === S.tab)), to = Math.abs(d) < n ? (i + d + n) % n : d < 0 ? 0 : n - 1;
  set({ tab: tabs[to][0] });
}

export function Detail({ data }) {
  const [d, setD] = useState(null), [why, setWhy] = useState('');
  const running = !d || d.row.key !== S.row || d.row.state !== 'done';
  useEffect(() => {
    let left = false;
    setWhy('');
    if (S.row) data.get('row', { key: S.row }).then(x => left || setD({ ...x, when: performance.now() }), e => left || (setD(was => was && was.row.key === S.row ? was : null), setWhy(e.message), e.status === 404 || showError(e)));
    return () => { left = true; };
  }, [S.row, running ? S.seq : 0, S.marks]);
  const [excluded, setExcluded] = useState(false);
  useEffect(() => {
    let left = false;
    setExcluded(false);
    if (S.row && S.asked) data.get('rows', { filter: S.asked, only: S.row, count: 1 }).then(p => left || setExcluded(!p.total && !p.pending), () => {});
    return () => { left = true; };
  }, [S.row, S.asked, d && d.row.state]);
  if (!S.row) return html`<p class="empty">${S.run ? 'Running…' : 'Select an exchange.'}</p>`;
  if (!d || d.row.key !== S.row && why) return html`<p class="empty">${why || 'Reading…'}</p>`;
  const r = d.row, tab = tabs.some(([id]) => id === S.tab) ? S.tab : 'summary';
  const counts = { events: d.frames.filter(f => f.kind !== 'head' && f.body).length, wire: d.frames.length, findings: (d.findings || []).length };
  const step = e => {
    const d = { ArrowRight: 1, ArrowLeft: -1, Home: -tabs.length, End: tabs.length }[e.key];
    if (d === undefined) return;
    e.preventDefault();
    moveTab(d);
    requestAnimationFrame(() => e.target.parentNode && e.target.parentNode.querySelector('[aria-selected=true]').focus());
  };
  return html`<header class="title"><h2><span class=${'tone ' + rowTone(r)}>${outcomeWords(r)}</span> ${requestTitle(r)} <span class="dim"><span title=${keyTitle(r.key)}>${r.key}</span>, ${formatSeconds(elapsedSeconds(r, d.when))}</span></h2>
      <button aria-label="Close the detail" title="Esc" onClick=${() => set({ detail: false })}>✕</button></header>
    ${excluded && html`<p class="callout cut">The filter excludes this exchange.</p>`}<${Actions} row=${r} detail=${d} />${d.app && html`<div class="buttons"><${AppButton} call=${{ target: r.target, tool: r.name }} read=${() => recordedCall(data, r.key, d)} /></div>`}
    <div class="tabs" role="tablist" aria-label="Detail" onKeyDown=${step}>${tabs.map(([id, name]) => html`<button role="tab" id=${'tab-' + id} aria-controls="panel" aria-selected=${id === tab} tabindex=${id === tab ? 0 : -1}
      onClick=${() => set({ tab: id })}>${name}${counts[id] ? html` <span class="dim">${counts[id]}</span>` : ''}</button>`)}</div>
    <div class="panel" id="panel" role="tabpanel" aria-labelledby=${'tab-' + tab} tabindex="0" key=${r.key + tab}>${panels[tab]({ d, r, data })}</div>`;
}

const Facts = ({ list }) => html`<dl class="facts">${list.map(([k, v]) => html`<dt>${k}</dt><dd>${v}</dd>`)}</dl>`;
const emptyText = text => html`<p class="empty">${text}</p>`;

// noticed draws the number of findings and the first one, and the number of lines of stderr, each as a button that opens its tab.
const noticed = ({ findings, stderr }, tab) => {
  const line = (list, to, text) => list && list.length > 0 && to !== tab && html`<p class="check"><button class="link" onClick=${() => set({ tab: to })}>${text()}</button></p>`;
  return html`${line(findings, 'findings', () => (([f]) => `${countNoun(findings.length, 'finding')}: ${f.rule} ${f.text}${f.got ? ' Got: ' + f.got : ''}`)(findings))}${line(stderr, 'summary', () => 'stderr: ' + countNoun(stderr.length, 'line'))}`;
};

const panels = {
  summary: ({ d, r }) => html`${noticed(d, 'summary')}${d.cut && html`<p class="callout cut">✂ ${d.cut}</p>`}${d.why && html`<p class="callout">${d.why}</p>`}${r.failed && r.text && html`<p class="callout failed">${r.text}</p>`}
    <${Facts} list=${d.facts} />${r.note && html`<p class="callout">★ ${r.note}</p>`}
    ${d.lines.length > 0 && html`<h3>Messages</h3><div class="mini">${d.lines.slice(0, 300).map(l => html`<div class="mrow"><span class="time">${formatTime(l.time, true)}</span>${lineArrow(l)}</div>`)}</div>`}
    ${d.stderr && d.stderr.length > 0 && html`<h3>stderr of the server meanwhile</h3><pre>${d.stderr.join('\n')}</pre>`}`,
  request: ({ d, r, data }) => d.request ? html`<${Body} body=${d.request} data=${data} row=${r.key} side="params" wrong=${d.wrong} schema=${d.inputSchema} />` : emptyText('There is no request.'),
  answer: ({ d, r, data }) => html`${noticed(d)}${d.response ? html`<${Body} body=${d.response} data=${data} row=${r.key} side="result" schema=${d.outputSchema} draw />` : emptyText(r.state === 'done' ? 'No answer came.' : 'No answer yet.')}`,
  events: ({ d, r, data }) => html`<${Frames} frames=${d.frames.filter(f => f.kind !== 'head' && f.body)} data=${data} row=${r.key} pretty empty="No messages." />`,
  wire: ({ d, r, data }) => html`<${Frames} frames=${d.frames} data=${data} row=${r.key} empty="Nothing was recorded." />`,
  time: ({ d, r }) => {
    const phases = r.phases || [], seconds = elapsedSeconds(r, d.when);
    return html`<p class="big">${formatSeconds(seconds)}${r.state !== 'done' && ' and going on'}</p>${d.why && html`<p class="callout">${d.why}</p>`}${d.group && html`<p>${d.group}</p>`}
      <div class="wide"><${Bar} row=${r} seconds=${seconds} full=${seconds} /></div>
      <table><thead><tr><th>phase</th><th class="num">time</th><th class="num">part</th></tr></thead><tbody>${phases.map(p => html`<tr><td>${phaseWords[p.name] || p.name}</td><td class="num">${formatSeconds(p.seconds)}</td><td class="num">${Math.round(p.seconds / (seconds || 1) * 100)} %</td></tr>`)}</tbody></table>
      ${r.firstByte > 0 && html`<p>First byte after ${formatSeconds(r.firstByte)}.</p>`}${r.quiet > 0 && r.state !== 'done' && html`<p>Last heard ${formatSeconds(r.quiet)} ago.</p>`}`;
  },
  findings: ({ d }) => (d.findings || []).length ? d.findings.map(f => html`<article class=${'finding ' + f.severity}><h3><b>${f.severity}</b> ${f.rule}${f.pointer && html` <code>${f.pointer}</code>`}</h3><p>${f.text}</p>${f.got && html`<p>Got: <code>${f.got}</code></p>`}${f.fix && html`<p class="dim">${f.fix}</p>`}</article>`)
    : emptyText('No rule was broken.'),
  diff: ({ d, r, data }) => html`<${Diff} d=${d} r=${r} data=${data} />`,
};

// useMarks marks the texts that the filter searches for inside an element, and scrolls to the first.
const marks = self.Highlight && new Highlight();
if (marks) CSS.highlights.set('found', marks);
function useMarks(box, ...deps) {
  useEffect(() => {
    if (!marks || !S.texts.length) return;
    const panel = box.current.closest('.panel'), nodes = document.createTreeWalker(box.current, NodeFilter.SHOW_TEXT);
    for (let n; marks.size < 2000 && (n = nodes.nextNode());) {
      // The index of an item is in no message.
      if (n.parentNode.matches('.name') && n.data > -1) continue;
      const text = n.data.toLowerCase();
      for (const t of S.texts) for (let i = -1; (i = text.indexOf(t.toLowerCase(), i + 1)) >= 0 && marks.size < 2000;) {
        const r = new Range();
        r.setStart(n, i);
        r.setEnd(n, Math.min(n.length, i + t.length));
        marks.add(r);
      }
    }
    const [first] = marks;
    if (first) panel.scrollTop += first.getBoundingClientRect().top - panel.getBoundingClientRect().top - panel.clientHeight / 3;
    return () => marks.clear();
  }, [S.texts.join(), ...deps]);
}

// maxBodyBytes limits the size of a message that is read whole without a click.
const maxBodyBytes = 16 << 20;

// Body shows a message as a tree with its text and images, or as bytes.
function Body({ body, data, row, side, wrong, schema, draw }) {
  const [rest, setRest] = useState('');
  const [form, setForm] = useState('pretty');
  const text = body.text + rest, { value } = body.hex || body.cut && !rest ? {} : tryParseJSON(text);
  const object = value && typeof value === 'object' ? value : null, inner = object && object[side] !== undefined ? object[side] : undefined;
  const forms = ['pretty', 'raw', ...(schema ? ['schema'] : [])], shown = !object && form === 'pretty' ? 'raw' : form;
  const wrongs = Object.fromEntries((wrong || []).map(w => [(side === 'params' ? '/params/arguments' : '/result/structuredContent') + w.pointer, w.text]));
  const more = () => data.body({ key: row, frame: body.frame }).then(all => setRest(all.slice(body.text.length)), showError);
  // Else the start of it would be no JSON.
  const reads = body.cut && !body.hex && !data.inline && body.bytes <= maxBodyBytes;
  useEffect(() => { if (reads) more(); }, [row, body.frame, reads]);
  const pictures = data.inline ? null : { data, row, frame: body.frame }, box = useRef();
  useMarks(box, text, shown);
  return html`<div ref=${box}><${Pick} label="Show as" list=${forms.map(f => [f, f])} value=${shown} onPick=${setForm}><span class="dim">${formatBytes(body.bytes)}${body.hex ? ', hex' : ''}</span>
      ${body.cut && !rest && (reads ? html`<span class="dim" role="status">Reading all of it…</span>` : html`<button onClick=${more}>Read all of it</button>`)}<//>
    ${(wrong || []).length > 0 && html`<ul class="wrongs">${wrong.map(w => html`<li class="wrong">✗ ${w.text}</li>`)}</ul>`}
    ${shown === 'raw' ? html`<pre class="raw">${text.length > 400000 ? text.slice(0, 400000) + '…' : text}</pre>` : shown === 'schema' ? html`<${Tree} value=${schema} open=${5} />`
      : html`${draw && inner && html`<${Content} list=${inner.content || inner.contents || contentOfMessages(inner.messages)} />`}<${Tree} value=${object} open=${5} wrong=${wrongs} pictures=${pictures} />`}</div>`;
}

// contentOfMessages returns the contents of the messages of a prompt, each with its role.
const contentOfMessages = list => Array.isArray(list) ? list.map(m => m && m.content && typeof m.content.text === 'string' ? { text: `${m.role}: ${m.content.text}` } : null) : null;

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
  if (!frames.length) return emptyText(empty);
  return html`${frames.slice(0, count).map(f => html`<${FrameOf} key=${f.n} f=${f} data=${data} row=${row} pretty=${pretty} />`)}
    ${frames.length > count && html`<button onClick=${() => setCount(count + 200)}>${countNoun(frames.length - count, 'more frame')}</button>`}`;
}
function FrameOf({ f, data, row, pretty }) {
  const [open, setOpen] = useState(false);
  const side = f.body && !f.body.hex && pretty ? tryParseJSON(f.body.text).value : null;
  const text = f.line || (side && (side.method || (side.error ? 'error' : 'result' in side ? 'result' : ''))) || (f.body ? f.body.text.slice(0, 200) : '');
  return html`<details class=${'frame ' + f.dir} onToggle=${e => setOpen(e.target.open)}><summary><span class="time">${formatTime(f.time, true)}</span> <b>${f.dir === 'sent' ? '→' : f.dir === 'received' ? '←' : '·'}</b> <span class="kind">${f.kind}</span> ${
      f.event && html`<code>${f.event}</code>`}${f.id && html`<code>id ${f.id}</code>`} ${text}${f.note && html`<i> ${f.note}</i>`}${f.was && html` <b class="wrong">edited</b>`}${f.body && html` <span class="dim">${formatBytes(f.body.bytes)}</span>`}</summary>
    ${open && html`${f.head && html`<${Facts} list=${f.head} />`}${f.was && html`<h3>Before it was edited</h3><pre class="raw">${f.was.text}</pre><h3>As it was sent on</h3>`}
      ${f.body && (pretty ? html`<${Body} body=${f.body} data=${data} row=${row} side="params" />` : html`<pre class="raw">${f.body.text}${f.body.cut ? '…' : ''}</pre>`)}`}</details>`;
}

function Diff({ d, r, data }) {
  const choice = [d.lastGood && ['the last good call', d.lastGood], d.before && d.before !== d.lastGood && ['the previous call', d.before], r.again && ['the recorded original', r.again], S.marked && S.marked !== r.key && ['the marked exchange', S.marked]].filter(Boolean);
  const [other, setOther] = useState(choice.length ? choice[0][1] : '');
  const found = useDocs(data, other ? 'diff' : 'status', other ? { a: other, b: r.key } : {}, true);
  return html`<p class="pick">Against ${choice.map(([name, key]) => html`<button aria-pressed=${key === other} onClick=${() => setOther(key)}>${name} <span class="dim">${key}</span></button>`)}
      <label>${choice.length ? 'or number' : 'number'} <input size="8" value=${other} onChange=${e => setOther(e.target.value.trim())} /></label></p>
    ${found && found.request && other && [['Request', found.request], ['Answer', found.response]].map(([name, list]) => html`<h3>${name}</h3>${list.length ? html`<table class="diff"><thead><tr><th>where</th><th>in ${other}</th><th>in ${r.key}</th></tr></thead>
      <tbody>${list.slice(0, 300).map(c => html`<tr><td><code>${c.pointer || '/'}</code></td><td class="was">${shortJSON(c.was)}</td><td class="is">${shortJSON(c.is)}</td></tr>`)}</tbody></table>` : html`<p class="dim">The same.</p>`}`)}
    ${!other && emptyText('Nothing to compare with: mark another exchange with m, or give its number.')}`;
}
const shortJSON = v => v === undefined ? '–' : (t => t.length > 400 ? t.slice(0, 400) + '…' : t)(JSON.stringify(v));
