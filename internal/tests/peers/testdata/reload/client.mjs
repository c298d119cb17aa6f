// node client.mjs v1|v2 COMMAND...: calls the tool "stays" 20 times a second until stdin ends, and prints
// what it is notified about, each failure, and at the end the number of calls.
const [kind, command, ...args] = process.argv.slice(2);
const print = (...words) => console.log(words.join(' '));
const client = await { v1, v2 }[kind]();
let calls = 0;
let open = 0;
let called = false;
const timer = setInterval(async () => {
  calls++;
  open++;
  try {
    const { content } = await client.callTool({ name: 'stays', arguments: {} });
    if (content[0].text !== 'stays') print('failed', content[0].text);
    if (!called) print('called');
    called = true;
  } catch (e) {
    print('failed', e.message);
  }
  open--;
}, 50);
process.stdin.on('end', async () => {
  clearInterval(timer);
  while (open > 0) await new Promise((done) => setTimeout(done, 10));
  print('calls', calls);
  await client.close();
}).resume();

function changed() {
  print('changed');
  client.callTool({ name: 'touch', arguments: {} }).catch((e) => print('failed', e.message));
}

async function v1() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const types = await import('@modelcontextprotocol/sdk/types.js');
  const client = new Client({ name: 'reload-v1', version: '1.0.0' });
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, changed);
  client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, () => print('updated'));
  await client.connect(new StdioClientTransport({ command, args, env: process.env }));
  await client.subscribeResource({ uri: 'reload://note' });
  return client;
}

async function v2() {
  const { Client } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const client = new Client({ name: 'reload-v2', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
  client.setNotificationHandler('notifications/tools/list_changed', changed);
  client.setNotificationHandler('notifications/resources/updated', () => print('updated'));
  await client.connect(new StdioClientTransport({ command, args, env: process.env }));
  await client.listen({ toolsListChanged: true, resourceSubscriptions: ['reload://note'] });
  return client;
}
