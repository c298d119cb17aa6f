package failure

import (
	"cmp"
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

// A codeRow is what the specification says of one JSON-RPC error code.
type codeRow struct {
	code    int64
	meaning string
	// hint is the next step. {list} is replaced by the command that shows what there is,
	// {flags} by those that offer the required capabilities.
	hint wire.Hint
}

// codes are the codes that JSON-RPC and MCP define. A code that does not stand
// here has no meaning that mcpc could know, and none is invented for it.
var codeRows = []codeRow{
	{-32700, "parse error: the server could not read the request as JSON",
		"-vvv shows the bytes that were sent"},
	{
		-32600,
		"invalid request: the server does not accept the message as a JSON-RPC request; some servers also use this for sessions or revisions",
		"-vv shows the request; " + wire.RunOnServer("init") + " opens a new session",
	},
	{-32601, "method not found: the server does not have this method, or has not declared the capability for it",
		wire.RunOnServer("info") + " shows the server's capabilities"},
	{-32602, "invalid params: an unknown name, a missing or wrong argument, or an invalid cursor",
		"{list} shows what there is"},
	{-32603, "internal error in the server; the request may be valid",
		"check the server's log"},
	{-32002, "resource not found (the code of older revisions)",
		"{list} shows what there is"},
	{-32020, "header mismatch: an Mcp-* header is missing, malformed, or differs from the body",
		"-vvv shows the headers and the body that were sent"},
	{-32021, "missing client capability: data.requiredCapabilities names what the client did not declare",
		"{flags}"},
	{-32022, "unsupported protocol version: data.supported lists the revisions that the server speaks",
		"without --protocol mcpc negotiates a common revision"},
	{-32042, "URL elicitation required: the user must visit a page first; data.elicitations has the URL",
		"visit the URL if you trust it, then run the command again; at a terminal mcpc offers to open it"},
	{0, "JSON-RPC defines no code 0; the server probably sets no code", ""},
}

// handshake are the methods behind which no other command gets where they are refused.
var handshakeMethods = []string{"initialize", "notifications/initialized"}

// nextCommands are the commands that show what a method can be asked for.
var nextCommands = map[string]struct{ describe, list string }{
	"tools/call":     {"describe ", "list"},
	"prompts/get":    {"describe prompt ", "list prompts"},
	"resources/read": {"", "list resources"},
}

// meaning says in a sentence what an error means. That a resource was not found
// is told from other invalid params by its URI in data (2026-07-28
// server/resources, "Error Handling").
func errorMeaning(o wire.Outcome) string {
	e := o.RPC()
	if e.Code == -32601 && undeclaredHint(o) != "" {
		return "the server needed an answer that mcpc did not offer to give"
	}
	if e.BlamesResult() {
		return "the server rejects its own result, not the arguments: it is not as the protocol or the outputSchema describes"
	}
	if o.Method == "resources/read" && e.Code == -32602 {
		data, _ := jsonraw.Object(e.Data)
		if data.Text("uri") == o.Name && o.Name != "" {
			return "resource not found: the server has no resource with this URI"
		}
	}
	return CodeMeaning(e.Code)
}

// CodeMeaning says in a sentence what an error code means.
func CodeMeaning(code int64) string {
	for _, row := range codeRows {
		if row.code == code {
			return row.meaning
		}
	}
	if code <= -32000 && code >= -32019 {
		return "a server-defined code: the specification does not define it"
	}
	if code <= -32020 && code >= -32099 {
		return "a code reserved for MCP, but not defined"
	}
	if code <= -32100 && code >= -32768 {
		return "a code reserved for JSON-RPC, but not defined"
	}
	return "a server-defined code: see the server's documentation"
}

// HintFor is the caller's hint, or what can be said of every outcome of its
// kind. It may be empty: no hint is better than a wrong one.
//
// Clauses that point to what -v shows already are left out.
func HintFor(s term.Style, o wire.Outcome) wire.Hint {
	clauses := slices.DeleteFunc(strings.Split(string(fullHint(o)), "; "), func(clause string) bool {
		flag, _, shows := strings.Cut(clause, " shows ")
		return shows && strings.HasPrefix("-"+strings.Repeat("v", s.Verbose), flag)
	})
	return wire.Hint(strings.Join(clauses, "; "))
}

// hintOf is the hint of an outcome, and after it the way around a probe that failed.
func fullHint(o wire.Outcome) wire.Hint {
	hint := ownHint(o)
	if o.Pin == "" {
		return hint
	}
	around := wire.Hint("if other clients work, try --protocol " + o.Pin)
	if hint == "" {
		return around
	}
	return hint + "; " + around
}

// ownHint is the caller's hint, or that of the outcome's kind.
func ownHint(o wire.Outcome) wire.Hint {
	if o.Hint != "" {
		return o.Hint
	}
	if hint := undeclaredHint(o); hint != "" {
		return hint
	}
	switch o.Kind {
	case wire.ToolError:
		if content := jsonraw.First(o.Result, "content"); string(jsonraw.Compact(content)) == "[]" &&
			jsonraw.First(o.Result, "structuredContent") == nil {
			return "tool execution error, not a protocol error; the result has no message"
		}
	case wire.RPCFailed:
		if hint := rpcHint(o); hint != "" || !o.Retryable {
			return hint
		}
		return waitAndSee // it came with a status that asks for patience
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
		if o.Process != nil && strings.TrimSpace(o.Process.Stderr) == "" && (mcp.IsOpening(o.Method) || o.Method == "ping") {
			return "run the server's command alone to see why it exits"
		}
		return httpHint(o)
	case wire.Timeout:
		if o.Reached == wire.Unsent && o.Phase != "send" {
			return "check the URL, and that the host is up"
		}
	}
	return channels[o.Kind].hint
}

// notFound matches the last word of a shell, or of env, about a program that is not there.
var programNotFound = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:(?:/usr/bin/)?env: [‘'"]?([-\w./@+]+)[’'"]?: No such file or directory|` +
		`(?:env: can't execute|env: unable to execute|zsh:(?:\d+:)? command not found:|fish: Unknown command:) '?([-\w./@+]+)|` +
		`[-\w./]+: (?:\d+: |line \d+: )?([-\w./@+]+): (?:command )?not found)`)
})

