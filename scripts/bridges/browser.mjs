// node browser.mjs LOG URL: a browser that follows the page of a login, and writes a line to LOG.
import { appendFileSync } from 'node:fs';

const [log, address] = process.argv.slice(2);
const { status } = await fetch(address);
appendFileSync(log, `${status}\n`);
