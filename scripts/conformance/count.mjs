// count.mjs DIR WANTED: the verdict on one run. DIR has the suite's checks.json
// somewhere below, exits (client.sh) and suite.log; WANTED is the number of
// checks of a good run. The first line says "PASSED TOTAL EXIT", the others
// what did not pass.
import fs from 'node:fs';
import path from 'node:path';
import { worst } from './checks.mjs';

const [dir, wanted] = process.argv.slice(2);
const read = (name) => (fs.existsSync(path.join(dir, name)) ? fs.readFileSync(path.join(dir, name), 'utf8') : '');

const found = fs.readdirSync(dir, { recursive: true }).find((file) => path.basename(file) === 'checks.json');
const checks = worst(found ? JSON.parse(read(found)) : []);
for (const [key, check] of checks) {
  if (check.status === 'SKIPPED') checks.delete(key);
}
const bad = [...checks].filter(([, check]) => check.status !== 'SUCCESS');
const problems = bad.map(([key, check]) => `${check.status} ${key}: ${check.errorMessage ?? check.description}`);
if (checks.size !== Number(wanted)) {
  problems.push(`${checks.size} checks were made, scenarios.txt says ${wanted}`);
}

const exits = read('exits').split('\n').filter(Boolean).map((line) => line.match(/^(\d+) (\d+) (.*)$/).slice(1));
const surprises = exits
  .filter(([want, got]) => want !== got)
  .map(([want, got, command]) => `exit status ${got} instead of ${want}: ${command}`);
if (exits.at(-1)?.[2] !== 'client.sh') {
  surprises.push('client.sh did not reach its end');
}

// A client that does nothing well has no merit in ending well.
const good = checks.size - bad.length;
const passed = good + (good > 0 && surprises.length === 0 ? 1 : 0);
const total = Math.max(checks.size, Number(wanted)) + 1;
console.log(passed, total, surprises.length ? 'WRONG' : 'ok');
[...problems, ...surprises].forEach((problem) => console.log(problem.replaceAll('\n', ' ')));
