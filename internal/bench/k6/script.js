// A load test of an MCP server, written by mcpc for k6 (https://k6.io). It needs no extension.
//
//   k6 run script.js
//   k6 run -e RATE=200 -e DURATION=5m script.js        200 calls a second
//   k6 run -e RATE=200 -e RAMP=1m script.js            ... after one minute of increasing load
//   k6 run -e RATE=0 -e USERS=20 -e THINK=1s script.js 20 users, each waits 1 s after a call
//   k6 run --vus 5 --iterations 1000 script.js         1000 calls by 5 users
//
// Variables: MCP_URL (the server, instead of the recorded one), RATE (calls a second, 0: as many
// as USERS make), USERS (users; with RATE the most calls in flight, 256 if not set), THINK, DURATION, WARMUP,
// RAMP, TIMEOUT (of a call). Secrets are not in these files: PLAN.secrets lists the variables
// that have them, for example MCP_TOKEN. Export them; a value after -e is visible in ps.
//
// One iteration is one call. The calls are the lines of data.jsonl, in their order; add lines to
// change the mix. A line has method, params (an object, or its JSON as a string where the exact
// bytes count), tool (a tag), and headers that repeat a part of the params. A list instead of a
// string has parts that are known only when it runs: {env} is a variable of PLAN.secrets, and
// {line, path, was} the value that the answer to another line has there, or else the recorded
// one. With such a line each user goes through all lines by itself; without one the users share
// one order.
//
// What is measured:
//   mcp_call         time of calls that succeeded, from the request to the end of the response;
//                    connecting is not included. A call that timed out counts with TIMEOUT: it
//                    took at least that. Tags: mcp_method, mcp_tool, era, channel
//   mcp_ok           calls that succeeded; each other call counts in one of:
//   mcp_tool_error   the result has isError
//   mcp_rpc_error    a JSON-RPC error, whatever the HTTP status, or a result that is none yet:
//                    the server asks for input, or has begun a task
//   mcp_transport    no response of JSON-RPC: refused, cut, HTTP 401, 429, 502 ...
//   mcp_timeout      no response within TIMEOUT
//   mcp_failed       the rate of all that did not succeed
//   mcp_open         time of initialize, where the server has sessions
// k6 ends with status 99 if a threshold is crossed. The warm-up counts in no mcp_ metric.
//
// Limits:
// - k6 reads an event stream to its end: time to the first event and progress are not measured,
//   and a server that does not close the stream after its response makes a call take TIMEOUT.
//   A stream that breaks before the response is not resumed: the call counts as transport.
// - With RATE, k6 starts calls on time or drops them (dropped_iterations); it does not queue
//   them. More than one in 1000 dropped crosses a threshold: increase USERS, or add machines.
// - A session that the server ends is replaced, and the new one is not closed at the end.
//
// More than one machine: k6 divides the load by execution segments. On the first of two run
//   k6 run --execution-segment 0:1/2 --execution-segment-sequence 0,1/2,1 script.js
// and on the second the same with 1/2:1. On Kubernetes the k6 operator does it: make an archive
// with "k6 archive script.js" and set parallelism in a TestRun. Each machine judges thresholds
// by its own calls: send the metrics to one place (k6 run --out) to judge the whole.

import http from 'k6/http';
import exec from 'k6/execution';
import { fail, sleep } from 'k6';
import { SharedArray } from 'k6/data';
import { Counter, Rate, Trend } from 'k6/metrics';

const PLAN = /*PLAN*/;

const calls = new SharedArray('calls', () =>
  open('./data.jsonl').split('\n').filter((line) => line.trim() !== '').map((line) => JSON.parse(line)));

for (const secret of PLAN.secrets) {
  if (!__ENV[secret.env]) {
    throw new Error(`set ${secret.env} to ${secret.value}`);
  }
}

const setting = (name, value) => (__ENV[name] === undefined ? value : __ENV[name]);
const RATE = number('RATE', PLAN.rate);
// A plan without a rate has few users, which would bound the calls in flight.
const USERS = number('USERS', RATE > 0 && !(PLAN.rate > 0) ? 256 : PLAN.users);
const THINK = seconds(setting('THINK', PLAN.think));
const DURATION = setting('DURATION', PLAN.duration);
const WARMUP = setting('WARMUP', PLAN.warmup);
const RAMP = setting('RAMP', '');
const TIMEOUT = setting('TIMEOUT', '60s');
const URL = setting('MCP_URL', text(PLAN.url, (value) => value));
if (!URL) {
  throw new Error('set MCP_URL to the URL of the server');
}
const ERA = PLAN.stateless ? 'modern' : 'legacy';

