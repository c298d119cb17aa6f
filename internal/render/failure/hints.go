package failure

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/render/term"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// A codeRow has the specification's meaning of one JSON-RPC error code.
type codeRow struct {
	code    int64
	meaning string
	// hint is the next step. {list} stands for the command that lists tools, prompts or resources,
	// {flags} for the flags that offer the required capabilities.
	hint wire.Hint
}

// codeRows are the codes that JSON-RPC and MCP define. mcpc invents no meaning for other codes.
var codeRows = []codeRow{
	{
		-32700, "parse error: the server could not read the request as JSON",
		wire.Verbose(3, "the bytes that were sent"),
	},
	{
		-32600,
		"invalid request: the server does not accept the message as a JSON-RPC request; " +
			"some servers also use this for sessions or revisions",
		wire.Verbose(2, "the request") + "; " + wire.RunOnServer("init") + " opens a new session",
	},
	{
		-32601, "method not found: the server does not have this method, or has not declared the capability for it",
		wire.RunOnServer("describe") + " shows the server's capabilities",
	},
	{
		-32602, "invalid params: an unknown name, a missing or wrong argument, or an invalid cursor",
		"{list} lists the available ones",
	},
	{
		-32603, "internal error in the server; the request may be valid",
		"check the server's log",
	},
	{
		-32002, "resource not found (the code of older revisions)",
		"{list} lists the available ones",
	},
	{
		-32020, "header mismatch: an Mcp-* header is missing, malformed, or differs from the body",
		wire.Verbose(3, "the headers and the body that were sent"),
	},
	{
		-32021, "missing client capability: data.requiredCapabilities names what the client did not declare",
		"{flags}",
	},
	{
		-32022, "unsupported protocol version: data.supported lists the revisions that the server speaks",
		"without --protocol mcpc negotiates a common revision",
	},
	{
		-32042, "URL elicitation required: the user must visit a page first; data.elicitations has the URL",
		"visit the URL if you trust it, then run the command again; at a terminal mcpc offers to open it",
	},
	{0, "JSON-RPC defines no code 0; the server probably sets no code", ""},
}

// handshakeMethods are the methods without which no other command works.
var handshakeMethods = []string{"initialize", "notifications/initialized"}

// nextCommands are the commands that list or describe the names for a method.
var nextCommands = map[string]struct{ describe, list string }{
	"tools/call":     {"describe ", "list"},
	"prompts/get":    {"describe prompt ", "list prompts"},
	"resources/read": {"", "list resources"},
}

// errorMeaning explains an error in a sentence. A resource that was not found has its URI in data;
// other invalid params do not (2026-07-28 server/resources, "Error Handling").
func errorMeaning(o wire.Outcome) string {
	e := o.RPCError()
	if e.Code == -32601 && undeclaredHint(o) != "" {
		return "the server needed an answer that mcpc did not offer to give"
	}
	if e.IsByTap() {
		return "mcpc made this error, not the server, which did not run or was restarted"
	}
	if e.BlamesResult() {
		return "the server rejects its own result, not the arguments: it does not conform to the protocol or the outputSchema"
	}
	if o.Method == "resources/read" && e.Code == -32602 {
		data, _ := jsonraw.Object(e.Data)
		if data.Text("uri") == o.Name && o.Name != "" {
			return "resource not found: the server has no resource with this URI"
		}
	}
	return CodeMeaning(e.Code)
}

// CodeMeaning explains an error code in a sentence.
func CodeMeaning(code int64) string {
	for _, row := range codeRows {
		if row.code == code {
			return row.meaning
		}
	}
	switch wire.RangeOfCode(code) {
	case wire.ServerCodes:
		return "a server-defined code: the specification does not define it"
	case wire.MCPCodes:
		return "a code reserved for MCP, but not defined"
	case wire.JSONRPCCodes:
		return "a code reserved for JSON-RPC, but not defined"
	}
	return "a server-defined code: see the server's documentation"
}

// HintFor returns the outcome's hint, or one for its kind; "" if no hint is certain to help. It
// omits clauses about flags -v that are set already.
func HintFor(s term.Style, o wire.Outcome) wire.Hint {
	return hintWithAlternative(o).WithoutVerbose(s.Verbose)
}

// hintWithAlternative returns the hint of an outcome, with an alternative if a probe of the protocol failed.
func hintWithAlternative(o wire.Outcome) wire.Hint {
	hint := hintOrDefault(o)
	if o.TryRevision == "" {
		return hint
	}
	alternative := wire.Hint("if other clients work, try --protocol " + o.TryRevision)
	if hint == "" {
		return alternative
	}
	return hint + "; " + alternative
}

