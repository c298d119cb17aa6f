// The parts of views: a list, a tree, a dialog, Markdown and bars.
import { Component } from './vendor/preact.mjs';
import { useEffect, useMemo, useRef, useState } from './vendor/hooks.mjs';
import { html, S, set, sizeInPixels, isRaw, safeURL, formatBytes, formatSeconds, joinPointer, showToast, openDialog, closeDialog, showError } from './lib.js';

export const rowHeight = 20;
const maxDrawnRows = 120, partSize = 100, maxKeptItems = 800;

// A Source holds a part of a list that the server has: items by index, fetched when they are shown.
// fetch gives {items, from, total, pending}. A Source of lines has items of several lines.
export class Source {
  constructor(fetch, keyOf, linesOf) {
    Object.assign(this, { fetch, keyOf, linesOf, items: new Map(), heights: new Map(), total: 0, pending: 0, loaded: false, old: false, usual: linesOf ? 3 : 1 });
  }
  static of(items, keyOf) {
    const s = new Source(null, keyOf);
    s.items = new Map(items.map((x, i) => [i, x]));
    return Object.assign(s, { total: items.length, loaded: true });
  }
  get(i) { return this.items.get(i); }
  lines(i) { return this.linesOf ? this.heights.get(i) || this.usual : 1; }
  // before counts the lines before item i.
  before(i) {
    let n = i * this.usual;
    if (this.linesOf) for (const [k, lines] of this.heights) if (k < i) n += lines - this.usual;
    return n;
  }
  // at returns the index of the item that has a line.
  at(line) {
    let low = 0, high = Math.max(0, this.total - 1);
    if (!this.linesOf) return Math.min(high, Math.max(0, Math.floor(line)));
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (this.before(mid) <= line) low = mid; else high = mid - 1;
    }
    return low;
  }
  // need fetches items a to b if they are missing or old, and then calls done.
  need(a, b, done) {
    if (!this.fetch || this.busy) return;
    let missing = this.old || !this.loaded;
    for (let i = a; !missing && i < Math.min(b, this.total); i++) missing = !this.items.has(i);
    if (!missing) return;
    const from = !this.loaded ? this.start : Math.max(0, Math.min(a, Math.floor((a + b - partSize) / 2)));
    this.busy = new AbortController();
    this.old = false;
    this.fetch({ from, count: Math.max(partSize, Math.min(200, b - from)) }, this.busy.signal).then(p => {
      if (this.loaded && p.total < this.total) { this.items.clear(); this.heights.clear(); }
      this.total = p.total;
      this.absent = p.absent && `${p.absent[0].toUpperCase()}${p.absent.slice(1)}. C shows everything.`;
      this.pending = p.pending;
      this.texts = p.texts || [];
      this.when = performance.now();
      p.items.forEach((x, i) => this.put(p.from + i, x));
      if (this.items.size > maxKeptItems) for (const i of this.items.keys()) if ((i < a - partSize || i > b + partSize) && this.items.size > maxKeptItems / 2) this.items.delete(i);
      this.loaded = true;
    }, e => { this.error = e.name === 'AbortError' ? null : e; if (this.error) showError(e); this.loaded = this.loaded || !!this.error; }).finally(() => { this.busy = null; done(); });
  }
  put(i, x) {
    this.items.set(i, x);
    if (this.linesOf) this.heights.set(i, this.linesOf(x).length);
  }
  stop() { if (this.busy) this.busy.abort(); }
}

// nav.list gets the keys j, k, g and G: the main list, or the Time view. nav.item is the selected document, if any.
export const nav = { list: null };
// takeKeys gives the keys to an object, and returns a function that ends that unless another one has them since.
export const takeKeys = object => {
  nav.list = object;
  return () => { if (nav.list === object) nav.list = null; };
};