// notInstalledHint is for a process that ended with status 127, by which shells and env report a program that they did
// not find; "" for another one.
func notInstalledHint(p *wire.ProcessFacts) wire.Hint {
	if p == nil || p.Ended != "exit status 127" {
		return ""
	}
	name := "a program that the command starts"
	if all := programNotFound().FindAllStringSubmatch(p.Stderr, -1); len(all) > 0 {
		name = strings.Join(all[len(all)-1][1:], "")
	}
	return wire.Hint(name + " is not installed, or not on the PATH")
}

func rpcHint(o wire.Outcome) wire.Hint {
	e := o.RPC()
	if e == nil {
		return ""
	}
	if e.BlamesResult() {
		return ""
	}
	for _, row := range codeRows {
		if row.code != e.Code {
			continue
		}
		if e.Code == codeInternalError && e.HasOwnText() && o.Method == "tools/call" && (o.HTTP == nil || o.HTTP.Status < 500) {
			return "the text is the server's own, perhaps the tool's; " + wire.RunOnServer(
				"describe "+shellwords.Quote(o.Name),
			) +
				" shows the arguments"
		}
		parts := row.hint.Parts()
		isCommand := func(p wire.HintPart) bool { return p.Command || strings.Contains(p.Text, "{") }
		if slices.Contains(handshakeMethods, o.Method) && slices.ContainsFunc(parts, isCommand) {
			return "the handshake was rejected: -vv shows it"
		}
		list := wire.RunOnServer(cmp.Or(nextCommands[o.Method].list, "list all"))
		return wire.Hint(
			strings.NewReplacer("{list}", string(list), "{flags}", string(flagsFor(e.Data))).Replace(string(row.hint)),
		)
	}
	return ""
}

// codeInternalError is the code of an internal error, which servers also send for what a tool reports.
const codeInternalError = -32603

