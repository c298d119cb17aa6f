// A peer on @modelcontextprotocol/server: `node server.mjs` speaks on stdio,
// `node server.mjs PORT` serves http://127.0.0.1:PORT/mcp. Both eras on both.
import http from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  McpServer,
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { registerAll } from './tools.mjs';

const INFO = { name: 'peer-ts-server', version: '2.4.0' };

// One server per request (HTTP) or per connection (stdio): that is how the SDK
// serves both eras with one factory.
const factory = (announce) => ({ era }) => {
  const server = new McpServer(INFO, {
    instructions: 'A peer for tests.',
    capabilities: { resources: { subscribe: true } },
  });
  registerAll(server, announce);
  if (era === 'legacy') {
    acceptSubscriptions(server.server);
  }
  return server;
};

// The SDK declares the capability but leaves its methods, which 2026-07-28 has
// no more, to us. Everybody hears of every update, so there is nothing to note.
function acceptSubscriptions(server) {
  server.setRequestHandler('resources/subscribe', () => ({}));
  server.setRequestHandler('resources/unsubscribe', () => ({}));
}

const [port] = process.argv.slice(2);
if (port === undefined) {
  serveStdio(factory(announceOnConnection));
} else {
  serveHttp(Number(port));
}

function announceOnConnection(server, uri) {
  server.sendToolListChanged();
  server.server.sendResourceUpdated({ uri });
}

function serveHttp(listenPort) {
  const handler = createMcpHandler(factory((_server, uri) => {
    handler.notify.toolsChanged();
    handler.notify.resourceUpdated(uri);
  }));
  http.createServer((req, res) => {
    answer(handler, req, res).catch((err) => res.destroy(err));
  }).listen(listenPort, '127.0.0.1');
}

async function answer(handler, req, res) {
  const gone = new AbortController();
  res.on('close', () => gone.abort());
  const response = await route(handler, toRequest(req, gone.signal));
  res.writeHead(response.status, Object.fromEntries(response.headers));
  // Clients read the head before the first event, as they do on any server.
  res.flushHeaders();
  if (response.body === null) {
    res.end();
    return;
  }
  await pipeline(Readable.fromWeb(response.body), res);
}

function route(handler, request) {
  if (new URL(request.url).pathname !== '/mcp') {
    return new Response(null, { status: 404 });
  }
  return hostHeaderValidationResponse(request, localhostAllowedHostnames())
    ?? originValidationResponse(request, localhostAllowedOrigins())
    ?? handler.fetch(request);
}

function toRequest(req, signal) {
  const hasBody = req.method !== 'GET' && req.method !== 'HEAD';
  return new Request(`http://${req.headers.host ?? '127.0.0.1'}${req.url}`, {
    method: req.method,
    headers: new Headers(headerPairs(req.rawHeaders)),
    body: hasBody ? Readable.toWeb(req) : undefined,
    duplex: 'half',
    signal,
  });
}

function headerPairs(raw) {
  return raw.flatMap((name, i) => (i % 2 === 0 ? [[name, raw[i + 1]]] : []));
}
