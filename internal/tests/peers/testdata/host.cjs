// node host.cjs PACKAGES none|accept|decline COMMAND...: a host of the TypeScript SDK, v1, that starts
// COMMAND. The second word says what the host answers when the server asks it to open a page; with none it
// declares that it opens none. Each line of standard input is a step: list, call NAME, accept (answer so from
// now on), end. Each result, question and notification is one line of JSON on standard output.
const { createRequire } = require('node:module');
const { createInterface } = require('node:readline');
const [packages, action, command, ...args] = process.argv.slice(2);
const load = createRequire(packages);
const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
const { ElicitRequestSchema } = load('@modelcontextprotocol/sdk/types.js');

let answer = action;
const say = (kind, text) => console.log(JSON.stringify({ kind, text }));
const text = (result) => result.content.map((part) => part.text).join('\n');
const capabilities = action === 'none' ? {} : { elicitation: { url: {} } };
const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities });
if (action !== 'none') {
  client.setRequestHandler(ElicitRequestSchema, ({ method, params }) => {
    say(method, params.url);
    return { action: answer };
  });
}
client.fallbackNotificationHandler = ({ method }) => say(method, '');
const steps = {
  list: async () => say('list', (await client.listTools()).tools.map(({ name }) => name).join(' ')),
  call: async (name) => say('call', text(await client.callTool({ name, arguments: { message: 'hi' } }))),
  accept: async () => { answer = 'accept'; },
  end: async () => { await client.close(); process.exit(0); },
};

client.connect(new StdioClientTransport({ command, args, env: process.env })).then(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    const [step, ...words] = line.split(' ');
    await steps[step](...words).catch((error) => say(step, `failed: ${error.message}`));
  }
});