// List draws the visible part of a Source. cols are {id, head, cell(item, line, source), sort, cls}.
export class List extends Component {
  componentDidMount() {
    this.seen = new ResizeObserver(() => this.forceUpdate());
    this.seen.observe(this.box);
    if (this.props.main) nav.list = this;
    this.componentDidUpdate();
  }
  componentWillUnmount() {
    this.seen.disconnect();
    this.gone = true;
    if (nav.list === this) nav.list = null;
  }
  componentDidUpdate() {
    const { src, follow, sel } = this.props, box = this.box;
    if (this.src !== src) { this.index = -1; this.src = src; if (!follow) box.scrollTop = 0; }
    if (src.loaded && follow && src.total) {
      if (this.settled !== src.total) { this.settled = src.total; this.select(src.total - 1, true); }
      box.scrollTop = box.scrollHeight;
    } else if (this.anchor && src.linesOf && !this.jump) {
      const top = src.before(this.anchor.i) * rowHeight + this.anchor.off;
      if (Math.abs(top - box.scrollTop) > 1 && src.before(src.total) !== this.tall) box.scrollTop = top;
    }
    this.tall = src.before(src.total);
    if (this.jump != null && src.get(this.jump)) { const i = this.jump; this.jump = null; this.select(i); }
    if (sel && this.jump == null && (this.index < 0 || !src.get(this.index) || src.keyOf(src.get(this.index)) !== sel))
      for (const [i, x] of src.items) if (src.keyOf(x) === sel) { this.index = i; if (this.shown !== sel) this.reveal(i); break; }
    this.shown = sel;
    if (box.scrollTop !== this.top) this.forceUpdate();
  }
  reveal(i) {
    const { src } = this.props, box = this.box, top = src.before(i) * rowHeight, end = top + src.lines(i) * rowHeight, high = box.clientHeight - (this.head ? this.head.offsetHeight : 0);
    if (top < box.scrollTop) box.scrollTop = top; else if (end > box.scrollTop + high) box.scrollTop = Math.min(top, end - high);
  }
  select(i, quiet) {
    const { src, onSel } = this.props, item = src.get(i);
    this.index = i;
    if (item && onSel) { this.shown = src.keyOf(item); onSel(this.shown, item, quiet); } else if (!item) { this.jump = i; this.forceUpdate(); }
    if (!quiet) this.reveal(i);
  }
  move(d) { if (this.props.src.total) this.select(Math.max(0, Math.min(this.props.src.total - 1, (this.index < 0 ? (d > 0 ? -1 : this.props.src.total) : this.index) + d))); }
  to(end) { if (this.props.src.total) this.select(end ? this.props.src.total - 1 : 0); }
  // find selects the next item for which test holds, among those that were fetched.
  find(d, test) {
    for (let i = this.index + d; i >= 0 && i < this.props.src.total; i += d) {
      const item = this.props.src.get(i);
      if (!item || test(item)) return this.select(i);
    }
  }
  keys = e => {
    const page = Math.max(1, Math.floor((this.box.clientHeight / rowHeight - 2) / this.props.src.usual));
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page }[e.key];
    if (e.target !== this.box) return;
    if (step) this.move(step); else if (e.key === 'Home' || e.key === 'End') this.to(e.key === 'End');
    else if (e.key === 'Enter' && !this.props.main && this.props.onOpen) this.props.onOpen(this.props.sel); else return;
    if (this.props.onUser) this.props.onUser(e.key === 'End');
    e.preventDefault();
  };
  scroll = () => {
    const { src, onUser } = this.props, box = this.box, i = src.at(box.scrollTop / rowHeight);
    this.anchor = { i, off: box.scrollTop - src.before(i) * rowHeight };
    const end = box.scrollHeight - box.scrollTop - box.clientHeight < 4;
    if (!end && this.wasTop > box.scrollTop + 2 && onUser) onUser(false);
    this.wasTop = box.scrollTop;
    this.forceUpdate();
  };
  render({ src, cols, label, cls, sel, sort, onSort, follow, onOpen, onClick, onSel, onMenu, rowClass, empty, head = true }) {
    const box = this.box, high = box ? box.clientHeight : 400, top = this.top = box && (follow || this.src === src) ? box.scrollTop : 0;
    const over = 6, first = src.at(top / rowHeight - over), rows = [];
    const fit = Math.min(maxDrawnRows - 4, Math.ceil(high / rowHeight) + 2 * over);
    let i = first, line = src.before(first), upper = line, last;
    for (let skip = Math.max(0, Math.floor(top / rowHeight) - over - line); i < src.total && rows.length < fit; i++, skip = 0) {
      const item = src.get(i), lines = item && src.linesOf ? src.linesOf(item) : null, n = lines ? lines.length : src.lines(i);
      if (lines && n !== src.lines(i)) src.heights.set(i, n);
      if (skip) upper += skip;
      for (let l = skip; l < n && rows.length < fit; l++) rows.push([i, item, lines ? lines[l] : item, l, n]);
    }
    last = upper + rows.length;
    queueMicrotask(() => src.need(src.loaded ? first : 0, i, () => (this.gone || this.forceUpdate(), this.props.onLoad && this.props.src === src && this.props.onLoad(src))));
    // A grid has rows.
    const role = head || src.total ? 'grid' : 'group';
    const row = ([i, item, line, l, n]) => {
      const key = item ? src.keyOf(item) : '', on = item && key === sel;
      return html`<div role="row" key=${`${i}/${l}`} id=${on && !l ? 'on-' + cls : undefined} aria-rowindex=${i + 1} aria-selected=${on}
        class=${`row ${on ? 'on' : ''} ${l ? 'more' : 'lead'} ${l === n - 1 ? 'end' : ''} ${item && rowClass ? rowClass(item, line) : ''}`}
        onClick=${() => item && (this.select(i), this.props.onUser && this.props.onUser(false), onClick && onClick())} onDblClick=${() => item && onOpen && onOpen(key)}
        onContextMenu=${e => { if (item && onMenu) { e.preventDefault(); this.select(i); onMenu(item); } }}>
        ${cols.map(c => html`<div role="gridcell" class=${c.cls || ''}>${item ? c.cell(item, line, src, l) : ''}</div>`)}</div>`;
    };
    return html`<div class=${'list ' + cls} role=${role} aria-label=${label} aria-rowcount=${role === 'grid' ? src.total : undefined} tabindex="0" aria-activedescendant=${sel && rows.some(([, item, , l]) => item && !l && src.keyOf(item) === sel) ? 'on-' + cls : undefined}
      ref=${e => { if (e) this.box = e; }} onScroll=${this.scroll} onKeyDown=${this.keys}>
      ${head && html`<div role="row" class="row head" ref=${e => { this.head = e; }}>${cols.map(c => html`<div role="columnheader" class=${c.cls || ''}
        aria-sort=${c.sort && sort && sort.replace('-', '') === c.sort ? (sort[0] === '-' ? 'descending' : 'ascending') : undefined}>
        ${c.sort && onSort ? html`<button class="plain" onClick=${() => onSort(sort === c.sort ? '-' + c.sort : sort === '-' + c.sort ? '' : ['took', 'size', 'first'].includes(c.sort) ? '-' + c.sort : c.sort)}>${c.head}${
          sort === c.sort ? ' ▲' : sort === '-' + c.sort ? ' ▼' : ''}</button>` : c.head}</div>`)}</div>`}
      ${src.loaded && !src.total && html`<p class="empty">${S.lost || src.absent || empty}</p>`}
      <div class="gap" ref=${sizeInPixels({ height: upper * rowHeight })}></div>${rows.map(row)}<div class="gap" ref=${sizeInPixels({ height: Math.max(0, src.before(src.total) - last) * rowHeight })}></div></div>`;
  }
}