// capabilityFlags are the flags that let mcpc offer a capability to the server.
var capabilityFlags = []struct{ capability, flags string }{
	{"elicitation", "with --answer FIELD=VALUE or --answer-defaults mcpc declares elicitation and answers the forms"},
	{"url", "--on-elicit COMMAND or a terminal offers pages"},
	{"sampling", "--sampling FILE or --on-sampling COMMAND offers sampling"},
	{"roots", "--root DIR declares roots"},
}

// undeclaredHint names the flags that let mcpc answer what the server requested during a call that failed.
func undeclaredHint(o wire.Outcome) wire.Hint {
	for _, f := range o.Findings {
		if f.Rule != wire.Undeclared {
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

// flagsFor says what offers the capabilities that a server requires (-32021).
func flagsFor(data []byte) wire.Hint {
	members, _ := jsonraw.Object(data)
	raw, _ := members.Get("requiredCapabilities")
	required, _ := jsonraw.Object(raw)
	elicitation, _ := required.Get("elicitation")
	modes, _ := jsonraw.Object(elicitation)
	_, page := modes.Get("url")
	_, form := modes.Get("form")
	var all []string
	for _, o := range capabilityFlags {
		_, named := required.Get(o.capability)
		if o.capability == "elicitation" {
			named = named && (form || !page)
		}
		if named || o.capability == "url" && page {
			all = append(all, o.flags)
		}
	}
	extensions, _ := required.Get("extensions")
	if jsonraw.First(extensions, "io.modelcontextprotocol/tasks") != nil {
		all = append(all, string(wire.Run("call")+" offers tasks"))
	}
	return wire.Hint(strings.Join(all, "; "))
}

func argumentsHint(o wire.Outcome) wire.Hint {
	way := nextCommands[o.Method]
	anyway := wire.Hint("")
	if way.describe != "" && o.Name != "" {
		anyway = "; --no-validate sends them anyway" // the commands that send these have it
	}
	if o.Name == "" || len(o.Findings) == 0 {
		return wire.RunOnServer("list") + " lists the tools" + anyway
	}
	return wire.RunOnServer(cmp.Or(way.describe, "describe ")+shellwords.Quote(o.Name)) + " shows its arguments" + anyway
}

func httpHint(o wire.Outcome) wire.Hint {
	if o.HTTP == nil {
		return ""
	}
	for _, row := range statusHints {
		if o.HTTP.Status >= row.from && o.HTTP.Status <= row.to {
			if row.hint == "" || row.hint == noPostHint && hasNoPath(o.HTTP.URL) {
				return pathHint(o.HTTP.URL)
			}
			return row.hint
		}
	}
	return ""
}

// pathHint is for an address at which no server answers.
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

// atRoot reports a URL that names a host and no path.
func hasNoPath(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && strings.Trim(u.Path, "/") == ""
}

const waitAndSee = "wait, then try again"

const noPostHint = "the URL does not accept POST: most servers use /mcp, old ones /sse"

// statusHints lead on from an HTTP status that carried no JSON-RPC answer; the
// first row that holds the status is taken. An empty hint is that of pathHint.
var statusHints = []struct {
	from, to int
	hint     wire.Hint
}{
	{
		http.StatusUnauthorized,
		http.StatusUnauthorized,
		"the server requires a token: send one with -H 'Authorization: Bearer TOKEN'",
	},
	{
		http.StatusForbidden,
		http.StatusForbidden,
		"check the account, its scopes, and the Host and Origin fields; -vvv shows the request",
	},
	{http.StatusNotFound, http.StatusNotFound, ""},
	{http.StatusMethodNotAllowed, http.StatusMethodNotAllowed, noPostHint},
	{http.StatusNotImplemented, http.StatusNotImplemented, noPostHint},
	{
		http.StatusRequestHeaderFieldsTooLarge,
		http.StatusRequestHeaderFieldsTooLarge,
		"the header fields are too large for the server; -vvv shows them",
	},
	{http.StatusTooManyRequests, http.StatusTooManyRequests, waitAndSee},
	{http.StatusBadGateway, http.StatusGatewayTimeout, "a proxy may have answered: check that the server is up"},
	{400, 499, "-vvv shows the request as it was sent"},
	{500, 599, "an error of the server: check its log"},
}
