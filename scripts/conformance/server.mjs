// server.mjs DIR <LIST: compares the suite's results in DIR/REVISION with the lines of server.txt,
// and writes them to DIR/checks. It prints what differs, and ends with status 1 if anything does.
import fs from 'node:fs';
import path from 'node:path';
import { worst } from './checks.mjs';

const [dir] = process.argv.slice(2);

// A line is REVISION SCENARIO ID NAME, and the status where that is not SUCCESS.
const got = new Map();
for (const file of fs.readdirSync(dir, { recursive: true }).filter((name) => path.basename(name) === 'checks.json')) {
  const [revision, run] = file.split(path.sep);
  const scenario = run.replace(/^server-(.*)-\d{4}-\d\d-\d\dT.*$/, '$1');
  for (const [check, report] of worst(JSON.parse(fs.readFileSync(path.join(dir, file), 'utf8')))) {
    const status = report.status === 'SUCCESS' ? '' : ` ${report.status}`;
    got.set(`${revision} ${scenario} ${check}${status}`, report.errorMessage ?? report.description);
  }
}
fs.writeFileSync(path.join(dir, 'checks'), [...got.keys()].sort().map((line) => `${line}\n`).join(''));

const lines = fs.readFileSync(0, 'utf8').split('\n');
const wanted = new Set(lines.filter((line) => line && !line.startsWith('waits ')));
const missing = [...wanted].filter((line) => !got.has(line));
const extra = [...got.keys()].filter((line) => !wanted.has(line));
missing.forEach((line) => console.log(`missing: ${line}`));
extra.forEach((line) => console.log(`not in server.txt: ${line}: ${got.get(line)}`.replaceAll('\n', ' ')));

const scenarios = new Set([...got.keys()].map((line) => line.split(' ', 2).join(' ')));
console.log(`conformance: ${wanted.size - missing.length}/${wanted.size} server checks as in server.txt, ${scenarios.size} scenarios`);
process.exitCode = missing.length + extra.length > 0 || wanted.size === 0 ? 1 : 0;
