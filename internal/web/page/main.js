// The page: its data, and the parts around the view.
import { render, Component } from './vendor/preact.mjs';
import { html, S, set, typeFilter, openDialog, isFollowing, shownTalk, onDraw, saveURL, loadURL, applyTheme, clean, countNoun, formatTime, withoutVersion, showError, shownViews } from './lib.js';
import { Patterns, FilterInput } from './ui.js';
import { Talk, Table, Time, Tools, Streams, Secrets, Detail } from './views.js';
import { Home, Try } from './try.js';
import { useData, catchKey, onKey, Button, Dialogs, Confirm, Asking, Waiting, WaitingBar, toggleWord, runActionByKey, showMatching } from './act.js';

const viewComponents = { talk: Talk, table: Table, time: Time, tools: Tools, streams: Streams, secrets: Secrets, try: Try, home: Home };
const quickFilters = ['is:open', 'is:error', 'is:open,cancelled', 'has:question', 'has:finding', 'dur:>1s'];

// Filter is the filter line. While the filter is invalid, the last valid result stays on the screen.
function Filter({ data }) {
  const error = S.filter === S.asked && S.error, column = error && error.column ? error.column : 0;
  const enter = e => { set({ filter: S.filter }); e.target.blur(); };
  return html`<div class="filter"><${FilterInput} data=${data} id="filter" type="search" label="Filter" placeholder=${data.inline ? 'Filter: words, all of which must match (the whole language needs mcpc)' : 'Filter: all of some words, "a phrase", method:tools/call, is:error, a or b  (/)'} value=${S.filter} column=${column} onText=${(text, isChosen) => isChosen ? set({ filter: text }) : typeFilter(text)} onEnter=${enter} />
    <p id="filter-error" class="wrong" role="status">${error ? (column ? `column ${column}: ` : '') + error.message : ''}</p>
    <div class="chips" role="group" aria-label="Quick filters">${quickFilters.slice(0, data.inline ? 2 : 9).map(c => html`<button aria-pressed=${S.filter.split(/\s+/).includes(c)} onClick=${() => set({ filter: toggleWord(S.filter, c) })}>${c}</button>`)}
      ${S.only && html`<button aria-pressed="true" onClick=${() => set({ only: '' })}>only ${S.only} ✕</button>`}
      ${(S.view === 'talk' || S.view === 'table') && html`<span class="dim" role="status">${countNoun(S.found || 0, 'exchange')}${S.pending ? `, ${countNoun(S.pending, 'body', 'bodies')} still to search` : ''}</span>`}</div></div>`;
}