// hintOrDefault returns the outcome's hint, or one for its kind.
func hintOrDefault(o wire.Outcome) wire.Hint {
	if o.Hint != "" {
		return o.Hint
	}
	if hint := undeclaredHint(o); hint != "" {
		return hint
	}
	switch o.Kind {
	case wire.ToolError:
		content := jsonraw.Compact(jsonraw.First(o.Result, "content"))
		isEmpty := string(content) == "[]" && jsonraw.First(o.Result, "structuredContent") == nil
		if isEmpty {
			return "tool execution error, not a protocol error; the result has no message"
		}
	case wire.RPCFailed:
		if hint := rpcHint(o); hint != "" || !o.Retryable {
			return hint
		}
		return waitHint // its HTTP status asks the client to retry later
	case wire.InvalidArguments:
		return argumentsHint(o)
	case wire.BadResponse:
		if mcp.IsOpening(o.Method) && o.HTTP != nil && strings.HasPrefix(o.HTTP.ContentType, "text/html") {
			return pathHint(o.HTTP.URL)
		}
	case wire.Transport, wire.Auth:
		if hint := notInstalledHint(o.Process); hint != "" {
			return hint
		}
		isFirst := mcp.IsOpening(o.Method) || o.Method == "ping"
		if isFirst && o.Process != nil && strings.TrimSpace(o.Process.Stderr) == "" { // it gave no reason
			return "run the server's command alone to see why it exits"
		}
		return httpHint(o)
	case wire.Timeout:
		if o.Reached == wire.Unsent && o.Phase != "send" { // no connection was made
			return "check the URL, and that the host is up"
		}
	}
	return kindTexts[o.Kind].hint
}

// programNotFound matches the message of a shell or env about a missing program, whose name is
// nowhere else.
var programNotFound = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:(?:/usr/bin/)?env: [‘'"]?([-\w./@+]+)[’'"]?: No such file or directory|` +
		`(?:env: can't execute|env: unable to execute|zsh:(?:\d+:)? command not found:|fish: Unknown command:) ` +
		`'?([-\w./@+]+)|` +
		`[-\w./]+: (?:\d+: |line \d+: )?([-\w./@+]+): (?:command )?not found)`)
})

// notInstalledHint returns a hint for a process that ended with status 127, which shells and env
// report for a program that they did not find, or "".
func notInstalledHint(p *wire.ProcessFacts) wire.Hint {
	if p == nil || p.HowEnded != "exit status 127" {
		return ""
	}
	name := "a program that the command starts"
	if matches := programNotFound().FindAllStringSubmatch(p.Stderr, -1); len(matches) > 0 {
		groups := matches[len(matches)-1][1:]
		name = strings.Join(groups, "") // only one group is not empty
	}
	return wire.Hint(name + " is not installed, or not on the PATH")
}

// rpcHint returns the hint for an error code, or "".
func rpcHint(o wire.Outcome) wire.Hint {
	e := o.RPCError()
	if e == nil {
		return ""
	}
	if e.BlamesResult() { // the hints of the codes are about the request
		return ""
	}
	for _, row := range codeRows {
		if row.code != e.Code {
			continue
		}
		serverFailed := o.HTTP != nil && o.HTTP.Status >= 500
		mayBeToolError := e.Code == codeInternalError && e.HasOwnText() && o.Method == "tools/call"
		if mayBeToolError && !serverFailed {
			describe := wire.RunOnServer("describe " + shellwords.Quote(o.Name))
			return "the message comes from the server, perhaps from the tool; " + describe + " shows the arguments"
		}
		parts := row.hint.Parts()
		// {list} and {flags} name commands and flags, too.
		isCommand := func(p wire.HintPart) bool { return p.IsCommand || strings.Contains(p.Text, "{") }
		if slices.Contains(handshakeMethods, o.Method) && slices.ContainsFunc(parts, isCommand) {
			return "the handshake was rejected: -vv shows it"
		}
		list := nextCommands[o.Method].list
		if list == "" {
			list = "list all"
		}
		placeholders := strings.NewReplacer(
			"{list}", string(wire.RunOnServer(list)),
			"{flags}", string(flagsForCapabilities(e.Data)),
		)
		return wire.Hint(placeholders.Replace(string(row.hint)))
	}
	return ""
}

// codeInternalError is the code of an internal error. Servers also send it for errors of tools.
const codeInternalError = -32603

// capabilityFlags are the flags that make mcpc offer a capability to the server.
var capabilityFlags = []struct{ capability, flags string }{
	{"elicitation", "with --answer FIELD=VALUE or --answer-defaults mcpc declares elicitation and answers the forms"},
	{"url", "--on-elicit COMMAND or a terminal can open pages"},
	{"sampling", "--sampling FILE or --on-sampling COMMAND offers sampling"},
	{"roots", "--root DIR offers roots"},
}

// undeclaredHint names the flags that answer what the server requested during a failed call.
func undeclaredHint(o wire.Outcome) wire.Hint {
	for _, f := range o.Findings {
		if f.Rule != wire.RuleUndeclared {
			continue
		}
		capability, _, _ := strings.Cut(f.Got, "/")
		for _, c := range capabilityFlags {
			if c.capability == capability {
				return wire.Hint(c.flags)
			}
		}
	}
	return ""
}

