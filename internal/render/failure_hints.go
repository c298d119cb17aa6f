package render

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcpc/internal/wire"
)

// A codeRow is what the specification says of one JSON-RPC error code.
type codeRow struct {
	code    int64
	meaning string
	// hint leads on. {list} stands for the command that shows what there is, {info}
	// and {init} for those.
	hint string
}

// codes are the codes that JSON-RPC and MCP define. A code that does not stand
// here has no meaning that mcpc could know, and none is invented for it.
var codes = []codeRow{
	{-32700, "parse error: the server could not read the request as JSON",
		"-vvv shows the bytes that were sent"},
	{-32600, "invalid request: the server does not take the message for a JSON-RPC request; some say this of a session or a revision",
		"-vv shows the request; {init} opens a new session"},
	{-32601, "method not found: the server does not have this method, or has not declared the capability for it",
		"{info} shows what this server declares"},
	{-32602, "invalid params: an unknown name, a missing or wrong argument, or a cursor that is not the server's",
		"{list} shows what there is"},
	{-32603, "internal error: something broke inside the server; the request may well be right",
		"the server's own log knows more"},
	{-32002, "resource not found, in the numbering of older revisions",
		"{list} shows what there is"},
	{-32020, "header mismatch: an Mcp-* header is missing, malformed, or says something else than the body",
		"-vvv shows the headers and the body that were sent"},
	{-32021, "missing client capability: the server needs something that this client did not offer; data.requiredCapabilities names it",
		"{flags}"},
	{-32022, "unsupported protocol version: data.supported lists the revisions that the server speaks",
		"without --protocol mcpc picks a revision that both speak, if there is one"},
	{-32042, "URL elicitation required: the server wants a page visited before it goes on; data.elicitations has the address",
		"visit the address if you trust it, then run the same again; at a terminal mcpc shows it and asks"},
	{0, "JSON-RPC defines no code 0; it is what a server sends that sets none", ""},
}

// handshake are the methods behind which no other command gets where they are refused.
var handshake = []string{"initialize", "notifications/initialized"}

// opening are the methods that come first at an address.
var opening = []string{"initialize", "server/discover"}

// waysOn are the commands that show what a method can be asked for.
var waysOn = map[string]struct{ describe, list string }{
	"tools/call":     {"describe ", "list"},
	"prompts/get":    {"describe prompt ", "list prompts"},
	"resources/read": {"", "list resources"},
}

// meaning says in a sentence what an error means. That a resource was not found
// is told from other invalid params by its URI in data (2026-07-28
// server/resources, "Error Handling").
func meaning(o wire.Outcome) string {
	e := o.RPC()
	if o.Method == "resources/read" && e.Code == -32602 {
		data, _ := wire.Object(e.Data)
		if data.Text("uri") == o.Name && o.Name != "" {
			return "resource not found: the server has nothing at this URI"
		}
	}
	return codeMeaning(e.Code)
}

// codeMeaning says in a sentence what an error code means.
func codeMeaning(code int64) string {
	for _, row := range codes {
		if row.code == code {
			return row.meaning
		}
	}
	switch {
	case code <= -32000 && code >= -32019:
		return "a code of the server's own making: the specification gives it no meaning"
	case code <= -32020 && code >= -32099:
		return "a code that is reserved for MCP, which gives it no meaning"
	case code <= -32100 && code >= -32768:
		return "a code that is reserved for JSON-RPC, which gives it no meaning"
	}
	return "a code of the server's own: only its documentation says what it means"
}

// hintFor is the caller's hint, or what can be said of every outcome of its
// kind. It may be empty: no hint is better than a wrong one.
func (s Style) hintFor(o wire.Outcome) string { return s.Aim.Carry(s.hintOf(o)) }

func (s Style) hintOf(o wire.Outcome) string {
	if o.Hint != "" {
		return o.Hint
	}
	switch o.Kind {
	case wire.ToolError:
		if content := wire.First(o.Result, "content"); string(wire.Compact(content)) == "[]" && wire.First(o.Result, "structuredContent") == nil {
			return "a result, no JSON-RPC error, and it does not say why"
		}
	case wire.RPCFailed:
		return cmp.Or(s.Aim.rpcHint(o), patienceHint(o))
	case wire.InvalidArguments:
		return s.Aim.argumentsHint(o)
	case wire.BadResponse:
		if slices.Contains(opening, o.Method) && o.HTTP != nil && strings.HasPrefix(o.HTTP.ContentType, "text/html") {
			return pathHint(o.HTTP.URL)
		}
	case wire.Transport, wire.Auth:
		if o.Process != nil && strings.TrimSpace(o.Process.Stderr) == "" && slices.Contains(changesNothing, o.Method) {
			return "run the server's command alone to see why it ends"
		}
		return httpHint(o)
	case wire.Timeout:
		if o.Reached == wire.Unsent && o.Phase != "send" {
			return "is the address right, and the host up?"
		}
	}
	return kindHints[o.Kind]
}

var kindHints = map[wire.Kind]string{
	wire.ToolError:     "a result, no JSON-RPC error; its text, on stdout, is for a model to read",
	wire.BadResponse:   "-vvv shows the exact bytes; mcpc raw sends and shows them without judging",
	wire.Timeout:       "--timeout TIME waits longer",
	wire.OutputInvalid: "the result is on stdout all the same; --no-validate skips this check",
	wire.InputRequired: "what it asked is on stdout; mcpc help answering says how to answer it",
	wire.Internal:      "please report it, with what -vvv shows",
}

