// A server whose tools are those of src/tools.mjs, in both eras, over stdio.
import { McpServer, fromJsonSchema } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { names } from './src/tools.mjs';

serveStdio(({ era }) => {
  const server = new McpServer({ name: 'reload', version: '1.0.0' }, { capabilities: { resources: { subscribe: true } } });
  const text = (value) => ({ content: [{ type: 'text', text: value }] });
  for (const name of names) {
    server.registerTool(name, { inputSchema: fromJsonSchema({ type: 'object', properties: {} }) }, () => text(name));
  }
  server.registerTool('touch', { inputSchema: fromJsonSchema({ type: 'object', properties: {} }) }, () => {
    server.server.sendResourceUpdated({ uri: 'reload://note' });
    return text('touched');
  });
  server.registerResource('note', 'reload://note', {}, () => ({ contents: [{ uri: 'reload://note', text: 'x' }] }));
  if (era === 'legacy') {
    server.server.setRequestHandler('resources/subscribe', () => ({}));
  }
  return server;
});
