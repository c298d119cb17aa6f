// node session.mjs http URL | stdio COMMAND...: what the Inspector's CLI does in one
// command after the other, each with a connection of its own, in the newest revision that
// the server speaks. It prints what came back and how each command ended. With METHOD in the
// environment it runs the commands of that method only.
//
// The commands run in one process, since most of the time of a command is the start of Node: they call
// what the Inspector's launcher calls, and their output and exit status are collected.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
// The Inspector needs Node 22, which npm has for Linux.
const node = readdirSync(modules).map((name) => join(modules, name, 'bin/node')).find(existsSync);
if (node && node !== process.execPath) {
  const { status } = spawnSync(node, process.argv.slice(1), { stdio: 'inherit' });
  process.exit(status ?? 1);
}

const [kind, ...target] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'inspector'));
process.env.HOME = home;
const config = join(home, 'servers.json');
writeFileSync(config, JSON.stringify({ mcpServers: { peer: kind === 'http'
  ? { type: 'streamable-http', url: target[0] } : { command: target[0], args: target.slice(1) } } }));
const cli = join(modules, '@modelcontextprotocol/inspector/clients/cli/build/index.js');
const { handleError, runCli } = await import(cli);

class Exit extends Error {
  constructor(status) {
    super(`exit ${status}`);
    this.status = status;
  }
}

// collect runs a command and returns its exit status and what it wrote. Only this function writes to
// the real standard output in between.
async function collect(words) {
  const written = { stdout: '', stderr: '' };
  const kept = { exit: process.exit, stdout: process.stdout.write, stderr: process.stderr.write };
  for (const stream of ['stdout', 'stderr']) {
    process[stream].write = (chunk, encoding, done) => {
      written[stream] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
      const callback = typeof encoding === 'function' ? encoding : done;
      if (callback) process.nextTick(callback);
      return true;
    };
  }
  process.exit = (status) => { throw new Exit(status); };
  let status = 0;
  try {
    await runCli([process.execPath, cli, ...words]).catch(handleError);
    status = process.exitCode ?? 0;
  } catch (error) {
    if (!(error instanceof Exit)) throw error;
    status = error.status;
  } finally {
    process.exitCode = undefined;
    process.exit = kept.exit;
    process.stdout.write = kept.stdout;
    process.stderr.write = kept.stderr;
  }
  return { status, ...written };
}

for (const words of [
  ['tools/list'],
  ['tools/call', '--tool-name', 'echo', '--tool-arg', 'message=Grüße "x"'],
  ['tools/call', '--tool-name', 'get-structured-content', '--tool-args-json', '{"location":"Chicago"}'],
  ['tools/call', '--tool-name', 'get-sum', '--tool-args-json', '{"a":"one"}'],
  ['resources/list'],
  ['prompts/list'],
  ['prompts/get', '--prompt-name', 'nothing'],
]) {
  if (process.env.METHOD && process.env.METHOD !== words[0]) continue;
  const { status, stdout, stderr } = await collect(['--config', config, '--server', 'peer',
    '--protocol-era', 'auto', '--format', 'json', '--quiet', '--method', ...words]);
  console.log(words[0], status, stdout, stderr);
}
rmSync(home, { recursive: true });
