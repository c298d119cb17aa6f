// node v2.mjs http URL | stdio COMMAND...: a session of the TypeScript SDK, v2, in the
// newest revision that the server speaks
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answer, session } from './session.mjs';

const [kind, ...rest] = process.argv.slice(2);
const transport = {
  http: () => new StreamableHTTPClientTransport(new URL(rest[0])),
  stdio: () => new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env }),
}[kind]();
const client = new Client({ name: 'ts-v2', version: '1.0.0' },
  { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } });
client.setRequestHandler('elicitation/create', answer);
await client.connect(transport);
await session(client, {
  call: (name, args, onprogress) => client.callTool({ name, arguments: args }, onprogress && { onprogress }),
});
await transport.terminateSession?.();
await client.close();
