// node run.mjs MCPC WORK ROUNDS [JOB...]: does each job with each bridge, and prints a Markdown table. WORK is a
// directory for what the programs store. scripts/bridges.sh says what is compared.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [mcpc, work, rounds, ...chosen] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const node = process.execPath;
const program = (name, script) => [node, join(here, 'node_modules', name, script)];
const remote = program('mcp-remote', 'dist/proxy.js');
const gateway = program('supergateway', 'dist/index.js');
const proxy = program('mcp-proxy', 'dist/bin/mcp-proxy.mjs');
const server = join(here, 'server.mjs');
const browser = join(here, 'browser.mjs');
const command = [node, server, 'stdio'];

// What each bridge is called and how it is started for a server that needs nothing, a token, and so on.
// mcp-proxy has no way from a client over stdio to a remote server.
const bridges = {
  mcpc: {
    login: (url) => [mcpc, 'serve', url, '--login-wait', '30'],
    plain: (url) => [mcpc, 'serve', url],
    token: (url) => [mcpc, 'serve', url, '--header', 'Authorization: Bearer static'],
    sse: (url) => [mcpc, 'serve', url],
    http: (port) => [mcpc, 'serve', '--http', port, '--', ...command],
  },
  'mcp-remote': {
    login: (url) => [...remote, url],
    plain: (url) => [...remote, url],
    token: (url) => [...remote, url, '--header', 'Authorization: Bearer static'],
    sse: (url) => [...remote, url],
  },
  supergateway: {
    login: (url) => [...gateway, '--streamableHttp', url],
    plain: (url) => [...gateway, '--streamableHttp', url],
    token: (url) => [...gateway, '--streamableHttp', url, '--oauth2Bearer', 'static'],
    sse: (url) => [...gateway, '--sse', url],
    http: (port) => [
      ...gateway, '--stdio', command.join(' '), '--outputTransport', 'streamableHttp', '--stateful', '--port', port,
    ],
  },
  'mcp-proxy': {
    http: (port) => [...proxy, '--host', '127.0.0.1', '--port', port, '--', ...command],
  },
};

const limit = 40_000; // milliseconds for a request of the client
const options = { timeout: limit };

// A place is what one user has: a home, and a browser that writes down that it was opened.
let places = 0;
function newPlace() {
  const home = join(work, `home-${++places}`);
  mkdirSync(home);
  const log = join(home, 'browser.log');
  const opener = join(home, 'browser');
  writeFileSync(log, '');
  writeFileSync(opener, `#!/bin/sh\nexec '${node}' '${browser}' '${log}' "$1"\n`, { mode: 0o700 });
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, MCPC_STATE: join(home, 'mcpc'), BROWSER: opener };
  delete env.DISPLAY;
  return { env, pages: () => readFileSync(log, 'utf8').split('\n').length - 1 };
}

async function freePort() {
  const listener = createServer();
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  return String(port);
}

// startServer starts server.mjs and waits until it listens.
async function startServer(kind, port) {
  const child = spawn(node, [server, kind, port], { stdio: ['ignore', 'ignore', 'inherit'] });
  const origin = `http://127.0.0.1:${port}`;
  while (!(await fetch(origin).catch(() => false))) {
    await sleep(20);
  }
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const end = () => {
    child.kill('SIGKILL');
    return ended;
  };
  return { origin, end };
}

// A host is the client of a bridge that it starts over stdio.
class Host {
  constructor(argv, place) {
    const [file, ...args] = argv;
    this.transport = new StdioClientTransport({ command: file, args, env: place.env, stderr: 'ignore' });
    this.client = new Client({ name: 'bridges', version: '1.0.0' });
    this.start = performance.now();
  }

  // list connects, and returns the seconds until the first list with the tools of the server.
  async list() {
    await this.client.connect(this.transport, options);
    await this.has();
    return (performance.now() - this.start) / 1000;
  }

