// node jobs.cjs PACKAGES JOB http URL | stdio COMMAND...: clients of the TypeScript SDK that have what
// people look for in the views of mcpc inspect. Each prints one line of JSON when it is done.
const { createRequire } = require('node:module');
const [packages, job, kind, ...rest] = process.argv.slice(2);
const load = createRequire(packages);
const v2 = process.env.SDK === 'v2';
const { Client } = load(v2 ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = load(v2 ? '@modelcontextprotocol/client/stdio' : '@modelcontextprotocol/sdk/client/stdio.js');
const { StreamableHTTPClientTransport } = load(v2 ? '@modelcontextprotocol/client' : '@modelcontextprotocol/sdk/client/streamableHttp.js');
const types = load('@modelcontextprotocol/sdk/types.js');

const asked = [];
const answering = (client, schema, answer) => client.setRequestHandler(schema, async (request) => {
  asked.push(request.method);
  await new Promise((resolve) => setTimeout(resolve, 50));
  return answer;
});
const call = (client, name, args, more) => client.callTool(...(v2 ? [{ name, arguments: args }, more] : [{ name, arguments: args }, undefined, more])).catch((e) => ({ failed: String(e) }));
const long = (client, seconds, more) => call(client, 'trigger-long-running-operation', { duration: seconds, steps: Math.max(4, seconds * 10) }, more);
const stdinEnds = () => new Promise((resolve) => process.stdin.on('end', resolve).resume());

const jobs = {
  // A client that asks for the first page of tools only.
  pages: async (client) => {
    const first = await client.listTools();
    await call(client, 'echo', { message: 'one' });
    return first.tools.length;
  },
  // One call that is aborted, and one that nothing answers while the process is there.
  hang: async (client) => {
    await call(client, 'echo', { message: 'quick' });
    const stop = new AbortController();
    const aborted = long(client, 60, { signal: stop.signal, onprogress: () => stop.abort('the user pressed stop') });
    await aborted;
    const told = new Promise((resolve) => long(client, 60, { onprogress: resolve, timeout: 120_000 }));
    await told;
    console.log('"open"');
    await (process.env.HANG_FOR ? new Promise((resolve) => setTimeout(resolve, process.env.HANG_FOR)) : stdinEnds());
    process.exit(0);
  },
  many: async (client) => {
    for (let n = 1; n <= 500; n++) {
      if (n === 250) await long(client, 0.6);
      else await call(client, 'get-sum', { a: n, b: 1 });
    }
    return 500;
  },
  asks: async (client) => {
    await client.listTools();
    await call(client, 'echo', { message: 'asks nothing' });
    await call(client, 'trigger-elicitation-request', {});
    await call(client, 'trigger-sampling-request', { prompt: 'name a colour', maxTokens: 10 });
    await call(client, 'echo', { message: 'asks nothing either' });
    return asked;
  },
  cut: async (client) => long(client, 0.6, { onprogress: () => {} }),
  // The same call again and again: someone may hold it.
  hold: async (client) => {
    let over = false;
    stdinEnds().then(() => { over = true; process.exit(0); });
    while (!over) {
      console.log(JSON.stringify((await call(client, 'echo', { message: 'from the client' })).content));
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  },
  secrets: async (client) => {
    await call(client, 'echo', { message: 'hello', api_key: process.env.API_KEY });
    return 1;
  },
};

(async () => {
  const headers = process.env.TOKEN ? { Authorization: `Bearer ${process.env.TOKEN}` } : {};
  const transport = kind === 'http' ? new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers } })
    : new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env, stderr: 'ignore' });
  const client = new Client({ name: `job-${job}`, version: '1.0.0' }, v2 ? { capabilities: {}, versionNegotiation: { mode: 'auto' } } : { capabilities: { elicitation: {}, sampling: {}, roots: { listChanged: true } } });
  if (!v2) answering(client, types.ElicitRequestSchema, { action: 'accept', content: { name: 'Ada' } });
  if (!v2) answering(client, types.CreateMessageRequestSchema, { model: 'm', role: 'assistant', content: { type: 'text', text: 'blue' } });
  if (!v2) answering(client, types.ListRootsRequestSchema, { roots: [{ uri: 'file:///work', name: 'work' }] });
  await client.connect(transport);
  console.log(JSON.stringify(await jobs[job](client)));
  await client.close();
  process.exit(0);
})();
