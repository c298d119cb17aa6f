// The tools that every peer of ours offers, on the TypeScript SDK v2. Names,
// arguments and texts of the first four are those of server-everything, so
// that one table of calls fits all servers.
import { setTimeout as sleep } from 'node:timers/promises';
import { ProtocolError, fromJsonSchema, inputRequired, inputResponse } from '@modelcontextprotocol/server';

const NOTE = 'peer://note';

const WEATHER = {
  'New York': { temperature: 33, conditions: 'Cloudy', humidity: 82 },
  Chicago: { temperature: 36, conditions: 'Light rain / drizzle', humidity: 82 },
  'Los Angeles': { temperature: 73, conditions: 'Sunny / Clear', humidity: 48 },
};

const text = (value) => ({ content: [{ type: 'text', text: value }] });

const object = (properties, required = Object.keys(properties)) =>
  fromJsonSchema({ type: 'object', properties, required });

const number = { type: 'number' };
const string = { type: 'string' };

export function registerAll(server, announce) {
  server.registerTool('echo', {
    description: 'Echoes back the input string',
    inputSchema: object({ message: string }),
    annotations: { readOnlyHint: true },
  }, ({ message }) => text(`Echo: ${message}`));

  server.registerTool('get-sum', {
    description: 'Returns the sum of two numbers',
    inputSchema: object({ a: number, b: number }),
    annotations: { readOnlyHint: true },
  }, ({ a, b }) => text(`The sum of ${a} and ${b} is ${a + b}.`));

  server.registerTool('get-structured-content', {
    description: 'Returns structured content along with an output schema',
    inputSchema: object({ location: { ...string, enum: Object.keys(WEATHER) } }),
    outputSchema: object({ temperature: number, conditions: string, humidity: number }),
    annotations: { readOnlyHint: true },
  }, ({ location }) => ({
    ...text(JSON.stringify(WEATHER[location])),
    structuredContent: WEATHER[location],
  }));

  server.registerTool('trigger-long-running-operation', {
    description: 'Sleeps for duration seconds and reports each of its steps as progress',
    inputSchema: object({ duration: { ...number, default: 10 }, steps: { type: 'integer', minimum: 1, default: 5 } }, []),
  }, longRunning);

  server.registerTool('fail', {
    description: 'Runs and says no: a result with isError',
    inputSchema: object({}),
  }, () => ({ ...text('the tool said no'), isError: true }));

  // This SDK turns the error into a result with isError and drops code and
  // data; go-sdk hands them on, mcp-go hands on the message as -32603.
  server.registerTool('rpc-error', {
    description: 'The handler returns a JSON-RPC error with data',
    inputSchema: object({}),
  }, () => {
    throw new ProtocolError(-32010, 'the peer says no', { reason: 'asked to' });
  });

  server.registerTool('region-query', {
    description: 'Its region travels in the header Mcp-Param-Region as well',
    inputSchema: object({ region: { ...string, 'x-mcp-header': 'Region' }, query: string }, ['region']),
  }, ({ region }) => text(`region ${region}`));

  // JSON.parse has rounded the number before the handler sees it. The Go
  // peers answer it digit by digit.
  server.registerTool('repeat-integer', {
    description: 'Answers the integer that it got',
    inputSchema: object({ value: { type: 'integer' } }),
  }, ({ value }) => text(String(value)));

  server.registerTool('ask-name', {
    description: 'Asks the user for a name in the middle of the call',
    inputSchema: object({}),
  }, askName);

  server.registerTool('touch', {
    description: 'Announces that the tools and the note changed, though neither did',
    inputSchema: object({}),
  }, () => {
    announce(server, NOTE);
    return text('touched');
  });

  server.registerResource('note', NOTE, { mimeType: 'text/plain' },
    (uri) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'a note' }] }));

  server.registerPrompt('greeting', {
    description: 'A greeting',
    argsSchema: object({ name: string }),
  }, ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }] }));
}

async function longRunning({ duration = 10, steps = 5 }, ctx) {
  const progressToken = ctx.mcpReq._meta?.progressToken;
  for (let step = 1; step <= steps; step++) {
    await sleep((duration * 1000) / steps, undefined, { signal: ctx.mcpReq.signal });
    if (progressToken === undefined) continue;
    await ctx.mcpReq.notify({
      method: 'notifications/progress',
      params: { progressToken, progress: step, total: steps },
    });
  }
  return text(`Long running operation completed. Duration: ${duration} seconds, Steps: ${steps}.`);
}

function askName(_args, ctx) {
  const answer = inputResponse(ctx.mcpReq.inputResponses, 'name');
  if (answer.kind === 'missing') {
    return inputRequired({
      inputRequests: {
        name: inputRequired.elicit({
          message: 'What is your name?',
          requestedSchema: { type: 'object', properties: { name: string }, required: ['name'] },
        }),
      },
    });
  }
  return text(answer.action === 'accept' ? `Hello, ${answer.content?.name}!` : `No name (${answer.action}).`);
}
