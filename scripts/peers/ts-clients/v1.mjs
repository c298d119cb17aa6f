// node v1.mjs http URL | sse URL | stdio COMMAND...: a session of the TypeScript SDK, v1
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { answer, session } from './session.mjs';

const [kind, ...rest] = process.argv.slice(2);
const transport = {
  http: () => new StreamableHTTPClientTransport(new URL(rest[0])),
  sse: () => new SSEClientTransport(new URL(rest[0])),
  stdio: () => new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env }),
}[kind]();
const client = new Client({ name: 'ts-v1', version: '1.0.0' }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, answer);
await client.connect(transport);
await session(client, {
  call: (name, args, onprogress) => client.callTool({ name, arguments: args }, undefined, onprogress && { onprogress }),
});
await transport.terminateSession?.();
await client.close();
