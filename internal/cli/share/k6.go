package share

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcpc/internal/bench/k6"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// loadTime is the default duration of a load test.
const loadTime = 30 * time.Second

// WriteK6 writes the client calls among recorded exchanges as a load test for k6, into the
// directory of -o. It returns an error if no exchange can be sent by k6.
func WriteK6(f *cmdutil.Factory, c *rows.Capture, rows []*rows.Row) error {
	l := &load{capture: c, version: f.Version, omitted: map[string]int{}}
	for _, row := range rows {
		if err := l.add(row); err != nil {
			return cmdutil.Exit(usage.LocalIO("reading "+c.Path, usage.Bare(err)))
		}
	}
	if len(l.plan.Calls) == 0 {
		// Explain the transport if there is a call that only the transport excludes.
		for _, reason := range []string{overStdio, overSSE} {
			if l.omitted[reason] > 0 {
				return usage.New("not exported: "+refusals[reason][0], wire.Hint(refusals[reason][1]))
			}
		}
		return usage.New("nothing to export: "+l.omittedText(), wire.Run("log")+" lists recorded exchanges")
	}
	l.plan.Headers = l.commonHeaders()
	secrets, err := k6.Write(f.Output, l.plan)
	if errors.Is(err, k6.ErrNotEmpty) {
		return usage.New("-o: "+f.Output+" is not empty", "name a directory that does not exist yet")
	}
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+f.Output, usage.Bare(err)))
	}
	f.Note(fmt.Sprintf("%s saved to %s; run them with: k6 run %s", english.Plural(len(l.plan.Calls), "call"), f.Output,
		shellwords.Quote(filepath.Join(f.Output, k6.Script))))
	l.printNotes(f, secrets)
	return nil
}

// A load collects the parts of a load test from a recording.
type load struct {
	capture    *rows.Capture
	version    string
	plan       k6.Plan
	binder     k6.Binder
	boundCount int
	// address is the URL of the server in the plan.
	address string
	// fields are the header fields that users added, by their names in lower case: one entry for each
	// call with the field.
	fields map[string][]wire.Field
	// omitted has the number of omitted exchanges by reason.
	omitted map[string]int
}

// The reasons that WriteK6 explains if there are no other exchanges.
const (
	overStdio = "over stdio"
	overSSE   = "over HTTP+SSE"
)

// refusals has the reason why there is no load test, and a hint for the user.
var refusals = map[string][2]string{
	overStdio: {
		"k6 sends HTTP only, and these exchanges were sent over stdio, to a process of their own",
		"run the server with Streamable HTTP, and record a client there: mcpc proxy --record FILE --to URL",
	},
	overSSE: {
		"the responses came on another stream (HTTP+SSE), which k6 cannot read while it sends",
		"record a client of the server's Streamable HTTP endpoint",
	},
}

// omittedText returns a text with the numbers of omitted exchanges and the reasons.
func (l *load) omittedText() string {
	var parts []string
	total := 0
	for _, reason := range slices.Sorted(maps.Keys(l.omitted)) {
		total += l.omitted[reason]
		parts = append(parts, fmt.Sprintf("%d %s", l.omitted[reason], reason))
	}
	return english.Plural(total, "exchange") + " left out: " + strings.Join(parts, ", ")
}

// add adds the call of a row, or counts the reason for omitting it. The first added call decides the
// server and the era of the load test. The error is a failure to read the row.
func (l *load) add(row *rows.Row) error {
	if reason := whyUnrepeatable(row); reason != "" {
		l.omitted[reason]++
		return nil
	}
	x, err := row.Exchange()
	if err != nil {
		return err
	}
	if x == nil || x.Request.Raw == nil {
		l.omitted["without a JSON-RPC request"]++
		return nil
	}
	request := recorded.Request{Row: row, Exchange: x, Capture: l.capture, Version: l.version}
	if reason := l.whyUnsendable(request); reason != "" {
		l.omitted[reason]++
		return nil
	}
	m := wire.ParseMessage(x.Request.Raw)
	call := k6.Call{Method: m.Method, Params: request.Params(), Headers: recorded.MirrorFields(request)}
	if m.Method == "tools/call" {
		call.Tool, _ = jsonraw.Text(jsonraw.First(m.Params, "name"))
	}
	if err := k6.CheckParams(call.Params); err != nil {
		l.omitted["with params that are not "+err.Error()]++
		return nil
	}
	if len(l.plan.Calls) == 0 {
		l.startPlan(request)
	}
	// Values that an earlier response contained, such as ids, are taken from that response again.
	call.Bound = l.binder.Bind(call, wire.ParseMessage(x.Response.Raw).Result)
	l.boundCount += len(call.Bound)
	for _, field := range request.UserFields() {
		if name := strings.ToLower(field.Name); !slices.Contains(traceFields, name) {
			l.fields[name] = append(l.fields[name], field)
		}
	}
	l.plan.Calls = append(l.plan.Calls, call)
	return nil
}

