// The host's side of MCP Apps: it answers the requests of an app's frame and keeps a list of the messages.
const version = '2026-01-26', maxKept = 500, maxRunning = 8, maxShown = 20000;
const passedOn = ['tools/call', 'resources/read', 'resources/list', 'resources/templates/list', 'prompts/list'];
const refusal = (code, message) => ({ error: { code, message } });

// An AppHost talks to the app in a frame. origin is the origin of the frame's URL. context() returns the hostContext. input and
// result are the call's arguments and its result. ask(method, params) carries out a request of the app, and returns {result} or
// {error}. onChange is called after each message, and onSize(width, height) if the app asks for a size.
export class AppHost {
  constructor(options) {
    Object.assign(this, options, { entries: [], count: 0, dropped: 0, running: 0, state: 'loading', waiting: new Map(), ids: 0, began: performance.now(), changed: performance.now() });
    addEventListener('message', this.listen);
  }
  close() { removeEventListener('message', this.listen); }
  listen = e => {
    if (!this.frame || e.source !== this.frame.contentWindow || e.origin !== this.origin) return;
    const { text, dropped } = e.data || {};
    if (dropped) { this.dropped = dropped; this.onChange(); }
    if (typeof text === 'string') this.receive(text);
  };
  note(dir, message, bytes) {
    this.changed = performance.now();
    const text = JSON.stringify(message, null, 2) ?? '';
    this.entries.push({ n: ++this.count, dir, time: Date.now(), method: String(message.method ?? (message.error ? 'error' : 'result')).slice(0, 100), id: message.id, bytes, text: text.length > maxShown ? text.slice(0, maxShown) + '…' : text });
    if (this.entries.length > maxKept) this.entries.shift();
    this.onChange();
  }
  send(message) {
    message = { jsonrpc: '2.0', ...message };
    this.note('sent', message, new Blob([JSON.stringify(message)]).size);
    this.frame.contentWindow.postMessage(message, this.origin);
  }
  receive(text) {
    let m;
    try { m = JSON.parse(text); } catch { return; }
    // Messages between the scripts of the app.
    if (!m || typeof m !== 'object' || m.jsonrpc !== '2.0') return;
    this.note('received', m, new Blob([text]).size);
    const hasID = typeof m.id === 'string' || typeof m.id === 'number', params = m.params && typeof m.params === 'object' ? m.params : {};
    if (typeof m.method !== 'string') {
      const done = hasID && this.waiting.get(m.id);
      if (done) { this.waiting.delete(m.id); done(); }
    } else if (hasID) this.answer(m.id, m.method, params); else this.take(m.method, params);
  }
  async answer(id, method, params) {
    let got;
    if (method === 'ui/initialize') got = this.initialize();
    else if (method === 'ping') got = { result: {} };
    else if (this.state !== 'ready') got = refusal(-32600, 'ui/initialize comes first');
    else if (this.running >= maxRunning) got = refusal(-32000, `${maxRunning} requests are running already`);
    else {
      this.running++;
      got = await this.request(method, params).catch(e => refusal(-32000, e.message));
      this.running--;
    }
    if (this.state !== 'closed') this.send({ id, ...got });
  }
  async request(method, params) {
    if (method === 'ui/request-display-mode') return { result: { mode: 'inline' } };
    // They are in the list.
    if (['ui/message', 'ui/update-model-context'].includes(method)) return { result: {} };
    return method === 'ui/open-link' || passedOn.includes(method) ? this.ask(method, params) : refusal(-32601, 'this host does not know ' + method.slice(0, 100));
  }
  initialize() {
    if (this.state === 'loading') this.state = 'initializing';
    return { result: { protocolVersion: version, hostInfo: { name: 'mcpc', version: '1' },
      hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, logging: {}, message: { text: {} }, updateModelContext: { text: {}, structuredContent: {} }, sandbox: this.sandbox || {} }, hostContext: this.context() } };
  }
  take(method, params) {
    if (method === 'ui/notifications/initialized' && this.state === 'initializing') {
      this.state = 'ready';
      this.send({ method: 'ui/notifications/tool-input', params: { arguments: this.input || {} } });
      if (this.result) this.send({ method: 'ui/notifications/tool-result', params: this.result });
    } else if (method === 'ui/notifications/size-changed') this.onSize(bounded(params.width), bounded(params.height));
    else if (method === 'ui/notifications/request-teardown') this.onEnd();
  }
  contextChanged(change) { if (this.state === 'ready') this.send({ method: 'ui/notifications/host-context-changed', params: change }); }
  // teardown lets the app end, for half a second at most.
  teardown() {
    if (this.state !== 'ready') return Promise.resolve();
    const id = 'mcpc-' + ++this.ids, answered = new Promise(done => this.waiting.set(id, done));
    this.send({ id, method: 'ui/resource-teardown', params: {} });
    this.state = 'closed';
    return Promise.race([answered, new Promise(done => setTimeout(done, 500))]);
  }
}
// bounded returns a size in pixels within limits, or 0.
const bounded = n => typeof n === 'number' && n > 0 ? Math.min(4000, Math.max(40, Math.ceil(n))) : 0;

// hostContext returns what an app may know about its surroundings.
export const hostContext = ({ theme, width, definition }) => ({ theme, displayMode: 'inline', availableDisplayModes: ['inline'], containerDimensions: { width, maxHeight: 4000 }, locale: navigator.language,
  timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, userAgent: 'mcpc', platform: 'web', deviceCapabilities: { touch: false, hover: true }, safeAreaInsets: { top: 0, right: 0, bottom: 0, left: 0 },
  ...(definition ? { toolInfo: { tool: definition } } : {}) });

// responseOf returns the response to a request of an app from what mcpc says became of the request.
export const responseOf = r => r.result ? { result: r.result } : { error: r.error || { code: -32000, message: r.text || r.confirm || r.channel || 'not sent' } };

// makeFrame returns the frame of an app. The app has a frame of its own in it, which has no origin.
export function makeFrame(app) {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts allow-same-origin allow-forms');
  frame.title = 'App';
  frame.allow = app.allow;
  frame.src = app.frame;
  return frame;
}
