// node session.mjs http URL | stdio COMMAND...: what the Inspector's CLI does in one
// command after the other, each with a connection of its own, in the newest revision that
// the server speaks. It prints what came back and how each command ended. With METHOD in the
// environment it runs the commands of that method only.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const launcher = join(modules, '@modelcontextprotocol/inspector/clients/launcher/build/index.js');
// The Inspector needs Node 22, which npm has for Linux.
const node = readdirSync(modules).map((name) => join(modules, name, 'bin/node')).find(existsSync) ?? process.execPath;

const [kind, ...target] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'inspector'));
const config = join(home, 'servers.json');
writeFileSync(config, JSON.stringify({ mcpServers: { peer: kind === 'http'
  ? { type: 'streamable-http', url: target[0] } : { command: target[0], args: target.slice(1) } } }));
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
  const { status, stdout, stderr } = spawnSync(node, [launcher, '--cli', '--config', config, '--server', 'peer',
    '--protocol-era', 'auto', '--format', 'json', '--quiet', '--method', ...words],
    { encoding: 'utf8', env: { ...process.env, HOME: home } });
  console.log(words[0], status, stdout, stderr);
}
rmSync(home, { recursive: true });