// Tree draws a JSON value; wrong are texts by JSON pointer. A click on a name copies its path.
export function Tree({ value, wrong = {}, open = 3, path = '', name, last = true, pictures, audio }) {
  const box = value !== null && typeof value === 'object' && !isRaw(value);
  const [shown, setShown] = useState(open > 0);
  const [count, setCount] = useState(100);
  const label = name === undefined ? null : html`<button class="plain name" title=${'Copy the path ' + path} onClick=${() => copyText(path)}>${String(name)}</button>: `;
  const note = wrong[path] && html`<span class="wrong" role="note"> ✗ ${wrong[path]}</span>`;
  const end = last ? '' : ',';
  if (!box) return html`<div class=${'leaf' + (note ? ' bad' : '')}>${label}<${Leaf} value=${value} path=${path} pictures=${pictures} audio=${audio} />${end}${note}</div>`;
  const list = Array.isArray(value), names = list ? null : Object.keys(value), n = list ? value.length : names.length;
  const [a, b] = list ? '[]' : '{}';
  if (!n) return html`<div class="leaf">${label}${a + b}${end}${note}</div>`;
  const at = i => list ? i : names[i];
  return html`<div class=${'node' + (note ? ' bad' : '')}>
    <button class="plain fold" aria-expanded=${shown} aria-label=${(shown ? 'Fold ' : 'Unfold ') + (path || 'all')} onClick=${() => setShown(!shown)}>${shown ? '▾' : '▸'}</button>${label}${a}${
      shown ? '' : html`<button class="plain dim" tabindex="-1" onClick=${() => setShown(true)}> ${list ? n : names.slice(0, 4).join(', ') + (n > 4 ? ', …' : '')} </button>${b}${end}`}${note}
    ${shown && html`<div class="in">${Array.from({ length: Math.min(n, count) }, (_, i) => html`<${Tree} key=${at(i)} value=${value[at(i)]} name=${at(i)} wrong=${wrong} open=${open - 1}
      path=${joinPointer(path, at(i))} last=${i === n - 1} pictures=${pictures && { ...pictures, image: !list && /^image\/(png|jpeg|gif|webp)$/.test(value.mimeType) }}
      audio=${pictures && !list && /^audio\/(wav|x-wav|mpeg|mp3|ogg|opus|webm|mp4|aac|flac)$/.test(value.mimeType) && value.mimeType} />`)}
      ${n > count && html`<button class="link" onClick=${() => setCount(count + 1000)}>${n - count} more</button>`}</div>${b}${end}`}</div>`;
}

