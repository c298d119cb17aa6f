// node server.mjs stdio | open PORT | auth PORT: a server with two tools, echo and slow (two seconds), on the
// handlers of the TypeScript SDK. With a port it serves http://127.0.0.1:PORT/mcp with sessions, and the older
// transport at /sse. auth demands a token: "static", or one of its authorization server, which agrees at once.
// POST /forget revokes all access tokens.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { DemoInMemoryAuthProvider } from '@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js';
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod/v4';

const [kind, port] = process.argv.slice(2);
const origin = `http://127.0.0.1:${port}`;

function newServer() {
  const server = new McpServer({ name: 'bridges', version: '1.0.0' });
  const reply = ({ message }) => ({ content: [{ type: 'text', text: message }] });
  server.registerTool('echo', { inputSchema: { message: z.string() } }, reply);
  server.registerTool('slow', { inputSchema: { message: z.string() } }, async (args) => {
    await sleep(2000);
    return reply(args);
  });
  return server;
}

// The SDK's example, with refresh tokens.
class Provider extends DemoInMemoryAuthProvider {
  refresh = new Map();

  async exchangeAuthorizationCode(...args) {
    return this.#withRefresh(await super.exchangeAuthorizationCode(...args));
  }

  async exchangeRefreshToken(client, refresh) {
    const old = this.refresh.get(refresh);
    if (old?.clientId !== client.client_id) {
      throw new InvalidGrantError('no such refresh token');
    }
    this.refresh.delete(refresh);
    const token = randomUUID();
    this.tokens.set(token, { ...old, token, expiresAt: Date.now() + 3600000 });
    const scope = old.scopes.join(' ');
    return this.#withRefresh({ access_token: token, token_type: 'bearer', expires_in: 3600, scope });
  }

  #withRefresh(answer) {
    const refresh = randomUUID();
    this.refresh.set(refresh, this.tokens.get(answer.access_token));
    return { ...answer, refresh_token: refresh };
  }
}

function addLogin(app) {
  const provider = new Provider();
  const resource = `${origin}/mcp`;
  const resourceMetadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`;
  app.use(mcpAuthRouter({
    provider, issuerUrl: new URL(origin), resourceServerUrl: new URL(resource), scopesSupported: ['mcp:tools'],
  }));
  app.post('/forget', (_req, res) => {
    provider.tokens.clear();
    res.end();
  });
  const verifyAccessToken = async (token) => {
    if (token === 'static') {
      const expiresAt = Date.now() / 1000 + 3600;
      return { token, clientId: 'static', scopes: [], expiresAt, resource: new URL(resource) };
    }
    return provider.verifyAccessToken(token).catch(() => { throw new InvalidTokenError('no such token'); });
  };
  app.use('/mcp', requireBearerAuth({ verifier: { verifyAccessToken }, resourceMetadataUrl }));
}

function listen() {
  const app = express();
  if (kind === 'auth') {
    addLogin(app);
  }
  app.use(express.json());
  const sessions = new Map();
  app.all('/mcp', async (req, res) => {
    const id = req.headers['mcp-session-id'];
    if (id !== undefined && !sessions.has(id)) {
      res.status(404).json({ jsonrpc: '2.0', id: null, error: { code: -32001, message: 'Session not found' } });
      return;
    }
    let transport = sessions.get(id);
    if (transport === undefined) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID, onsessioninitialized: (made) => { sessions.set(made, transport); },
      });
      await newServer().connect(transport);
    }
    await transport.handleRequest(req, res, req.body);
  });
  const streams = new Map();
  app.get('/sse', async (_req, res) => {
    const transport = new SSEServerTransport('/messages', res);
    streams.set(transport.sessionId, transport);
    await newServer().connect(transport);
  });
  app.post('/messages', (req, res) => streams.get(req.query.sessionId).handlePostMessage(req, res, req.body));
  app.listen(port, '127.0.0.1');
}

if (kind === 'stdio') {
  await newServer().connect(new StdioServerTransport());
} else {
  listen();
}