const took = new Trend('mcp_call', true);
const opened = new Trend('mcp_open', true);
const failed = new Rate('mcp_failed');
const channels = {};
for (const name of ['ok', 'tool_error', 'rpc_error', 'transport', 'timeout']) {
  channels[name] = new Counter(`mcp_${name}`);
}

export const options = {
  scenarios: scenarios(),
  thresholds: Object.assign(RATE > 0 ? { dropped_iterations: [`rate<=${RATE / 1000}`] } : {}, PLAN.thresholds),
  summaryTrendStats: ['min', 'med', 'p(90)', 'p(95)', 'p(99)', 'p(99.9)', 'max'],
  setupTimeout: '10m',
  teardownTimeout: '10m',
};

function scenarios() {
  const load = (duration, ramp) => {
    if (!(RATE > 0)) {
      return { executor: 'constant-vus', vus: USERS, duration };
    }
    const open = { timeUnit: '1s', preAllocatedVUs: USERS, maxVUs: USERS };
    if (ramp) {
      const stages = [{ duration: ramp, target: RATE }, { duration, target: RATE }];
      return Object.assign(open, { executor: 'ramping-arrival-rate', startRate: 0, stages });
    }
    // k6 takes whole numbers: a rate of 0.25 is 250 in 1000 s.
    const scale = Number.isInteger(RATE) ? 1 : 1000;
    return Object.assign(open, { executor: 'constant-arrival-rate', rate: Math.round(RATE * scale), timeUnit: `${scale}s`, duration });
  };
  const all = { calls: Object.assign(load(DURATION, RAMP), { exec: 'default' }) };
  if (WARMUP && seconds(WARMUP) > 0) {
    all.warmup = Object.assign(load(WARMUP, ''), { exec: 'warmup' });
    all.calls.startTime = WARMUP;
  }
  return all;
}

// setup opens a session for each user, where the server has sessions.
export function setup() {
  if (PLAN.stateless) {
    return { sessions: [] };
  }
  let users = 0;
  for (const scenario of Object.values(exec.test.options.scenarios)) {
    users += scenario.maxVUs || scenario.vus || 1;
  }
  const sessions = [];
  while (sessions.length < users) {
    const some = Math.min(users - sessions.length, 20);
    sessions.push(...openSessions(some));
  }
  return { sessions };
}

export function teardown(data) {
  const given = data.sessions.filter((session) => session.id);
  for (let i = 0; i < given.length; i += 20) {
    http.batch(given.slice(i, i + 20).map((session) => ['DELETE', URL, null, params(session, {}, 'DELETE', '')]));
  }
}

export default function (data) {
  call(data, true);
}

export function warmup(data) {
  call(data, false);
}

// The state of one user.
let session; // one that this user opened itself
let id = 0; // of the last request
let made = 0; // calls
const results = {}; // of lines that others need, by the number of the line