function Leaf({ value, path, pictures, audio }) {
  const isLong = typeof value === 'string' && value.length > 200, binary = isLong && /^[A-Za-z0-9+/]+=*$/.test(value);
  // A long text is shown whole if it has what the filter searches for, which may be known later.
  const isFound = useMemo(() => isLong && !binary && S.texts.some(t => value.toLowerCase().includes(t.toLowerCase())), [value, S.texts.join()]);
  const [chosen, setAll] = useState(), all = chosen ?? isFound;
  if (typeof value !== 'string') return html`<span class=${typeof value}>${isRaw(value) ? value.rawJSON : String(value)}</span>`;
  if (binary && !all) return html`<span class="dim">base64, ${formatBytes(value.length * 3 / 4)} </span>${pictures && pictures.image && html`<${Picture} ...${pictures} path=${path} />`}${audio && html`<${Audio} text=${value} type=${audio} />`}<button class="link" onClick=${() => setAll(true)}>show</button>`;
  const text = JSON.stringify(value), long = text.length > 300;
  return html`<span class="string">${all || !long ? text : text.slice(0, 300) + '…'}</span>${long && html` <button class="link" onClick=${() => setAll(!all)}>${all ? 'less' : `all of ${formatBytes(text.length)}`}</button>`}`;
}

