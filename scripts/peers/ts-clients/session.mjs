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
  let cursor, tools = [];
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  print('tools', tools);
  await attempt('echo', () => call('echo', { message: 'Grüße \u0000\u2028 "x"' }));
  await attempt('sum', () => call('get-sum', { a: 9007199254740993, b: 0.1 }));
  await attempt('large', () => call('echo', { message: 'x'.repeat(300_000) }));
  await attempt('structured', () => call('get-structured-content', { location: 'Chicago' }));
  // The SDK drops progress that it reads in one chunk with the result: seen before it is not.
  const handle = client.transport.onmessage;
  client.transport.onmessage = (message, extra) => {
    if (message.method === 'notifications/progress') print('told', message.params);
    handle(message, extra);
  };
  await attempt('progress', () => call('trigger-long-running-operation', { duration: 0.3, steps: 3 }, () => {}));
  await attempt('asked', () => call('ask-name', {}));
  await attempt('asked by everything', () => call('trigger-elicitation-request', {}));
  await attempt('wrong arguments', () => call('get-sum', { a: 'one' }));
  await attempt('no such tool', () => call('no-such-tool', {}));
  await attempt('several', () => Promise.all([1, 2, 3, 4].map((n) => call('get-sum', { a: n, b: n }))));
  const { resources } = await client.listResources();
  print('resources', resources);
  await attempt('resource', () => client.readResource({ uri: resources[0].uri }));
  await attempt('resource with a time', () => client.readResource({ uri: 'demo://resource/dynamic/text/1' }));
  await attempt('no such resource', () => client.readResource({ uri: 'peer://nowhere' }));
  await attempt('templates', () => client.listResourceTemplates());
  const { prompts } = await client.listPrompts();
  print('prompts', prompts);
  await attempt('prompt', () => client.getPrompt({ name: prompts[0].name, arguments: { name: 'Ada' } }));
  await attempt('no such prompt', () => client.getPrompt({ name: 'nothing' }));
}

export const answer = async () => ({ action: 'accept', content: { name: 'Ada' } });
