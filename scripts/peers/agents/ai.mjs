// node ai.mjs auto|legacy http URL | stdio COMMAND...: an agent of the AI SDK, whose own MCP client
// answers questions. It lists the tools once a run. auto and legacy are the revisions that are
// tried first.
import { ElicitationRequestSchema, createMCPClient } from '@ai-sdk/mcp';
import { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
import { generateText, isStepCount } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { answer, connected, over, turn } from './model.mjs';

const [era, kind, ...target] = process.argv.slice(2);
const client = await createMCPClient({
  transport: kind === 'http' ? { type: 'http', url: target[0] }
    : new StdioMCPTransport({ command: target[0], args: target.slice(1), env: process.env }),
  capabilities: { elicitation: {} },
  protocolVersionDiscovery: era === 'auto',
});
client.onElicitationRequest(ElicitationRequestSchema, answer);
connected(client.initializeResult.protocolVersion);

const model = new MockLanguageModelV4({
  doGenerate: async ({ prompt, tools }) => {
    const { role, content } = prompt.at(-1);
    const results = role === 'tool' ? content : [];
    const { say, calls } = await turn(tools.map((tool) => tool.name), Object.fromEntries(results.map(({ toolName, output: { type, value } }) =>
      [toolName, type === 'content' ? value.map((part) => part.text) : [value]])));
    return {
      content: calls?.map((call) => ({ type: 'tool-call', toolCallId: call.id, toolName: call.name, input: JSON.stringify(call.arguments) }))
        ?? [{ type: 'text', text: say }],
      finishReason: { unified: calls ? 'tool-calls' : 'stop' },
      usage: { inputTokens: {}, outputTokens: {} },
      warnings: [],
    };
  },
});
while (!over) {
  await generateText({ model, tools: await client.tools(), stopWhen: isStepCount(1000), prompt: 'What next?' });
}
await client.close();
process.exit();