// Picture shows an image that mcpc has decoded and drawn again.
function Picture({ data, row, frame, path }) {
  const [url, setURL] = useState('');
  const [why, setWhy] = useState('');
  useEffect(() => {
    let made = '';
    data.image({ key: row, frame, path }).then(b => setURL(made = URL.createObjectURL(b)), e => setWhy(e.message));
    return () => made && URL.revokeObjectURL(made);
  }, [row, frame, path]);
  return url ? html`<img class="picture" src=${url} alt="Image in the message" />` : html`<span class="dim">${why} </span>`;
}

// Audio plays base64 as a media type. The browser decodes it only after a click.
function Audio({ text, type }) {
  const [url, setURL] = useState('');
  useEffect(() => () => url && URL.revokeObjectURL(url), [url]);
  const play = () => {
    try {
      setURL(URL.createObjectURL(new Blob([Uint8Array.from(atob(text), c => c.charCodeAt(0))], { type })));
    } catch { showToast('This is no base64.', { bad: true }); }
  };
  return url ? html`<audio controls autoplay src=${url} aria-label="Audio in the message" onError=${() => showToast('The browser cannot play it.', { bad: true })}></audio> ` : html`<button class="link" onClick=${play}>play</button> `;
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    showToast('Copied: ' + (text.length > 80 ? text.slice(0, 80) + '…' : text));
  } catch { openDialog('text', { title: 'Copy this text', text }); }
}

// focusFirst focuses the first field of an element, with its text selected, or else the first button.
export const focusFirst = box => {
  const first = box.querySelector('input, select, textarea') || box.querySelector('button');
  if (!first) return;
  first.focus();
  if (first.matches('input')) first.select();
};

// Pick draws buttons of which one is pressed. list has a value and a name for each.
export const Pick = ({ label, list, value, onPick, cls = 'pick', children }) => html`<div class=${cls} role="group" aria-label=${label}>${list.map(([v, name]) => html`<button aria-pressed=${v === value} onClick=${() => onPick(v)}>${name}</button>`)}${children}</div>`;

// FilterInput is a line for a filter, with suggestions below it. column is where the filter is wrong, from 1; 0 is nowhere.
// onText gets the text, and whether a suggestion was chosen; onEnter gets the key Enter.
export function FilterInput({ data, id, type, label, placeholder, value, column = 0, onText, onEnter }) {
  const [list, setList] = useState([]), [at, setAt] = useState(-1), [open, setOpen] = useState(false), shown = open && list.length > 0;
  useEffect(() => {
    let left = false;
    if (open) data.get('suggest', { filter: value }).then(s => left || (setList(s.slice(0, 12)), setAt(-1)), () => setList([]));
    return () => { left = true; };
  }, [value, open]);
  const choose = s => {
    onText(value.replace(/\S*$/, '') + s.text, true);
    setAt(-1);
  };
  const keys = e => {
    const n = list.length, step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step && shown) setAt((at + step + n + (at < 0 && step < 0 ? 1 : 0)) % n);
    else if (at >= 0 && (e.key === 'Tab' || e.key === 'Enter')) choose(list[at]);
    else if (e.key !== 'Enter') return;
    else if (column && n && /\S$/.test(value) && list[0].text.startsWith(value.match(/\S*$/)[0])) choose(list[0]);
    else { setOpen(false); onEnter(e); }
    e.preventDefault();
  };
  const letters = [...value], rest = letters.slice(column - 1).join('');
  return html`<div class="line">${column > 0 && html`<div class="under" aria-hidden="true">${letters.slice(0, column - 1).join('')}<u>${rest.match(/^\S*/)[0] || ' '}</u></div>`}
    <input id=${id} class="mono" type=${type} role="combobox" aria-label=${label} aria-expanded=${shown} aria-controls="suggestions" aria-autocomplete="list" aria-invalid=${column > 0} aria-describedby=${id + '-error'}
      aria-activedescendant=${at >= 0 ? 'suggestion-' + at : undefined} autocomplete="off" spellcheck=${false} placeholder=${placeholder} value=${value}
      onInput=${e => onText(e.target.value)} onFocus=${() => setOpen(true)} onBlur=${() => setTimeout(() => setOpen(false), 100)} onKeyDown=${keys} />
    ${shown && html`<ul id="suggestions" role="listbox" aria-label="Suggestions">${list.map((s, i) => html`<li role="option" id=${'suggestion-' + i} aria-selected=${i === at} onMouseDown=${e => { e.preventDefault(); choose(s); }}>
      <code>${s.text}</code>${s.count ? html`<span class="dim">${s.count}</span>` : ''}</li>`)}</ul>`}</div>`;
}