// traceFields are header fields that belong to one request.
var traceFields = []string{"traceparent", "tracestate", "baggage"}

// startPlan copies the properties that all calls share from the first call.
func (l *load) startPlan(request recorded.Request) {
	l.address = request.Address()
	l.fields = map[string][]wire.Field{}
	l.plan = k6.Plan{Version: l.version, URL: l.address, Revision: revisionOrNewest(request), Duration: loadTime}
	l.plan.Stateless = client.Stateless(l.plan.Revision)
	if request.Capture.IsBundled() {
		l.plan.URL = "" // the server's name may come from a stranger
	}
}

// revisionOrNewest returns the protocol revision of a request, or the newest revision with sessions
// if the recording does not have it.
func revisionOrNewest(request recorded.Request) string {
	if revision := request.Revision(); revision != "" {
		return revision
	}
	for _, known := range client.Revisions() { // the newest first
		if !client.Stateless(known) {
			return known
		}
	}
	return ""
}

// whyUnrepeatable returns the reason why a row cannot be repeated as an independent call, or "" if it
// can. The reason follows a count, as in "3 requested by the server".
func whyUnrepeatable(row *rows.Row) string {
	switch {
	case mcp.IsOpening(row.Method):
		return "that open a connection (the script does that itself)"
	case row.IsSeparate || row.Orphan || row.ListedElsewhere || row.Method == "":
		return "that are not requests"
	case rows.IsByServer(row):
		return "requested by the server"
	case mcp.IsTaskMethod(row.Method):
		return "about tasks (the script does not wait for any)"
	case row.Method == "subscriptions/listen":
		return "that only listen"
	case row.Notes.Rounds > 0:
		return "in which the server asked for input"
	}
	return ""
}

// whyUnsendable returns the reason why the script cannot send a request, or "" if it can. The script
// has one server and one era, which the first call decided. The reason follows a count, as in "3
// over stdio".
func (l *load) whyUnsendable(request recorded.Request) string {
	hasPlan := len(l.plan.Calls) > 0
	switch {
	case request.Exchange.Request.Stream == 0: // only HTTP requests have a number
		return overStdio
	case request.OnOtherStream():
		return overSSE
	case !recorded.IsAddress(request.Address()):
		return "whose URL was not recorded"
	case hasPlan && request.Address() != l.address:
		return "to another server"
	case hasPlan && client.Stateless(revisionOrNewest(request)) != l.plan.Stateless:
		return "in another revision (the filter protocol:" + request.Revision() + " selects them)"
	}
	return ""
}

// commonHeaders returns the header fields that all calls have, with their last values. A field with
// several values belongs to single requests and is omitted, except for credentials, which change
// when they are renewed.
func (l *load) commonHeaders() []wire.Field {
	var all []wire.Field
	for _, name := range slices.Sorted(maps.Keys(l.fields)) {
		fields := l.fields[name]
		last := fields[len(fields)-1]
		hasOneValue := !slices.ContainsFunc(fields, func(f wire.Field) bool { return f.Value != last.Value })
		isInAllCalls := len(fields) == len(l.plan.Calls)
		if name == "authorization" || hasOneValue && isInAllCalls {
			all = append(all, last)
		}
	}
	return all
}

// printNotes prints notes about the load test.
func (l *load) printNotes(f *cmdutil.Factory, secrets []k6.Secret) {
	if l.plan.URL == "" {
		f.Note("the recording is from a bundle: set MCP_URL to the URL of the server")
	}
	for _, s := range secrets {
		f.Note("set " + s.Env + " to " + s.Value)
	}
	if l.boundCount > 0 {
		f.Note(english.Plural(l.boundCount, "value") + " taken from earlier responses instead of the recording")
	}
	if len(l.omitted) > 0 {
		f.Note(l.omittedText())
	}
}
