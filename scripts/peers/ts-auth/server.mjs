// A protected server and two authorization servers, on @modelcontextprotocol/sdk's
// own handlers: `node server.mjs PORT AUTH1 AUTH2` serves http://127.0.0.1:PORT/mcp.
// Its user agrees by a click. POST /control changes what it does, see control.
import { randomUUID } from 'node:crypto';
import express from 'express';
import { DemoInMemoryAuthProvider } from '@modelcontextprotocol/sdk/examples/server/demoInMemoryOAuthProvider.js';
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod/v4';

const [port, ...authPorts] = process.argv.slice(2).map(Number);
const READ = 'mcp:read';
const CALL = 'mcp:call';
const resource = `http://127.0.0.1:${port}/mcp`;

// What /control sets: which server the metadata name, which issuer that one says it
// is, and whom its answers in the browser say they are from.
const control = { server: 0, issuer: undefined, iss: undefined };

// The SDK's example, with what it leaves out: a page, refresh tokens that are good
// once, revocation.
class Provider extends DemoInMemoryAuthProvider {
  refresh = new Map();
  asked = new Map();

  constructor() {
    super((wanted) => wanted?.href === resource);
  }

  async authorize(client, params, res) {
    const id = randomUUID();
    this.asked.set(id, { client, params });
    res.type('html').send(`<!doctype html><p>${client.client_name} wants ${params.scopes.join(' and ')}.
      <form action="/agree" method="post"><input type="hidden" name="id" value="${id}"><button id="agree">Agree</button></form>`);
  }

  agree(id, res) {
    const { client, params } = this.asked.get(id);
    this.asked.delete(id);
    const code = randomUUID();
    this.codes.set(code, { client, params });
    const back = new URL(params.redirectUri);
    back.searchParams.set('code', code);
    back.searchParams.set('state', params.state);
    if (control.iss !== undefined) {
      back.searchParams.set('iss', control.iss);
    }
    res.redirect(back.href);
  }

  async exchangeAuthorizationCode(...args) {
    return this.#withRefresh(await super.exchangeAuthorizationCode(...args));
  }

  #withRefresh(answer) {
    const refresh = randomUUID();
    this.refresh.set(refresh, this.tokens.get(answer.access_token));
    return { ...answer, refresh_token: refresh };
  }

  async exchangeRefreshToken(client, refresh) {
    const old = this.refresh.get(refresh);
    this.refresh.delete(refresh);
    if (old?.clientId !== client.client_id) {
      throw new InvalidGrantError('no such refresh token');
    }
    const token = randomUUID();
    this.tokens.set(token, { ...old, token, expiresAt: Date.now() + 3600000 });
    return this.#withRefresh({ access_token: token, token_type: 'bearer', expires_in: 3600, scope: old.scopes.join(' ') });
  }

  async revokeToken(_client, { token }) {
    this.tokens.delete(token);
    this.refresh.delete(token);
  }
}

const authServers = authPorts.map((at) => {
  const provider = new Provider();
  const issuer = `http://127.0.0.1:${at}`;
  const app = express();
  app.get('/.well-known/oauth-authorization-server', (_req, res, next) => {
    const json = res.json.bind(res);
    res.json = (body) => json(control.issuer === undefined ? body : { ...body, issuer: control.issuer });
    next();
  });
  app.post('/agree', express.urlencoded(), (req, res) => provider.agree(req.body.id, res));
  app.use(mcpAuthRouter({ provider, issuerUrl: new URL(issuer), scopesSupported: [READ, CALL] }));
  app.listen(at, '127.0.0.1');
  return { provider, issuer: `${issuer}/` };
});

const verifier = {
  async verifyAccessToken(token) {
    const known = await authServers[control.server].provider.verifyAccessToken(token).catch(() => undefined);
    if (known === undefined) {
      throw new InvalidTokenError('no such token');
    }
    return known;
  },
};

const METADATA = '/.well-known/oauth-protected-resource/mcp';
const guard = (scope) => requireBearerAuth({
  verifier, requiredScopes: [scope], expectedResource: new URL(resource), resourceMetadataUrl: `http://127.0.0.1:${port}${METADATA}`,
});
const mayRead = guard(READ);
const mayCall = guard(CALL);

const app = express();
app.use(express.json());
app.get(METADATA, (_req, res) => res.json({
  resource, authorization_servers: [authServers[control.server].issuer], scopes_supported: [READ, CALL],
}));
// forget: "access" revokes all access tokens from outside, "all" the others too.
app.post('/control', (req, res) => {
  const { forget, ...changes } = req.body;
  Object.assign(control, { issuer: undefined, iss: undefined }, changes);
  for (const { provider } of authServers) {
    if (forget !== undefined) {
      provider.tokens.clear();
    }
    if (forget === 'all') {
      provider.refresh.clear();
    }
  }
  res.end();
});
app.all('/mcp', (req, res, next) => (req.body?.method === 'tools/call' ? mayCall : mayRead)(req, res, next), async (req, res) => {
  const server = new McpServer({ name: 'peer-ts-auth', version: '1.32.2' });
  server.registerTool('echo', { inputSchema: { message: z.string() } }, ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  res.on('close', () => server.close());
  await server.connect(transport);
  await transport.handleRequest(req, res, req.body);
});
app.listen(port, '127.0.0.1');