// onCtrlEnter returns a handler of keys that calls f for Ctrl+Enter.
export const onCtrlEnter = f => e => {
  if (e.key !== 'Enter' || !e.metaKey && !e.ctrlKey) return;
  e.preventDefault();
  f();
};

// onDialogOpened sets the function that is called when a dialog has got the focus.
let onOpened = () => {};
export const onDialogOpened = f => { onOpened = f; };
// ask asks the user in a dialog above an open one, and resolves to whether the answer was yes. Questions wait for each other.
let lastAnswer;
export const ask = (text, title = 'Send it?', word = 'Send') => lastAnswer = Promise.resolve(lastAnswer).then(() => new Promise(answer => {
  set({ confirm: { text, title, word, done: yes => { set({ confirm: null }); answer(yes); } } });
}));

// Dialog is modal: the browser keeps the focus inside, and Esc closes. The first field gets the focus, or else the first button.
export function Dialog({ title, children, wide, onClose = closeDialog }) {
  const ref = useRef(), here = useRef(true);
  useEffect(() => {
    const d = ref.current;
    if (!d.open) d.showModal();
    focusFirst(d.querySelector('.content'));
    onOpened();
    return () => { here.current = false; d.close(); };
  }, []);
  return html`<dialog ref=${ref} class=${wide ? 'wide' : ''} aria-label=${title} onClose=${() => here.current && onClose()} onClick=${e => e.target === ref.current && onClose()}>
    <header><h2>${title}</h2><button aria-label="Close" onClick=${onClose}>✕</button></header><div class="content">${children}</div></dialog>`;
}