// flagsForCapabilities names the flags that offer the capabilities that a server requires (-32021).
func flagsForCapabilities(data []byte) wire.Hint {
	members, _ := jsonraw.Object(data)
	raw, _ := members.Get("requiredCapabilities")
	required, _ := jsonraw.Object(raw)
	elicitation, _ := required.Get("elicitation")
	modes, _ := jsonraw.Object(elicitation)
	_, needsURL := modes.Get("url")
	_, needsForm := modes.Get("form")
	var hints []string
	for _, row := range capabilityFlags {
		_, isNeeded := required.Get(row.capability)
		switch row.capability {
		case "elicitation": // without modes it means forms
			isNeeded = isNeeded && (needsForm || !needsURL)
		case "url": // a mode of elicitation
			isNeeded = needsURL
		}
		if isNeeded {
			hints = append(hints, row.flags)
		}
	}
	extensions, _ := required.Get("extensions")
	if jsonraw.First(extensions, "io.modelcontextprotocol/tasks") != nil {
		hints = append(hints, string(wire.Run("call")+" offers tasks"))
	}
	return wire.Hint(strings.Join(hints, "; "))
}

// argumentsHint returns the hint for arguments that do not match the schema: the command that describes
// them, or the list of tools if no argument was checked.
func argumentsHint(o wire.Outcome) wire.Hint {
	describe := nextCommands[o.Method].describe
	skipCheck := wire.Hint("")
	if describe != "" && o.Name != "" {
		skipCheck = "; --no-validate sends them anyway" // the commands for these methods have the flag
	}
	if o.Name == "" || len(o.Findings) == 0 {
		return wire.RunOnServer("list") + " lists the tools" + skipCheck
	}
	if describe == "" {
		describe = "describe "
	}
	return wire.RunOnServer(describe+shellwords.Quote(o.Name)) + " shows its arguments" + skipCheck
}

// httpHint returns the hint for an HTTP status, or "".
func httpHint(o wire.Outcome) wire.Hint {
	if o.HTTP == nil {
		return ""
	}
	for _, row := range statusHints {
		if o.HTTP.Status < row.from || o.HTTP.Status > row.to {
			continue
		}
		if row.path == withoutPath && hasNoPath(o.HTTP.URL) {
			return pathHint(o.HTTP.URL)
		}
		if row.path == always {
			return pathHint(o.HTTP.URL)
		}
		return row.hint
	}
	return ""
}

// pathHint returns the hint for a URL at which there is no server.
func pathHint(address string) wire.Hint {
	if hasNoPath(address) {
		u, _ := url.Parse(address)
		return wire.Hint("try " + u.Scheme + "://" + u.Host + "/mcp first; old servers use /sse")
	}
	if u, err := url.Parse(address); err == nil && strings.HasSuffix(u.Path, "/mcp/") {
		return "try it without the trailing /: most servers use /mcp, old ones /sse"
	}
	return "check the path: most servers use /mcp, old ones /sse"
}

// hasNoPath reports whether a URL has a host and no path.
func hasNoPath(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && strings.Trim(u.Path, "/") == ""
}

const waitHint = "wait, then try again"

const noPostHint = "the URL does not accept POST: most servers use /mcp, old ones /sse"

// statusHints are the hints for an HTTP status without a JSON-RPC response. The first row with the
// status counts.
var statusHints = []struct {
	from, to int
	hint     wire.Hint
	path     pathHintUse
}{
	{
		from: http.StatusUnauthorized,
		to:   http.StatusUnauthorized,
		hint: "the server requires a token: send one with -H 'Authorization: Bearer TOKEN'",
	},
	{
		from: http.StatusForbidden,
		to:   http.StatusForbidden,
		hint: "check the account, its scopes, and the Host and Origin fields; " + wire.Verbose(3, "the request"),
	},
	{from: http.StatusNotFound, to: http.StatusNotFound, path: always},
	{from: http.StatusMethodNotAllowed, to: http.StatusMethodNotAllowed, hint: noPostHint, path: withoutPath},
	{from: http.StatusNotImplemented, to: http.StatusNotImplemented, hint: noPostHint, path: withoutPath},
	{
		from: http.StatusRequestHeaderFieldsTooLarge,
		to:   http.StatusRequestHeaderFieldsTooLarge,
		hint: "the header fields are too large for the server; " + wire.Verbose(3, "them"),
	},
	{from: http.StatusTooManyRequests, to: http.StatusTooManyRequests, hint: waitHint},
	{
		from: http.StatusBadGateway,
		to:   http.StatusGatewayTimeout,
		hint: "a proxy may have answered: check that the server is up",
	},
	{from: 400, to: 499, hint: wire.Verbose(3, "the request as it was sent")},
	{from: 500, to: 599, hint: "the error is in the server: check its log"},
}

// A pathHintUse says when pathHint replaces the hint of a status.
type pathHintUse int

const (
	never pathHintUse = iota
	withoutPath
	always
)
