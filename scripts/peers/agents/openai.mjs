// node openai.mjs sdk|auto|legacy http URL | stdio COMMAND...: an agent of the OpenAI Agents SDK.
// sdk takes the SDK's own MCP client, which lists the tools before each turn and answers no
// questions. auto and legacy, the revisions that are tried first, make an MCPServer of the
// official client, whose tools the SDK keeps until the server says that they changed.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import {
  Agent, MCPServerStdio, MCPServerStreamableHttp, Runner, invalidateServerToolsCache, setTracingDisabled,
} from '@openai/agents';
import { ScriptedModel, assistantMessage, functionCall, modelResponder } from '@openai/agents/testing';
import { answer, connected, over, turn } from './model.mjs';

const [client, kind, ...target] = process.argv.slice(2);
const command = { command: target[0], args: target.slice(1), env: process.env };
const name = 'mcpc';

function ownClient() {
  const options = { name, clientSessionTimeoutSeconds: 60 };
  return kind === 'http' ? new MCPServerStreamableHttp({ ...options, url: target[0] })
    : new MCPServerStdio({ ...options, ...command });
}

function officialClient() {
  const invalidateToolsCache = () => invalidateServerToolsCache(name);
  const session = new Client({ name, version: '1.0.0' }, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: client },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: invalidateToolsCache } },
  });
  session.setRequestHandler('elicitation/create', answer);
  const transport = kind === 'http' ? new StreamableHTTPClientTransport(new URL(target[0])) : new StdioClientTransport(command);
  const callToolResult = (tool, args) => session.callTool({ name: tool, arguments: args ?? {} });
  return {
    name,
    cacheToolsList: true,
    invalidateToolsCache,
    connect: () => session.connect(transport),
    protocol: () => session.getNegotiatedProtocolVersion(),
    close: async () => {
      await transport.terminateSession?.();
      await session.close();
    },
    listTools: async () => (await session.listTools()).tools,
    callTool: async (tool, args) => (await callToolResult(tool, args)).content,
    callToolResult,
  };
}

setTracingDisabled(true);
const model = new ScriptedModel();
const step = modelResponder(async ({ request }) => {
  model.enqueue(step);
  const lastCalls = request.input.findLastIndex(({ type }) => type === 'function_call');
  const results = request.input.slice(lastCalls + 1).filter(({ type }) => type === 'function_call_result');
  const { say, calls } = await turn(request.tools.map((tool) => tool.name),
    Object.fromEntries(results.map(({ name, output }) => [name, [output].flat().map((part) => part.text)])));
  return calls?.map((call) => functionCall(call.name, call.arguments, { callId: call.id })) ?? [assistantMessage(say)];
});
model.enqueue(step);

const server = client === 'sdk' ? ownClient() : officialClient();
await server.connect();
connected(server.protocol?.());
const agent = new Agent({ name: 'peer', model, mcpServers: [server] });
while (!over) {
  await new Runner().run(agent, 'What next?', { maxTurns: 1000 });
}
await server.close();
process.exit();