// Bar draws the phases of a row. A row that took full seconds fills the whole bar.
const patternOfPhase = { connect: 'line', tls: 'line', wait: 'wait', first: 'first', events: 'events', person: 'person', held: 'held', read: 'line' };
export const phaseWords = { connect: 'connect', tls: 'TLS', wait: 'sent → first byte', first: 'first byte → first event', events: 'events', person: 'waits for the user', held: 'held', read: 'read' };
export function Bar({ row, full, seconds = row.seconds }) {
  const phases = (row.phases || []).filter(p => p.seconds > 0), sum = phases.reduce((n, p) => n + p.seconds, 0), scale = 100 / (full || 1);
  let x = 0;
  const parts = phases.map(p => {
    const from = x;
    x += p.seconds * scale;
    return html`<rect x=${from + '%'} width=${Math.max(0.4, p.seconds * scale) + '%'} y="3" height="12" class=${'ph ' + patternOfPhase[p.name]} fill=${`url(#p-${patternOfPhase[p.name] || 'wait'})`} />`;
  });
  const rest = seconds - sum;
  if (rest > 0) parts.push(html`<rect x=${x + '%'} width=${Math.max(0.8, rest * scale) + '%'} y="3" height="12" class=${row.state === 'done' ? 'ph' : 'ph open'} fill=${`url(#p-${row.state === 'done' ? 'wait' : 'open'})`} />`);
  return html`<svg class=${'bar ' + rowTone(row)} role="img" aria-label=${[formatSeconds(seconds), ...phases.map(p => `${phaseWords[p.name] || p.name} ${formatSeconds(p.seconds)}`)].join(', ')}>${parts}</svg>`;
}
// Patterns defines the patterns of bars. Phases differ by their pattern, not by their colour alone.
export const Patterns = () => html`<svg class="defs" aria-hidden="true"><defs>
  ${[['wait', ''], ['first', 'M0 4L4 0'], ['events', 'M1 0V4'], ['person', 'M1 1h1v1h-1z'], ['held', 'M0 0L4 4M4 0L0 4'], ['line', 'M0 2H4'], ['open', 'M0 0L4 4']].map(([id, d]) => html`<pattern id=${'p-' + id} width="4" height="4" patternUnits="userSpaceOnUse">
    <rect width="4" height="4" class=${'b-' + id} /><path d=${d} class="mark" /></pattern>`)}</defs></svg>`;

export const rowTone = r => r.state === 'held' ? 'held' : r.failed ? 'failed' : r.state === 'asking' ? 'asking' : r.state === 'open' || r.channel === 'open' ? 'open' : r.channel === 'cancelled' ? 'cancelled' : 'ok';
export const toneSigns = { held: '‖', failed: '✗', asking: '?', open: '…', cancelled: '⊘', ok: '·' };
export const toneWords = { held: 'held', failed: 'failed', asking: 'the server asks', open: 'open', cancelled: 'cancelled', ok: 'done' };

// Markdown draws headings, lists, code, emphasis and links. It shows the whole address of a link.
export function Markdown({ text }) {
  const out = [], lines = text.slice(0, 2e5).split('\n');
  for (let i = 0; i < lines.length; i++) {
    const l = lines[i], code = /^\s*(```|~~~)/.exec(l), head = /^(#{1,6})\s+(.*)/.exec(l), item = /^(\s*)([-*+]|\d+[.)])\s+(.*)/.exec(l);
    if (code) {
      const block = [];
      while (++i < lines.length && !lines[i].trim().startsWith(code[1])) block.push(lines[i]);
      out.push(html`<pre>${block.join('\n')}</pre>`);
    } else if (head) out.push(html`<p class=${'h h' + head[1].length} role="heading" aria-level=${Math.min(6, head[1].length + 2)}>${parseInlines(head[2])}</p>`);
    else if (item) out.push(html`<p class=${'item i' + Math.min(4, item[1].length >> 1)}>${/\d/.test(item[2]) ? item[2] : '•'} ${parseInlines(item[3])}</p>`);
    else if (l.trim()) {
      const block = [l];
      while (i + 1 < lines.length && lines[i + 1].trim() && !/^\s*(```|~~~|#{1,6}\s|[-*+]\s|\d+[.)]\s)/.test(lines[i + 1])) block.push(lines[++i]);
      out.push(html`<p>${parseInlines(block.join('\n'))}</p>`);
    }
  }
  return html`<div class="md">${out}</div>`;
}
function parseInlines(text) {
  const out = [];
  let last = 0;
  for (const m of text.matchAll(/`([^`\n]+)`|\*\*([^*\n]+)\*\*|(?<![\w*])[*_]([^*_\n]+)[*_](?![\w*])|\[([^\]\n]*)\]\(([^)\s]+)\)|https?:\/\/[^\s<>"'`)\]]+/g)) {
    out.push(text.slice(last, m.index));
    last = m.index + m[0].length;
    if (m[1]) out.push(html`<code>${m[1]}</code>`);
    else if (m[2]) out.push(html`<b>${m[2]}</b>`);
    else if (m[3]) out.push(html`<i>${m[3]}</i>`);
    else out.push(m[4] !== undefined ? `${m[4]} ` : '', html`<${Link} url=${m[5] || m[0]} />`);
  }
  return [...out, text.slice(last)];
}
// Link shows an address whole; only http and https can be opened.
export const Link = ({ url }) => safeURL(url) ? html`<a href=${safeURL(url)} target="_blank" rel="noreferrer noopener">${url}</a>` : html`<code>${url}</code>`;
