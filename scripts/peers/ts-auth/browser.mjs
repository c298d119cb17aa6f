// A browser as $BROWSER: `node browser.mjs LOG [--elsewhere] URL` goes to URL in
// Chromium without a window, clicks what a person would, and appends to LOG what the
// page says on which it ends. --elsewhere is a browser on another machine: what the
// callback's address leads to is not there, and the address goes to standard output.
import { appendFileSync } from 'node:fs';
import puppeteer from 'puppeteer-core';

const [log, ...rest] = process.argv.slice(2);
const elsewhere = rest[0] === '--elsewhere';
const address = rest.at(-1);
const say = (text) => appendFileSync(log, `${text}\n`);

const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
try {
  const page = await browser.newPage();
  let callback = '';
  await page.setRequestInterception(true);
  page.on('request', (request) => {
    if (elsewhere && new URL(request.url()).pathname === '/callback') {
      callback = request.url();
      request.abort('connectionrefused');
      return;
    }
    request.continue();
  });
  await page.goto(address).catch(tolerate);
  const button = callback === '' ? await page.$('#agree') : null;
  if (button !== null) {
    say(`${new URL(page.url()).pathname}: ${await text(page)}`);
    await Promise.all([page.waitForNavigation().catch(tolerate), button.click()]);
  }
  if (elsewhere) {
    say('the browser ends at an address that leads nowhere there');
    console.log(callback);
  } else {
    say(`${new URL(page.url()).pathname}: ${await text(page)}`);
  }
} finally {
  await browser.close();
}

// Where the callback leads nowhere the navigation fails, and is meant to.
function tolerate(error) {
  if (!elsewhere) {
    throw error;
  }
}

async function text(page) {
  return (await page.evaluate(() => document.body.innerText)).trim().replaceAll(/\s+/g, ' ');
}