func (a Aim) rpcHint(o wire.Outcome) string {
	e := o.RPC()
	if e == nil {
		return ""
	}
	for _, row := range codes {
		if row.code != e.Code {
			continue
		}
		if slices.Contains(handshake, o.Method) && strings.Contains(row.hint, "{") {
			return "the handshake itself was refused: -vv shows both sides of it"
		}
		way := waysOn[o.Method]
		return strings.NewReplacer("{list}", a.Quoted(cmp.Or(way.list, "list all")), "{info}", a.Quoted("info"),
			"{init}", a.Quoted("init"), "{flags}", flagsFor(e.Data)).Replace(row.hint)
	}
	return ""
}

// offers are the flags that let mcpc offer a capability to the server.
var offers = []struct{ capability, flags string }{
	{"elicitation", "--answer FIELD=VALUE or --answer-defaults offers forms"},
	{"url", "--on-elicit COMMAND or a terminal offers to visit pages"},
	{"sampling", "--sampling FILE or --on-sampling COMMAND offers sampling"},
	{"roots", "--root DIR offers roots"},
}

// flagsFor says what offers the capabilities that a server requires (-32021).
func flagsFor(data []byte) string {
	members, _ := wire.Object(data)
	raw, _ := members.Get("requiredCapabilities")
	required, _ := wire.Object(raw)
	elicitation, _ := required.Get("elicitation")
	modes, _ := wire.Object(elicitation)
	_, page := modes.Get("url")
	_, form := modes.Get("form")
	var all []string
	for _, o := range offers {
		_, named := required.Get(o.capability)
		if o.capability == "elicitation" {
			named = named && (form || !page)
		}
		if named || o.capability == "url" && page {
			all = append(all, o.flags)
		}
	}
	extensions, _ := required.Get("extensions")
	if wire.First(extensions, "io.modelcontextprotocol/tasks") != nil {
		all = append(all, "mcpc call offers to take a task")
	}
	return strings.Join(all, "; ")
}

func (a Aim) argumentsHint(o wire.Outcome) string {
	way, anyway := waysOn[o.Method], ""
	if way.describe != "" && o.Name != "" {
		anyway = "; --no-validate sends it anyway" // the commands that send these have it
	}
	if o.Name == "" || len(o.Findings) == 0 {
		return a.Quoted("list") + " shows the tools there are" + anyway
	}
	return a.Quoted(cmp.Or(way.describe, "describe ")+word(o.Name)) + " shows what it takes" + anyway
}

// patienceHint is for an error that came with a status that asks for patience.
func patienceHint(o wire.Outcome) string {
	if o.Retryable {
		return waitAndSee
	}
	return ""
}

func httpHint(o wire.Outcome) string {
	if o.HTTP == nil {
		return ""
	}
	for _, row := range statusHints {
		if o.HTTP.Status >= row.from && o.HTTP.Status <= row.to {
			if row.hint == "" || row.hint == noPost && atRoot(o.HTTP.URL) {
				return pathHint(o.HTTP.URL)
			}
			return row.hint
		}
	}
	return ""
}

// pathHint is for an address at which no server answers.
func pathHint(address string) string {
	if atRoot(address) {
		u, _ := url.Parse(address)
		return "try " + u.Scheme + "://" + u.Host + "/mcp first; old servers listen at /sse"
	}
	if u, err := url.Parse(address); err == nil && strings.HasSuffix(u.Path, "/mcp/") {
		return "try it without the / at the end: most servers listen at /mcp, old ones at /sse"
	}
	return "check the path: most servers listen at /mcp, old ones at /sse"
}

// atRoot reports a URL that names a host and no path.
func atRoot(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && strings.Trim(u.Path, "/") == ""
}

const waitAndSee = "the server asks for patience: wait, then try again"

const noPost = "the address takes no POST, so it may be a page: most servers listen at /mcp, old ones at /sse"

// statusHints lead on from an HTTP status that carried no JSON-RPC answer; the
// first row that holds the status is taken. An empty hint is that of pathHint.
var statusHints = []struct {
	from, to int
	hint     string
}{
	{http.StatusUnauthorized, http.StatusUnauthorized, "the server wants a token: -H 'Authorization: Bearer TOKEN' sends one"},
	{http.StatusForbidden, http.StatusForbidden, "another account or scope may be wanted, or the Host or Origin is not trusted; -vvv shows what was sent"},
	{http.StatusNotFound, http.StatusNotFound, ""},
	{http.StatusMethodNotAllowed, http.StatusMethodNotAllowed, noPost},
	{http.StatusNotImplemented, http.StatusNotImplemented, noPost},
	{http.StatusRequestHeaderFieldsTooLarge, http.StatusRequestHeaderFieldsTooLarge, "the headers are too large for the server; -vvv shows them"},
	{http.StatusTooManyRequests, http.StatusTooManyRequests, waitAndSee},
	{http.StatusBadGateway, http.StatusGatewayTimeout, "it may be something in front of the server that answers: is the server itself up?"},
	{400, 499, "-vvv shows the request as it was sent"},
	{500, 599, "the fault is on the server's side: its own log knows more"},
}

// word is a name as an argument in a hint that can be pasted into a shell,
// whatever a server chose to call its tools.
func word(name string) string {
	return ShellQuote(name)
}
