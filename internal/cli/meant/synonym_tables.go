package meant

// A CommandSynonym is the hint for commands of other programs. Words has the alternatives,
// separated by commas: each is one word, or two, as a user types them, with _ and / written as -.
// The second word may be the class of a word: URL, URI, FILE, NAME, or -- for the command of a
// server. In Hint, a command line of mcpc is in backquotes. {X} is replaced with the following
// words, or with X if no words follow. {@} is {} for a command that takes a name only after -s.
type CommandSynonym struct{ Words, Hint string }

// CommandSynonyms has the words of curl, kubectl, gh, mcptools, mcporter, mcp-remote and of the
// protocol.
var CommandSynonyms = []CommandSynonym{
	// one server
	{
		"connect, open, attach, session new, session create, session start, new session, create session, " +
			"sessions new, sessions create, sessions open, sessions add",
		"did you mean `init {}`?",
	},
	{
		"add, register, config add, servers add, mcp add, alias, alias add, server add",
		"`init TARGET --as NAME` remembers a server by a name",
	},
	{
		"discover, capabilities, caps, introspect, initialize, handshake, about, server-info, server-discover, get-info",
		"did you mean `describe {@}`?",
	},
	{
		"status, health, healthcheck, health-check, alive",
		"did you mean `ping {@}`? `servers --check` asks all known servers, `sessions` lists the sessions",
	},
	{"ping-all, check-all, servers-check", "did you mean `servers --check`?"},
	{
		"ls, ll, dir, tools, tool, list-tools, tools-list, get-tools, tools ls, tools list, tool list, tool ls, get tools",
		"did you mean `list {}`?",
	},
	{"ls NAME, list-all, inventory", "did you mean `list {all}`?"},
	{"tools NAME, tool NAME, schema, usage, tools-get, get-tool, describe-tool, tools get, tools show, " +
		"tools describe, tool get, tool show, tool describe, get tool", "did you mean `describe {NAME}`?"},
	{"tools-call, tool-call, call-tool, tools call, tool call, tools run, tool run, exec, execute, invoke, run-tool, " +
		"use-tool", "did you mean `call {NAME}`?"},
	{"prompts, list-prompts, prompts-list, prompts list, prompts ls, get prompts", "did you mean `list prompts {}`?"},
	{"prompts NAME, get-prompt, prompts-get, prompts get, get prompt, prompts show", "did you mean `prompt {NAME}`?"},
	{
		"resources, list-resources, resources-list, resources list, resources ls, get resources",
		"did you mean `list resources {}`?",
	},
	{
		"resources URI, read-resource, resources-read, resources read, resources get, get resource, get URI, cat, fetch",
		"did you mean `read {URI}`?",
	},
	{
		"templates, list-templates, resource-templates, resources-templates-list, list-resource-templates, get templates",
		"did you mean `list templates {}`?",
	},
	{"get", "`prompt NAME` gets a prompt, `read URI` a resource, and `describe NAME` shows a tool"},
	{"curl, request, send, post, rpc, jsonrpc, method, api", "did you mean `raw {METHOD}`?"},
	{"notify", "did you mean `raw {METHOD} --notify`?"},
	{"logging, set-level, log-level, loglevel, logging-set-level", "did you mean `listen --log-level {info}`?"},
	{
		"watch, subscribe, notifications, events, stream, resources-subscribe",
		"did you mean `listen {@}`? `log --follow` prints what is recorded meanwhile",
	},
	{"repl, interactive, console, chat, sh", "did you mean `shell {}`?"},
	{"cancel", "did you mean `tasks cancel {last}`?"},
	{"wait", "did you mean `tasks wait {last}`?"},
	{"result", "did you mean `tasks result {last}`?"},
	{"jobs, tasks ls, tasks-list", "did you mean `tasks list`?"},
	{"elicitation, elicit, sampling, roots", "did you mean `help answering`?"},

	// sessions and known servers
	{
		"ps, session, session list, session ls, sessions show, sessions status, " +
			"context, contexts, profile, profiles, daemon, connections",
		"did you mean `sessions`?",
	},
	{
		"use, switch, select, use-context, sessions NAME, sessions switch, sessions select, session use",
		"did you mean `sessions use {NAME}`?",
	},
	{
		"stop, disconnect, end, quit, exit, kill, down, detach, remove, rm, delete, forget, unregister, sessions close, " +
			"sessions rm, sessions remove, sessions delete, session close, session rm, session delete, delete session, " +
			"delete sessions, rm session, remove session, stop session, kill session, servers rm, servers remove, config remove",
		"did you mean `close {}`?",
	},
	{"restart, reconnect", "`close {}` ends a session, and `init TARGET` opens it again"},
	{"start, launch, up", "did you mean `init {TARGET}`? `demo --stdio` is a server to try"},
	{"start --, launch --, spawn --, up --", "did you mean `init --keep {}`?"},
	{"config, configs, configuration, settings, config list, config ls, configs ls, configs scan, clients, " +
		"list-servers, servers show, mcp list, server list", "did you mean `servers`?"},
	{"config get, servers get, config show", "did you mean `servers {NAME}`?"},
	{"approve, accept, pin", "did you mean `servers trust {NAME}`?"},
	{"search, find, lookup, query", "did you mean `grep {WORD}`?"},
	{"new, scaffold, create", "mcpc does not create servers; `demo` is one to try"},

	// login
	{
		"signin, sign-in, log-in, authenticate, authorize, oauth, auth login, auth signin, auth URL, auth NAME",
		"did you mean `login {}`?",
	},
	{"signout, sign-out, log-out, revoke, auth signout, auth revoke", "did you mean `auth logout {}`?"},
	{"whoami, token, tokens, accounts, credentials, auth show", "did you mean `auth`?"},
	{"auth token, auth print", "did you mean `auth export -o token.json`?"},

	// traffic
	{"logs, history, journal, traffic, requests, calls", "did you mean `log {}`?"},
	{"tail, follow", "did you mean `log --follow {}`?"},
	{
		"record, capture, sniff, trace, spy, dump, wiretap",
		"every command is recorded: `log` lists it; `tap -- COMMAND` and `proxy --to URL` record other clients",
	},
	{"record --, capture --, sniff --, trace --, spy --, wrap --, wiretap --", "did you mean `tap {}`?"},
	{"record URL, capture URL, sniff URL, trace URL, spy URL, mitm URL", "did you mean `proxy --to {URL}`?"},
	{"mitm, man-in-the-middle, reverse-proxy", "did you mean `proxy --to {URL}`?"},
	{"stdio-proxy, proxy-stdio", "did you mean `tap {-- COMMAND}`?"},
	{
		"inspector URL, ui URL, web URL, gui URL",
		"`init {URL}`, then `inspect --web --allow call` calls its tools; `proxy --to {URL} --web` shows other clients",
	},
	{"inspector, inspect-server, dev, monitor, top, live, tui", "did you mean `inspect {}`?"},
	{"ui, web, gui, dashboard, browser, browse, viewer, view", "did you mean `inspect --web {}`?"},
	{"intercept, breakpoint", "did you mean `inspect --allow intercept`?"},
	{"statistics, metrics, summary", "did you mean `log --stats {}`?"},
	{"har", "did you mean `export {last} --as har`?"},
	{"share, report, bug, bundle", "did you mean `export {last} --as bundle`?"},
	{"playback", "did you mean `mock {last}`?"},
	{"replay-last", "did you mean `replay last`?"},
	{"resend-last, rerun, repeat, retry", "did you mean `replay {last} --print`?"},
	{"repair", "did you mean `sessions repair`?"},
	{"diff-tools", "did you mean `diff {A B}`?"},
	{"bench-tool", "did you mean `bench {TARGET TOOL}`?"},
	{"serve-all", "did you mean `serve --all`?"},
	{"secrets", "`export --check FILE` searches a file for secrets; recordings contain none"},
	{"chaos", "did you mean `help faults`?"},

	// tests
	{"doctor URL, doctor NAME, doctor --, diagnose URL, diagnose NAME, diagnose --", "did you mean `check {}`?"},
	{
		"doctor, diagnose, diagnostics",
		"`servers --check` shows which known servers answer, `check {TARGET}` whether one conforms to the specification",
	},
	{"lint, validate, verify, audit, scan, conformance, test-server, debug", "did you mean `check {}`?"},
	{"test FILE, tests FILE, suite FILE, exec FILE", "did you mean `run {FILE}`?"},
	{"test, tests, suite", "did you mean `check {}`? `run FILE` runs saved calls"},
	{"workflow, scenario, collection", "did you mean `run {FILE}`?"},
	{
		"latency, benchmark, perf, load, stress, loadtest, load-test",
		"did you mean `bench {TARGET TOOL}`? `ping` measures one answer, `log --stats` what is recorded",
	},
	{"mock-server, fake, stub, simulate", "did you mean `mock {last}`? `demo` is a server to try"},
	{"snapshot, lock, freeze", "did you mean `diff --lock {}`?"},
	{"compare", "did you mean `diff {A B}`?"},
	{"fuzz, fuzz-test, fuzzer", "did you mean `check --fuzz {}`?"},

	// bridges and code
	{"bridge, mcp-remote, mcp-proxy, supergateway, gateway, aggregate, aggregator, hub", "did you mean `serve {URL}`?"},
	{"generate, gen, types, typegen, generate-types, emit-ts, sdk", "did you mean `codegen --ts`?"},
	{"codegen ts, codegen typescript, codegen js, codegen javascript, codegen node", "did you mean `codegen --ts`?"},
	{"codegen go, codegen golang", "did you mean `codegen --go`?"},
	{"codegen sh, codegen bash, codegen shell, codegen cli", "did you mean `codegen --cli`?"},
	{
		"codegen python, codegen py, codegen rust, codegen java, codegen csharp",
		"`codegen --ts`, `codegen --go` and, for a shell, `codegen --cli` are the available languages",
	},
	{"generate-cli", "did you mean `codegen --cli`?"},
	{"install --, add --", "did you mean `list {}`?"},
	{"tap uninstall, tap restore, tap undo", "did you mean `tap remove {CLIENT SERVER}`?"},
	{"serve uninstall, serve restore, serve undo", "did you mean `serve remove {CLIENT NAME}`?"},
	{"install, setup", "did you mean `serve install {CLIENT SERVER}`? `tap install` records a server"},
	{"uninstall", "did you mean `tap remove {CLIENT SERVER}`?"},
	{"save", "did you mean `call NAME --save FILE`?"},

	// mcpc itself
	{
		"upgrade, update, self-update",
		"`--version` prints the version, and docs/install.md describes how to get another version",
	},
	{"exit-code, exitcodes, codes", "did you mean `help exit-codes`?"},
	{
		"clear, clean, cleanup, reset, purge, prune",
		"`log --prune` deletes old recordings, `close` ends a session, `auth logout` deletes a token",
	},
	{
		"env, environment, variables, set, config set",
		"every flag has a variable, as --max-time has MCPC_MAX_TIME: `help scripting`",
	},
	{"filter", "did you mean `help filters`?"},
}