  async has() {
    const { tools } = await this.client.listTools({}, options);
    if (!tools.some(({ name }) => name === 'echo')) {
      throw new Error(`only ${tools.map(({ name }) => name).join(', ') || 'an empty list'}`);
    }
  }

  async call(name, timeout = limit) {
    const params = { name, arguments: { message: 'hi' } };
    const { content, isError } = await this.client.callTool(params, undefined, { timeout });
    if (isError || content[0].text !== 'hi') {
      throw new Error(content[0].text);
    }
  }

  async end() {
    const pids = tree(this.transport.pid);
    await this.client.close().catch(() => {});
    signal(pids, 'SIGKILL');
  }
}

// tree returns the processes of a bridge, without those of server.mjs and browser.mjs.
function tree(root) {
  const children = {};
  for (const line of execFileSync('ps', ['-eo', 'pid=,ppid=']).toString().trim().split('\n')) {
    const [pid, parent] = line.trim().split(/\s+/);
    (children[parent] ??= []).push(pid);
  }
  const walk = (pid) => [pid, ...(children[pid] ?? []).flatMap(walk)];
  const starts = [server, browser].map((script) => `${node}\0${script}\0`);
  const isOurs = (pid) => starts.some((start) => ofProcess(pid, 'cmdline').startsWith(start));
  return walk(String(root)).filter((pid) => !isOurs(pid));
}

// ofProcess returns a file of /proc, or '' if the process has ended.
function ofProcess(pid, name) {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

// memory returns the megabytes of RSS and the number of processes.
function memory(pids) {
  const sizes = pids.map((pid) => Number(/VmRSS:\s+(\d+)/.exec(ofProcess(pid, 'status'))?.[1])).filter(Number.isFinite);
  return { megabytes: sizes.reduce((a, b) => a + b) / 1024, processes: sizes.length };
}

function signal(pids, name) {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended.
    }
  }
}

// measured runs a host until the first list, does more with it, and returns the result.
async function measured(argv, place, more = async () => {}) {
  const host = new Host(argv, place);
  try {
    const seconds = await host.list();
    const used = memory(tree(host.transport.pid));
    await more(host);
    return { seconds, ...used };
  } finally {
    await host.end();
  }
}

// until repeats a call of echo, as a user does, and fails after half a minute.
async function until(host) {
  for (const end = performance.now() + 30_000; ;) {
    try {
      return await host.call('echo', 5000);
    } catch (error) {
      if (performance.now() > end) {
        throw error;
      }
      await sleep(500);
    }
  }
}

// withServer runs f with a server of a kind, and ends the server.
async function withServer(kind, f) {
  const port = await freePort();
  const started = await startServer(kind, port);
  try {
    return await f(started, port);
  } finally {
    await started.end();
  }
}

function expectPages(place, want) {
  if (place.pages() !== want) {
    throw new Error(`${place.pages()} pages opened, not ${want}`);
  }
}

