#!/usr/bin/env node
// Starts the mcpc of this platform, which npm installed beside this package.
'use strict';

const { spawn } = require('node:child_process');

const name = `mcpc-${process.platform}-${process.arch}`;
const program = process.platform === 'win32' ? 'mcpc.exe' : 'mcpc';
let path;
try {
  path = require.resolve(`${name}/${program}`);
} catch {
  console.error(`mcpc: the package ${name} is not installed`);
  console.error('hint: npm install mcpc without --omit=optional, or take an archive for this platform');
  process.exit(70);
}

// A terminal sends Ctrl-C to both; what only this process is sent is passed on.
const child = spawn(path, process.argv.slice(2), { stdio: 'inherit' });
const passOn = { SIGTERM: true, SIGHUP: true, SIGINT: false, SIGQUIT: false };
for (const [signal, on] of Object.entries(passOn)) {
  process.on(signal, () => on && child.kill(signal));
}
child.on('error', (err) => {
  console.error(`mcpc: ${path} cannot be started: ${err.message}`);
  process.exit(70);
});
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  Object.keys(passOn).forEach((s) => process.removeAllListeners(s));
  process.kill(process.pid, signal);
});