// A FlagSynonym is the hint for flags of other programs. Commands has the commands of mcpc that it
// is for, separated by spaces; "" is all. A subcommand has a hyphen, as serve-install. mcpc is a
// command line without a command, and NAME/ the command NAME without words. Use is the flag of mcpc
// that the hint offers, such as "--args", for commands that have it; useArguments if the hint says how
// arguments are written; otherwise "". Hint has the form of a CommandSynonym, with the value of the
// flag for {X}, the flag for {flag}, and the command for {command}.
type FlagSynonym struct{ Commands, Flags, Use, Hint string }

// useArguments is the Use of a hint that says how the arguments of a tool or prompt are written.
const useArguments = "NAME=VALUE"

// FlagSynonyms has the flags of the programs of CommandSynonyms.
var FlagSynonyms = []FlagSynonym{
	// mcpc without a command, as users of MCP Inspector type it
	{"mcpc", "cli", "", "no flag is needed: `list -- COMMAND`, `call NAME -- COMMAND`"},
	{"mcpc", "method", "", "did you mean `raw {METHOD}`?"},
	{"mcpc", "tool, tool-name, tool-arg, call", "", "did you mean `call {NAME}`?"},
	{"mcpc", "V", "", "did you mean `--version`?"},
	{"mcpc", "d, data", "", "did you mean `raw METHOD PARAMS`? `call NAME` takes arguments as words"},

	// the parts of a call
	{"call/ describe/ bench/", "tool, tool-name, name", "", "the name of the tool needs no flag: `{command} {NAME}`"},
	{"prompt/", "prompt, prompt-name, name", "", "the name of the prompt needs no flag: `prompt {NAME}`"},
	{"read/", "uri, resource", "", "the URI needs no flag: `read {URI}`"},
	{"raw/", "method", "", "the method needs no flag: `raw {METHOD}`"},
	{
		"raw", "params, d, data, data-raw, body, input, args, p", "",
		"params need no flag: `raw METHOD '{\"name\":\"x\"}'`",
	},
	{
		"call prompt bench", "arg, a, tool-arg, tool-args, param, p, F, field, prompt-args, set", useArguments,
		"arguments need no flag: `{command} NAME {NAME=VALUE}`",
	},
	{
		"call bench", "params, arguments, input, data, d, data-raw, body, payload, json-args, request, json-input",
		"--args",
		"did you mean --args?",
	},
	{"replay", "arg, args, set, param", "", "did you mean `replay NUMBER {NAME=VALUE}`?"},
	{"export", "since", "", "did you mean `export since:{1h}`?"},
	{"servers", "ping, status, health, test, probe, all", "--check", "did you mean --check?"},
	{"show", "file, f, input, i, from", "", "the file is a word: `show FILE#NUMBER`"},
	{"sessions", "show-ids, show-id, id, session-id, session-ids, show-session-ids", "--ids", "did you mean --ids?"},
	{"export", "all", "", "did you mean `export all`?"},
	{
		"prompt", "args, params, arguments, input, data, d", useArguments,
		"arguments need no flag: `prompt NAME {NAME=VALUE}`",
	},
	{
		"call bench", "file, f, args-file, arguments-file, input-file, json-file", "--args",
		"did you mean --args @{FILE}?",
	},
	{"call describe", "list, ls, l", "", "did you mean `list`?"},
	{"call", "async, background, detach, bg", "--task", "did you mean --task?"},
	{"call", "stream, progress, ndjson, jsonl", "--events", "did you mean --events?"},
	{"call", "print-curl, as-curl", "--curl", "did you mean --curl?"},
	{"call", "dry, noop, n, plan, preview", "--dry-run", "did you mean --dry-run?"},
	{
		"call bench batch prompt", "retry, retries", "",
		"mcpc repeats no call: after the exit codes 7 and 9 a script can",
	},
	{
		"batch run import export replay check mock diff stats", "file, f, i, input, capture, recording", "",
		"the file needs no flag: `{command} {FILE}`",
	},

	// lists
	{"list", "tools, prompts, resources, templates, skills", "", "did you mean `list {flag}`?"},
	{
		"list", "schema, schemas, details, full, all-parameters, wide, describe", "--long",
		"did you mean --long? `describe NAME` shows a schema",
	},
	{"list", "limit, n, max, page-size", "--max-items", "did you mean --max-items {N}?"},
	{"list", "follow, f, w", "--watch", "did you mean --watch?"},
	{
		"list", "search, find, grep, match", "",
		"`grep {WORD}` searches all known servers, and a pipe to grep one list",
	},
	{"list log sessions servers", "no-headers, no-header", "", "no flag is needed: a list in a pipe has no header"},
	{"ping check", "all, a", "", "did you mean `servers --check`?"},
	{"info describe init", "all, a", "", "did you mean `list --all`?"},
	{"servers sessions auth", "all, a, list", "", "no flag is needed: `{command}` lists all"},
	{"ping", "count, c, n, interval, i", "", "ping sends one: `bench` measures many calls"},
	{"ping", "retry, retries, retry-for, until", "--wait", "did you mean --wait {30s}?"},

	// recorded traffic
	{
		"export", "since, after, from, until, before, method, tool, name, error, errors, failed, filter, grep, query",
		"",
		"a filter follows the recording: `export last FILTER`; `help filters` shows the language",
	},
	{"log stats inspect", "since, after, from", "", "did you mean `{command} since:{1h}`?"},
	{"log stats inspect", "until, before, to", "", "did you mean `{command} 'time:<{15:04}'`?"},
	{"log stats inspect", "method", "", "did you mean `{command} method:{tools/call}`?"},
	{"log stats inspect", "tool, name, tool-name", "", "did you mean `{command} name:{get-sum}`?"},
	{
		"log stats inspect", "error, errors, failed, failures, only-errors, level", "",
		"did you mean `{command} is:error`?",
	},
	{
		"log stats inspect", "status, http, code", "",
		"did you mean `{command} http:4xx`? is:error selects all failures",
	},
	{
		"log stats inspect", "took, slow, duration, min-duration, longer-than, latency", "",
		"did you mean `{command} 'dur:>{500ms}'`?",
	},
	{"log stats inspect", "client, session, run, id", "", "did you mean `{command} {flag}:{VALUE}`?"},
	{"log stats", "grep, g, filter, search, query, text, q", "", "the filter needs no flag: `{command} {TEXT}`"},
	{"log", "tail, limit, lines, max, last, head, number", "", "did you mean -n {20}?"},
	{"log", "watch, live, w", "--follow", "did you mean --follow?"},
	{"log", "all, a", "", "did you mean -n 0?"},
	{"log", "json-lines, jsonlines, ndjson", "--jsonl", "did you mean --jsonl?"},
	{"log", "clear, clean, delete", "--prune", "did you mean --prune?"},
	{"show", "response, result, body", "", "did you mean `show --jq .response.result`?"},
	{"export", "format, type, f, t, to", "--as", "did you mean --as {har}?"},
	{"export", "har, curl, markdown, bundle, jsonl, k6, otlp", "--as", "did you mean --as {flag}?"},
	{"export", "md", "--as", "did you mean --as markdown?"},
	{
		"export", "minimise, minimize, reduce, shrink", "",
		"name the exchanges that the bundle should contain, or choose them with a filter",
	},
	{"export", "sanitize, anonymize, scrub", "", "secrets are hidden in every format; --as bundle hides more"},
	{"replay resend", "target, url, against, endpoint", "--to", "did you mean --to {TARGET}?"},
	{"inspect", "ui, browser, gui", "--web", "did you mean --web?"},
	{"inspect", "open, no-browser", "", "--web opens a browser, and --no-open only prints the URL"},

	// commands of mcpc that are servers
	{"proxy", "target, upstream, url, backend, remote, t, endpoint", "--to", "did you mean --to {URL}?"},
	{
		"proxy mock demo", "port, p, bind, addr, address, host, l", "--listen",
		"did you mean --listen 127.0.0.1:{3002}?",
	},
	{"mock demo", "http", "--listen", "did you mean --listen 127.0.0.1:3001?"},
	{"mock", "from, replay, har", "", "the file needs no flag: `mock {FILE}`"},
	{"codegen", "lang, language, l, t, generator", "", "--ts, --go and --cli choose the language"},
	{"mock", "delay, sleep", "--latency", "did you mean --latency {200ms}?"},
	{"serve", "port, p, listen, bind, addr", "--http", "did you mean --http 127.0.0.1:{3001}?"},
	{"serve", "stdio", "", "a server's command goes after --: `serve -- COMMAND`"},
	{
		"serve", "outputTransport, output-transport, server, stateful, stateless, ssePath, messagePath, " +
			"streamableHttpPath, baseUrl, endpoint, streamEndpoint, sseEndpoint, healthEndpoint, sessionTimeout", "",
		"no flag is needed: stdio is the default, and --http 127.0.0.1:3001 serves both kinds of sessions at any path",
	},
	{"serve", "cors, cors-origin, allowed-origins", "", "mcpc serves no web pages of another origin"},
	{"serve-install", "name, n, alias, id", "--as", "did you mean --as {NAME}?"},
	{"serve", "sse, streamableHttp", "", "a URL needs no flag: `serve {URL}`"},
	{"serve", "oauth2Bearer", "--header", "did you mean --header 'Authorization: Bearer {TOKEN}'?"},
	{
		"serve", "apiKey, api-key", "--client-token-file",
		"did you mean --client-token-file {FILE}? It holds the token that clients send",
	},
	{
		"serve", "static-oauth-client-info", "",
		"`login {URL} --client-id ID --client-secret-file FILE` stores the client once",
	},
	{"serve", "static-oauth-client-metadata, scope", "", "`login {URL} --scope SCOPES` stores the scopes once"},
	{
		"serve", "resource", "",
		"no flag is needed: the server names its resource; `login URL --no-resource` leaves it out",
	},
	{"serve", "disable-resource-parameter", "", "`login URL --no-resource` stores this once"},
	{"serve", "authorize-param", "", "`login URL --authorize-param {NAME=VALUE}` stores it once"},
	{"serve", "client-metadata-url", "", "`login URL --client-metadata-url {URL}` stores it once"},
	{"serve", "callback-path", "", "`login URL --redirect-uri URI` stores it once"},
	{"serve", "device-code", "", "`login URL --grant device` logs in once; the token is for all commands"},
	{
		"serve", "client-credentials", "",
		"`login URL --grant client_credentials --client-id ID --client-secret-file FILE` stores the client once",
	},
	{"serve", "exclude, exclude-tool", "--deny", "did you mean --deny '*/{TOOL}'?"},
	{"serve", "tools, tool, include, include-tool", "--allow", "did you mean --allow '*/{TOOL}'?"},
	{"serve", "name", "", "a server needs no flag: `serve {NAME=URL}`"},
	{"tap proxy", "out, file, log, save, capture", "--record", "did you mean --record {FILE}?"},

	// tests
	{
		"bench", "count, n, iterations, i, total, repeat, times, calls", "--requests",
		"did you mean --requests {200}?",
	},
	{
		"bench", "concurrency, c, connections, vus, u, workers, threads, parallel, clients, p", "--users",
		"did you mean --users {10}?",
	},
	{"bench", "qps, rps, rate-limit, q, r", "--rate", "did you mean --rate {10}?"},
	{"bench", "time, t, z, for, length", "--duration", "did you mean --duration {10s}?"},
	{"bench", "threshold, assert, slo, fail-if", "--expect", "did you mean --expect 'p99<{500ms}'?"},
	{"check", "tool", "--call", "did you mean --call {TOOL}?"},
	{"check", "full, thorough, strictest", "--deep", "did you mean --deep?"},
	{"check", "rule, include, select, filter", "--only", "did you mean --only {RULE}?"},
	{
		"check", "exclude, ignore, skip, disable", "",
		"--rules FILE turns rules off; `check --list-rules` lists them",
	},
	{
		"check diff", "level, severity, max-warnings, exit-code, strictness", "--fail-on",
		"did you mean --fail-on {warn}?",
	},
	{
		"check run bench diff replay", "reporter, report, format, output-format, f", "--junit",
		"did you mean --junit FILE? `{command} --help` lists the reports, and --json prints one",
	},
	{"run", "bail, x, stop-on-error, stop-on-failure, failfast", "--fail-fast", "did you mean --fail-fast?"},
	{"run", "filter, grep, t, name, step, tag, k", "--only", "did you mean --only {NAME}?"},
	{"run", "env, set, variable, e", "--var", "did you mean --var {NAME=VALUE}?"},
	{"batch bench run grep", "c", "--parallel", "did you mean --parallel {8}?"},
	{
		"batch bench run list grep", "concurrency, jobs, j, workers, threads", "--parallel",
		"did you mean --parallel {8}?",
	},

	// sessions and login
	{"init", "name, alias, n, id, session", "--as", "did you mean --as {NAME}?"},
	{"init", "detach, d, daemon, background, persist, keep-alive, bg", "--keep", "did you mean --keep?"},
	{"login", "headless, no-open, no-launch-browser, manual, paste", "--no-browser", "did you mean --no-browser?"},
	{"login", "device, device-code, device-flow", "--grant", "did you mean --grant device?"},
	{"login", "client-credentials, machine", "--grant", "did you mean --grant client_credentials?"},
	{"login", "port, callback, redirect-port", "--callback-port", "did you mean --callback-port {8080}?"},
	{
		"login", "token, with-token", "",
		"did you mean `auth import FILE`? MCPC_TOKEN passes a token without storing it",
	},
	{"completion", "shell", "", "the shell needs no flag: `completion {bash}`"},

	// all commands
	{
		"",
		"url, endpoint, host, server-url, base-url, address, remote, mcp-url, http-url, target", "--server",
		"did you mean --server?",
	},
	{"", "session, profile, context", "--server", "did you mean --server {NAME}?"},
	{"", "command, cmd, stdio, stdio-cmd, exec", "", "a server's command goes after --: `{command} -- COMMAND`"},
	{
		"", "transport, sse, http, streamable-http, streamablehttp, type, http-only, sse-only", "",
		"no flag is needed: a URL is HTTP, a command after -- is stdio",
	},
	{"", "allow-http", "", "no flag is needed: a URL with http:// is used as it is"},
	{
		"", "cwd, workdir, working-directory, chdir, cd, C", "",
		"a server's command starts in the current directory: cd DIR first",
	},
	{"", "env, e", "", "variables go before the command: `{command} -- env NAME=VALUE COMMAND`"},
	{"", "config, config-file, mcp-config, c", "", "`servers` lists configured servers, and -s NAME uses one"},
	{
		"",
		"pretty, pretty-print, indent, compact", "",
		"a terminal gets indented JSON, and a pipe one line; --jq . prints JSON, too",
	},
	{
		"", "k, skip-verify, no-verify, tls-no-verify, insecure-skip-verify, insecure-skip-tls-verify, ignore-ssl",
		"--insecure",
		"did you mean --insecure?",
	},
	{
		"", "token, bearer, bearer-token, auth-token, access-token, oauth2-bearer", "--token-file",
		"did you mean --token-file FILE? The variable MCPC_TOKEN can hold a token too",
	},
	{"", "api-key, apikey, key-header", "", "a key is a header field: -H 'X-Api-Key: KEY'"},
	{
		"", "u, user, auth-user, basic, auth, auth-header", "",
		"credentials are a header field: -H 'Authorization: ...'",
	},
	{"", "A, user-agent, b, cookie, referer, add-header, headers, h-header", "", "did you mean -H 'NAME: VALUE'?"},
	{"", "x, http-proxy, https-proxy", "--proxy", "did you mean --proxy URL?"},
	{
		"", "m, request-timeout, read-timeout, timeout-ms, timeout-seconds, max-timeout", "--timeout",
		"did you mean --timeout {60s}?",
	},
	{
		"", "i, I, include, head, show-headers, print-headers, trace, vvv", "",
		"did you mean -vvv? It shows the header fields",
	},
	{"", "debug, verbosity, d", "--verbose", "did you mean --verbose?"},
	{"", "format, output-format, json-output, as-json", "--json", "did you mean --json?"},
	{
		"", "r, raw-output, query, filter, jmespath, template, jsonpath", "--jq",
		"did you mean --jq EXPR? Strings are printed without quotes",
	},
	{"", "q, quiet, silent, S", "", "2>/dev/null hides notes and warnings"},
	{"", "no-color, no-colour, nocolor, plain", "--color", "did you mean --color never?"},
	{"", "O, out, outfile, output-file, save-to, file", "--output", "did you mean --output {FILE}?"},
	{"", "log-file, logfile, save-log, har", "--record", "did you mean --record {FILE}?"},
	{"", "force, assume-yes, auto-approve, no-confirm, skip-confirmation", "--yes", "did you mean --yes?"},
	{"", "non-interactive, no-interactive, no-prompt, batch-mode", "--no-input", "did you mean --no-input?"},
	{"", "no-cache, refresh, reload, no-store, force-refresh", "--fresh", "did you mean --fresh?"},
	{
		"", "protocol-version, mcp-version, revision, spec, protocolversion", "--protocol",
		"did you mean --protocol {REVISION}?",
	},
	{"", "profile-dir, data-dir, home, cache-dir", "--state", "did you mean --state {DIR}?"},
	{"", "method", "", "did you mean `raw {METHOD}`?"},
	{"", "X", "", "no flag is needed: `raw METHOD` sends any request, and `raw --bytes DATA` any bytes"},
	{"", "L, location", "", "mcpc follows no redirects to another server: use the URL that the redirect names"},
	{"", "name, as", "", "did you mean `init TARGET --as {NAME}`?"},
}