const jobs = {
  'remote with OAuth, first login': ['login', (start) => withServer('auth', async ({ origin }) => {
    const place = newPlace();
    const result = await measured(start(`${origin}/mcp`), place);
    expectPages(place, 1);
    return result;
  })],
  'remote with OAuth, stored login': ['login', (start) => withServer('auth', async ({ origin }) => {
    const place = newPlace();
    await measured(start(`${origin}/mcp`), place);
    const result = await measured(start(`${origin}/mcp`), place);
    expectPages(place, 1);
    return result;
  })],
  'remote with a static token': ['token', (start) => withServer('auth', ({ origin }) =>
    measured(start(`${origin}/mcp`), newPlace()))],
  'server with HTTP+SSE only': ['sse', (start) => withServer('open', ({ origin }) =>
    measured(start(`${origin}/sse`), newPlace()))],
  'command over HTTP': ['http', overHTTP],
  'restart of the server': ['plain', (start) => withServer('open', ({ origin, end }, port) =>
    measured(start(`${origin}/mcp`), newPlace(), async (host) => {
      await host.call('echo');
      await end();
      const again = await startServer('open', port);
      await until(host).finally(again.end);
    }))],
  'token expires during a call': ['login', (start) => withServer('auth', async ({ origin }) => {
    const place = newPlace();
    return measured(start(`${origin}/mcp`), place, async (host) => {
      const call = host.call('slow');
      await sleep(500);
      await fetch(`${origin}/forget`, { method: 'POST' });
      await call;
      await host.call('echo');
      expectPages(place, 1);
    });
  })],
  'two hosts at once, one login': ['login', (start) => withServer('auth', async ({ origin }) => {
    const place = newPlace();
    const results = await Promise.all([0, 1].map(() => measured(start(`${origin}/mcp`), place, () => sleep(1000))));
    expectPages(place, 1);
    const sum = (name) => results.reduce((total, result) => total + result[name], 0);
    const seconds = Math.max(...results.map((result) => result.seconds));
    return { seconds, megabytes: sum('megabytes'), processes: sum('processes') };
  })],
  'stopped for a minute': ['plain', (start) => withServer('open', ({ origin }) =>
    measured(start(`${origin}/mcp`), newPlace(), async (host) => {
      const pids = tree(host.transport.pid);
      signal(pids, 'SIGSTOP');
      await sleep(60_000);
      signal(pids, 'SIGCONT');
      await host.call('echo', 10_000);
      await host.has();
    }))],
};
const once = ['stopped for a minute'];

// overHTTP starts a bridge that listens, and connects to it as soon as it does.
async function overHTTP(start) {
  const port = await freePort();
  const argv = start(port);
  const child = spawn(argv[0], argv.slice(1), { env: newPlace().env, stdio: 'ignore' });
  const begin = performance.now();
  try {
    for (;;) {
      const client = new Client({ name: 'bridges', version: '1.0.0' });
      try {
        await client.connect(new StreamableHTTPClientTransport(new URL(`http://127.0.0.1:${port}/mcp`)));
        await client.listTools();
        const seconds = (performance.now() - begin) / 1000;
        const used = memory(tree(child.pid));
        await client.close();
        return { seconds, ...used };
      } catch (error) {
        if (performance.now() - begin > limit) {
          throw error;
        }
        await sleep(10);
      }
    }
  } finally {
    signal(tree(child.pid), 'SIGTERM');
  }
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

// cell returns what the table says of the results of a bridge, beside the seconds of mcpc.
function cell(results, base) {
  if (results === undefined) {
    return '–';
  }
  const failed = results.filter((r) => r instanceof Error);
  if (failed.length > 0) {
    return `no${failed.length < results.length ? ` (${failed.length} of ${results.length})` : ''}: ${failed[0].message}`
      .replaceAll('|', '\\|').replaceAll(/\s+/g, ' ').slice(0, 120);
  }
  const of = (name) => median(results.map((r) => r[name]));
  const ratio = base === undefined || base === of('seconds') ? '' : ` (${(of('seconds') / base).toFixed(1)}×)`;
  return `${of('seconds').toFixed(2)} s${ratio}, ${of('megabytes').toFixed(0)} MB, ${of('processes')}`;
}

console.log(`| job | ${Object.keys(bridges).join(' | ')} |\n| --- |${' --- |'.repeat(Object.keys(bridges).length)}`);
for (const [job, [kind, run]] of Object.entries(jobs)) {
  if (chosen.length > 0 && !chosen.some((word) => job.includes(word))) {
    continue;
  }
  const results = {};
  for (let round = 0; round < (once.includes(job) ? 1 : Number(rounds)); round++) {
    for (const [name, starts] of Object.entries(bridges)) {
      if (starts[kind] !== undefined) {
        (results[name] ??= []).push(await run(starts[kind]).catch((error) => error));
      }
    }
  }
  const good = results.mcpc.every((r) => !(r instanceof Error));
  const base = good ? median(results.mcpc.map((r) => r.seconds)) : undefined;
  console.log(`| ${job} | ${Object.keys(bridges).map((name) => cell(results[name], base)).join(' | ')} |`);
}
process.exit();