function call(data, counts) {
  const at = (PLAN.own_order ? made : exec.scenario.iterationInTest) % calls.length;
  made++;
  const line = calls[at];
  const now = session || (PLAN.stateless ? undefined : data.sessions[exec.vu.idInInstance - 1] || (session = openSessions(1)[0]));
  const tags = { mcp_method: line.method, mcp_tool: line.tool || '', era: ERA };

  id++;
  const asJSON = (value) => JSON.stringify(value).slice(1, -1);
  let own = Array.isArray(line.params) || typeof line.params === 'string' ? text(line.params, asJSON) : JSON.stringify(line.params || {});
  if (PLAN.meta && !line.has_meta) {
    own = withMeta(own);
  }
  const body = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(line.method)},"params":${own}}`;
  const response = http.post(URL, body, params(now, line.headers || {}, line.method, tags.mcp_tool));
  const answer = answerTo(id, response);

  tags.channel = channelOf(response, answer);
  if (line.needed) {
    results[at + 1] = tags.channel === 'ok' ? answer.result : undefined;
  }
  if (counts) {
    channels[tags.channel].add(1, tags);
    failed.add(tags.channel !== 'ok', tags);
    if (tags.channel === 'ok') {
      took.add(response.timings.duration, tags);
    } else if (tags.channel === 'timeout') {
      took.add(1000 * seconds(TIMEOUT), tags);
    }
  }
  if (now && now.id && response.status === 404 && tags.channel !== 'ok') {
    session = openSessions(1)[0]; // the server has ended it
  }
  if (!(RATE > 0)) {
    // A server that is gone refuses calls faster than it answered them.
    sleep(response.status === 0 ? Math.max(THINK, 0.1) : THINK);
  }
}

// text writes what is known only now: variables as write gives them, and values of answers.
function text(parts, write) {
  if (typeof parts === 'string') {
    return parts;
  }
  return parts.map((part) => {
    if (typeof part === 'string') {
      return part;
    }
    if (part.env) {
      return write(__ENV[part.env]);
    }
    const value = part.path.reduce((inner, key) => (inner === undefined || inner === null ? undefined : inner[key]), results[part.line]);
    return value === undefined ? part.was : JSON.stringify(value);
  }).join('');
}

// withMeta adds what every request of a stateless revision says of its client.
function withMeta(own) {
  const rest = own.trim().slice(1).trim();
  return `{"_meta":${PLAN.meta}${rest === '' || rest === '}' ? '}' : `,${rest}`}`;
}

// params are the header fields and the tags of a request.
function params(now, more, method, tool) {
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  for (const field of PLAN.headers) {
    headers[field.name] = text(field.value, (value) => value);
  }
  const revision = PLAN.stateless ? PLAN.revision : (now && now.revision) || '';
  if (revision >= '2025-06-18') {
    headers['MCP-Protocol-Version'] = revision;
  }
  if (now && now.id) {
    headers['Mcp-Session-Id'] = now.id;
  }
  for (const name of Object.keys(more)) {
    headers[name] = text(more[name], (value) => value);
  }
  const tags = { mcp_method: method, mcp_tool: tool, era: ERA, name: tool ? `${method} ${tool}` : method };
  return { headers, tags, timeout: TIMEOUT, redirects: 0, responseType: 'text' };
}

// openSessions does several handshakes at a time.
function openSessions(n) {
  const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":${PLAN.initialize}}`;
  const responses = http.batch(Array.from({ length: n }, () => ['POST', URL, initialize, params(undefined, {}, 'initialize', '')]));
  const sessions = responses.map((response) => {
    const answer = answerTo(0, response);
    if (channelOf(response, answer) !== 'ok') {
      fail(`initialize failed: HTTP ${response.status} ${response.error || String(response.body).slice(0, 200)}`);
    }
    opened.add(response.timings.duration);
    return { id: response.headers['Mcp-Session-Id'] || '', revision: answer.result.protocolVersion };
  });
  const done = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
  http.batch(sessions.map((now) => ['POST', URL, done, params(now, {}, 'notifications/initialized', '')]));
  return sessions;
}

// answerTo finds the response to a request, in JSON or in an event stream.
function answerTo(wanted, response) {
  const body = response.body || '';
  const type = (response.headers['Content-Type'] || '').split(';')[0].trim().toLowerCase();
  for (const one of type === 'text/event-stream' ? events(body) : [body]) {
    let messages;
    try {
      messages = [].concat(JSON.parse(one));
    } catch (e) {
      continue;
    }
    for (const m of messages) {
      const isResponse = m && typeof m === 'object' && (m.result !== undefined || m.error);
      if (isResponse && (m.id === wanted || (m.error && (m.id === null || m.id === undefined)))) {
        return m;
      }
    }
  }
  return undefined;
}

// events are the data of the messages of an event stream.
function events(body) {
  const all = [];
  let data = [];
  let type = '';
  const lines = body.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/);
  lines.pop(); // it did not end
  for (const line of lines) {
    const at = line.indexOf(':');
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? '' : line.slice(at + 1).replace(/^ /, '');
    if (line === '') {
      if (data.length > 0 && (type === '' || type === 'message')) {
        all.push(data.join('\n'));
      }
      data = [];
      type = '';
    } else if (name === 'data') {
      data.push(value);
    } else if (name === 'event') {
      type = value;
    }
  }
  return all;
}

// channelOf says what became of a call.
function channelOf(response, answer) {
  if (response.error_code === 1050) {
    return 'timeout';
  }
  if (!answer) {
    return 'transport';
  }
  if (answer.error) {
    return 'rpc_error';
  }
  const result = answer.result;
  if (response.status < 200 || response.status > 299 || result === null || typeof result !== 'object') {
    return 'transport';
  }
  if (result.isError === true) {
    return 'tool_error';
  }
  return result.resultType === undefined || result.resultType === 'complete' ? 'ok' : 'rpc_error';
}

// number reads a variable.
function number(name, otherwise) {
  const given = __ENV[name];
  if (given === undefined) {
    return otherwise;
  }
  if (given.trim() === '' || !(Number(given) >= 0) || (name === 'USERS' && !(Number.isInteger(Number(given)) && Number(given) > 0))) {
    throw new Error(`${name} must be a number, not "${given}"`);
  }
  return Number(given);
}

// seconds reads a duration, such as 1m30s.
function seconds(duration) {
  const units = { ms: 0.001, s: 1, m: 60, h: 3600 };
  let sum = 0;
  for (const [, number, unit] of String(duration).matchAll(/([\d.]+)(ms|s|m|h)/g)) {
    sum += Number(number) * units[unit];
  }
  return sum;
}