function Conversations() {
  const pick = talk => set({ talk, first: false, row: '', follow: !S.status.file });
  const step = e => {
    const to = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[e.key], next = to && e.target[to];
    if (next) { e.preventDefault(); next.focus(); }
  };
  const serverOf = c => withoutVersion(c.server || c.target), targets = new Map(), several = new Set();
  for (const c of S.conversations) { const name = serverOf(c); if (targets.has(name) && targets.get(name) !== c.target) several.add(name); targets.set(name, c.target); }
  // apart returns what tells servers of one name apart: the target, short enough for the line below the name.
  const apart = c => c.server && c.target && several.has(serverOf(c)) ? c.target.replace(/^https?:\/\/|^\/\S*\//, '') : '';
  const sum = (k) => S.conversations.reduce((n, c) => n + c[k], 0);
  const entry = (id, name, c) => html`<button key=${id} aria-current=${shownTalk() === id ? 'true' : undefined} onClick=${() => pick(id)} class="talk-entry" title=${id ? `${name}, ${c.target || ''}` : ''}><span class="who">${c.live && !S.status.file ? html`<span class="live" title="live">●</span>` : ''} ${name}</span>
    <span class="n">${c.failed ? html`<span class="tone failed">✗${c.failed}</span> ` : ''}${c.open ? html`<span class="tone open">…${c.open}</span> ` : ''}${c.rows}</span>
    ${id && html`<span class="dim under-name">${formatTime(c.began)} ${c.by || ''} ${apart(c) || c.protocol || ''}</span>`}</button>`;
  return html`<nav class="talks" aria-label="Conversations" onKeyDown=${step}>${entry('', 'all', { rows: sum('rows'), open: sum('open'), failed: sum('failed') })}
    ${S.conversations.slice(-150).reverse().map(c => entry(c.id, `${withoutVersion(c.client || c.by || 'client')} → ${serverOf(c)}`, c))}
    ${S.conversations.length > 150 && html`<p class="dim">${countNoun(S.conversations.length - 150, 'older conversation')}: filter with client: or server:</p>`}</nav>`;
}

class App extends Component {
  componentDidMount() {
    onDraw(() => this.setState({}));
    addEventListener('keydown', catchKey, true);
    for (const input of ['keydown', 'pointerdown']) addEventListener(input, () => { this.atHome = false; }, true);
    addEventListener('keydown', onKey);
    this.typedAt = 0;
    addEventListener('input', e => { if (!e.target.closest('.waiting')) this.typedAt = Date.now(); });
    this.tick = setInterval(() => (S.status.open || S.held.length || S.questions.length) && !document.hidden && this.setState({}), 1000);
    const { data } = this.props;
    data.watch(status => {
      const { status: was } = S;
      const begins = this.props.fresh && !this.began && !status.loading;
      if (begins) this.began = true;
      if (begins && status.home && !status.rows && S.view === 'talk') { this.atHome = true; set({ view: 'home' }); }
      set({ status, powers: status.powers || S.powers, lost: '', ...(S.paused ? {} : { seq: status.seq }) });
      if (was.questions !== status.questions || status.questions) this.read('questions');
      if (was.held !== status.held || status.held) this.read('held');
      if (was.faults !== status.faults) this.read('faults');
      if (was.notices !== status.notices) set({ toast: status.notice });
      this.conversations();
      const waiting = (status.questions || 0) + (status.held || 0);
      document.title = clean(`${waiting ? `(${waiting}) ` : ''}${status.title || data.title} – mcpc inspect`);
    }, lost => set({ lost }));
  }
  read(name) {
    this.props.data.get(name).then(list => {
      const isAsked = name === 'questions' && list.some(q => !q.watched && !S[name].some(x => x.id === q.id));
      // While the user types, only the bar shows a question. A text field that was left unchanged since the call began is no typing.
      const isTyping = document.activeElement.matches('textarea, input:not([type=checkbox], [type=radio])') && !(S.run && S.run.began > this.typedAt);
      set({ [name]: list, ...(S.waiting === name && !list.length ? { waiting: '' } : {}) });
      // A question of a request of this page opens by itself.
      if (isAsked && !isTyping) runActionByKey('a');
    }, showError);
  }
  conversations() {
    if (this.asked) { this.again = true; return; }
    this.asked = true;
    // While it is set, all conversations are old.
    const { loading } = S.status;
    this.props.data.get('conversations').then(conversations => {
      if (this.known) S.unseen.push(...conversations.filter(c => !this.known.has(c.id) && c.by !== 'command').map(c => c.id));
      if (!loading) this.known = new Set(conversations.map(c => c.id));
      const first = this.props.fresh && conversations.find(c => c.first), follow = S.first && S.follow && !S.paused;
      // A page that began with Home shows the first client that begins, unless the user has done something.
      if (this.atHome && conversations.some(c => c.by !== 'command')) { this.atHome = false; set({ view: 'talk' }); }
      set({ conversations, ...(first && (follow || !this.chosen && !S.talk) ? { talk: first.id, first: true } : {}) });
      this.chosen = true;
    }, showError).finally(() => setTimeout(() => {
      this.asked = false;
      if (this.again) { this.again = false; this.conversations(); }
    }, 500));
  }
  componentDidUpdate() {
    saveURL();
    if (S.theme !== (this.theme || '')) applyTheme();
    this.theme = S.theme;
    const { toast } = S;
    if (toast && toast !== this.toast) { clearTimeout(this.fade); if (!S.bad && !S.stop) this.fade = setTimeout(() => S.toast === toast && set({ toast: '' }), 5000); }
    this.toast = toast;
  }
  // The parts that appear and disappear have keys. Without a key, the bar of a lost connection would replace the element of
  // the body, and the rows and the detail would have to be read again, which is not possible any more.
  render({ data }) {
    const { status, view } = S, View = viewComponents[view] || Talk, all = S.conversations.find(c => c.id === shownTalk());
    return html`<${Patterns} /><a class="skip" href="#filter" onClick=${e => { e.preventDefault(); runActionByKey('/'); }}>${view === 'try' ? 'Go to the search' : 'Go to the filter'}</a>
      ${S.lost && html`<div key="lost" class="bar lost" role="alert">${S.lost}</div>`}${status.trouble && html`<div key="trouble" class="bar lost" role="alert">✗ ${status.trouble}${status.output && html` <button onClick=${() => runActionByKey('O')}>Its output (O)</button>`}</div>`}<${WaitingBar} />
      <header class="top"><h1>${all ? `${all.client || all.by} → ${all.server || all.target}` : status.title || data.title}</h1>
        <span class="counts">${status.file ? 'file' : html`<span class=${S.paused || S.lost ? '' : 'live'}>●</span> ${S.lost ? 'not connected' : S.paused ? 'paused' : 'live'}`}${status.loading ? ', reading…' : ''} ${countNoun(status.rows || 0, 'exchange')}
          ${status.open ? html` <button class="count" onClick=${() => showMatching('is:open')}>… ${status.open} open</button>` : ''}${status.failed ? html` <button class="count failed" onClick=${() => showMatching('is:error')}>✗ ${status.failed} failed</button>` : ''}
          ${status.dropped ? ` ${countNoun(status.dropped, 'older one')} left out` : ''}${status.lost ? html` <b class="wrong">${countNoun(status.lost, 'frame')} lost</b>` : ''}</span>
        <span class="sr" role="status" aria-live="polite">${status.questions ? `${countNoun(status.questions, 'question')} of a server to answer` : ''} ${status.held ? `${countNoun(status.held, 'message')} held` : ''}</span>
        <div class="buttons" role="toolbar" aria-label="View">${!status.file && html`<${Button} k="p" short=${S.paused ? 'Go on' : 'Pause'} /><${Button} k="G" short=${isFollowing() ? 'Following' : S.found > S.seen ? `Follow: ${S.found - S.seen} new` : 'Follow'} />`}
          ${data.inline ? data.report && html`<button class="act" onClick=${() => openDialog('report')}>Report</button>` : html`<${Button} k="i" short="Hold" /><${Button} k="D" short="Compare conversations" /><${Button} k="x" short="Export" />`}<${Button} k="?" short="Keys" /></div></header>
      <nav class="views" aria-label="Views">${shownViews().map(([id, name, key]) => html`<button aria-current=${view === id ? 'page' : undefined} onClick=${() => runActionByKey(key)}><kbd>${key}</kbd> ${name}</button>`)}</nav>
      ${view !== 'try' && html`<${Filter} key="filter" data=${data} />`}<${Waiting} />
      ${(status.warnings || []).length > 0 && html`<details class="warnings"><summary>${countNoun(status.warnings.length, 'warning')}</summary>${status.warnings.slice(0, 50).map(w => html`<p>${w}</p>`)}</details>`}${data.left && html`<p class="warnings">${data.left}</p>`}
      <div key="body" class=${'body' + (S.detail ? ' with-detail' : '') + (view === 'try' ? ' trying' : '')}>${view !== 'try' && html`<${Conversations} key="talks" />`}<section key="view" class="view" aria-label=${(shownViews().find(([id]) => id === view) || shownViews()[0])[1]}><${View} key=${view} data=${data} /></section>
        ${S.detail && html`<section key="detail" class="detail" aria-label="Detail"><${Detail} data=${data} /></section>`}</div>
      ${S.toast && html`<div key="toast" class=${'toast' + (S.bad ? ' bad' : '')} role=${S.bad ? 'alert' : 'status'}>${S.toast}${S.stop ? html`<button onClick=${() => S.stop.abort()}>Cancel</button>` : ''}<button aria-label="Close" onClick=${() => set({ toast: '' })}>✕</button></div>`}${S.app && html`<${S.app.Panel} key=${'app' + S.app.at} />`}<${Dialogs} /><${Confirm} /><${Asking} />`;
  }
}

// A new address of mcpc that is pasted into the tab only changes the fragment, so the page has to be loaded again.
addEventListener('hashchange', () => new URLSearchParams(location.hash.slice(1)).has('t') ? location.reload() : loadURL());

// start draws the page with the data that load returns, or the error that load throws.
export async function start(load) {
  const app = document.getElementById('app');
  try {
    const data = await load();
    useData(data);
    S.powers = data.powers;
    const isBare = !location.hash;
    loadURL();
    // The address of a page that begins with Try says nothing about Talk.
    const fresh = isBare || S.view === 'try' && !S.talk;
    app.replaceChildren();
    render(html`<${App} data=${data} fresh=${fresh} />`, app);
  } catch (e) {
    app.replaceChildren();
    document.title = 'Not open – mcpc inspect';
    render(html`<div class="boot" role="alert"><h1>mcpc inspect shows nothing here</h1><p>${e.message}</p>${e.status === 401 || e.uninvited ? html`<p>If that mcpc has ended: <code>mcpc inspect --web</code> starts another one.</p>` : ''}</div>`, app);
  }
}
