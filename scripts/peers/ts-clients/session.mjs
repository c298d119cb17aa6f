// What each client does once it is connected: lists, calls, is told of progress, is
// asked, gets errors. It prints what came back, one line each, so that two
// runs can be compared.
export async function session(client, { call }) {
  const print = (name, value) => console.log(name, JSON.stringify(value));
  const attempt = async (name, f) => {
    try {
      print(name, await f());
    } catch (e) {
      print(name, { code: e.code });
    }
  };
  let cursor, names = [];
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    names.push(...page.tools.map((t) => t.name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  print('tools', names);
  await attempt('echo', () => call('echo', { message: 'Grüße \u0000\u2028 "x"' }));
  await attempt('sum', () => call('get-sum', { a: 9007199254740993, b: 0.1 }));
  await attempt('large', () => call('echo', { message: 'x'.repeat(300_000) }));
  await attempt('progress', () => call('trigger-long-running-operation', { duration: 0.3, steps: 3 }, () => {}));
  await attempt('asked', () => call('ask-name', {}));
  await attempt('asked by everything', () => call('trigger-elicitation-request', {}));
  await attempt('no such tool', () => call('no-such-tool', {}));
  await attempt('several', () => Promise.all([1, 2, 3, 4].map((n) => call('get-sum', { a: n, b: n }))));
  await attempt('resources', async () => (await client.listResources()).resources.length);
}

export const answer = async () => ({ action: 'accept', content: { name: 'Ada' } });
