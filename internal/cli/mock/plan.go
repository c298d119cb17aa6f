package mock

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/gateway"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/mcp"
	"mcpc/internal/mcpserver/bridge"
	"mcpc/internal/mock"
	"mcpc/internal/wire"
)

// A plan says what the real server needs before it can continue a recorded conversation.
type plan struct {
	// rows are the rows of the recorded exchanges; until is the index of the first one that the server
	// answers. requests and results are the messages of its conversation, by index.
	rows     []*rows.Row
	until    int
	requests map[int]*wire.Message
	results  map[int]json.RawMessage
	// values are the values of the requests that may be handles, without those of --bind, and texts the
	// texts of the results, by index.
	values map[int][]string
	texts  map[int]string
	// before are the exchanges of the conversation before until. The value is true if the exchange changed
	// something.
	before map[int]bool
	// capabilities are the declared capabilities of the recorded client.
	capabilities json.RawMessage
	// readOnly reports for each recorded tool whether it only reads.
	readOnly map[string]bool
	// bindings are the values of --bind. bound maps the handles that they select to the exchange with the
	// handle in its result.
	bindings recorded.Bindings
	bound    map[string]int
	// handles are the values that the server made before until and that are used later.
	handles []handle
	// notes are what the user should know, problems what cannot be continued.
	notes, problems []string
}

// A handle is a value in a result that a later request has.
type handle struct {
	value string
	// maker is the index of the exchange with the result, user that of the request.
	maker, user int
}

// newPlan reads the conversation of the exchange that --until names.
func newPlan(f *cmdutil.Factory, rec mock.Recording, all []*rows.Row, o untilOptions) (*plan, error) {
	until, err := findUntil(f, rec, all, o)
	if err != nil {
		return nil, err
	}
	p := &plan{
		until: until, requests: map[int]*wire.Message{}, results: map[int]json.RawMessage{}, before: map[int]bool{},
		values: map[int][]string{}, texts: map[int]string{}, readOnly: map[string]bool{},
	}
	byNumber := rowsByNumber(all)
	for _, x := range rec.Exchanges {
		p.rows = append(p.rows, byNumber[x.Number])
	}
	end := p.rows[until]
	for n, row := range p.rows {
		isListOfTools := row.Method == "tools/list"
		isOfConversation := isSameConversation(row, end)
		if !isOfConversation && !isListOfTools {
			continue
		}
		x, err := row.Exchange()
		if err != nil {
			return nil, cmdutil.Exit(recorded.Unreadable(row.Path(), err))
		}
		if x == nil || x.Request.Raw == nil {
			continue
		}
		response := wire.ParseMessage(x.Response.Raw)
		if isListOfTools {
			p.addTools(response)
		}
		if !isOfConversation {
			continue
		}
		m := wire.ParseMessage(x.Request.Raw)
		p.addCapabilities(m)
		if mcp.IsOpening(row.Method) {
			continue
		}
		p.requests[n] = m
		p.values[n] = valuesOf(m)
		if x.Response.Raw != nil && response.Result != nil {
			p.results[n] = response.Result
			p.texts[n] = textsOf(response.Result)
		}
		if n < until {
			p.before[n] = false // analyze sets which of them changed something
		}
	}
	return p, nil
}

// isSameConversation reports whether two rows are of one client in one run: of one connection, or of clients
// with the same name, because a client may open several sessions, or none.
func isSameConversation(a, b *rows.Row) bool {
	return a.RunID() == b.RunID() && (a.Conn == b.Conn || a.Client() == b.Client())
}

// addTools records which tools only read.
func (p *plan) addTools(response *wire.Message) {
	tools, err := response.ResultItems("tools")
	if err != nil {
		return
	}
	for _, raw := range tools {
		if tool, bad := mcp.ParseTool(raw); bad == nil {
			p.readOnly[tool.Name] = tool.Hints.OnlyReads()
		}
	}
}

// addCapabilities takes the capabilities that a request declares, except those for tasks, which are not
// passed on.
func (p *plan) addCapabilities(m *wire.Message) {
	declared := jsonraw.First(jsonraw.First(m.Params, "_meta"), bridge.MetaCapabilities)
	if m.Method == "initialize" {
		declared = jsonraw.First(m.Params, "capabilities")
	}
	if declared != nil && p.capabilities == nil {
		p.capabilities = gateway.ForwardableCapabilities(declared)
	}
}

// number returns the number of an exchange.
func (p *plan) number(n int) string { return p.rows[n].Number() }

// analyze finds out which exchanges before until changed something, which values the rest of the
// conversation needs from them, and what the real server lacks.
func (p *plan) analyze(ctx context.Context, conn *connect.Conn) error {
	var changed []int
	for _, n := range p.earlier() {
		if p.rows[n].IsOpen() {
			p.notes = append(p.notes, describeRow(p.rows[n])+" was not answered in the recording: the client gets an error")
		}
		isChange, out := p.isChange(ctx, conn, n)
		if !out.OK() {
			return cmdutil.Exit(out.WithPart(wire.BeforeOperation))
		}
		if isChange {
			p.before[n] = true
			changed = append(changed, n)
		}
	}
	p.findBound()
	p.findHandles()
	repeated := map[int]bool{} // the exchanges that changed something and are repeated
	for _, h := range p.handles {
		if p.before[h.maker] {
			repeated[h.maker] = true
			p.problems = append(p.problems, fmt.Sprintf("%s has %s, which the server made in %s",
				describeRow(p.rows[h.user]), jsonraw.Excerpt([]byte(h.value), maxShownValue), describeRow(p.rows[h.maker])))
		}
	}
	p.findSharedValues(repeated)
	var left []string
	for _, n := range changed {
		if !repeated[n] {
			left = append(left, describeRow(p.rows[n]))
		}
	}
	if len(left) > 0 {
		p.notes = append(p.notes, "not repeated, although they may have changed something: "+joinFirst(left))
	}
	return p.findLacks(ctx, conn)
}

// maxShownValue limits the bytes of a value in a report.
const maxShownValue = 60

// earlier returns the exchanges before until in order, later the others.
func (p *plan) earlier() []int { return p.sorted(func(n int) bool { return n < p.until }) }

// later returns the exchange until and the exchanges after it, in order.
func (p *plan) later() []int { return p.sorted(func(n int) bool { return n >= p.until }) }

// sorted returns the exchanges of the conversation that fit, in order.
func (p *plan) sorted(fits func(n int) bool) []int {
	var indexes []int
	for n := range p.requests {
		if fits(n) {
			indexes = append(indexes, n)
		}
	}
	slices.Sort(indexes)
	return indexes
}

// isChange reports whether a recorded exchange may have changed something at the server: a call that
// succeeded, of a tool that does not say that it only reads, or a method that does not only read.
func (p *plan) isChange(ctx context.Context, conn *connect.Conn, n int) (bool, wire.Outcome) {
	row := p.rows[n]
	if row.Channel != exchange.ChannelOK && !row.IsOpen() {
		return false, wire.Outcome{}
	}
	if row.Method != "tools/call" {
		endsWithConnection := []string{"resources/subscribe", "resources/unsubscribe", "logging/setLevel"}
		return !mcp.OnlyReads(row.Method) && !slices.Contains(endsWithConnection, row.Method), wire.Outcome{}
	}
	if isReadOnly, isListed := p.readOnly[row.Name]; isListed {
		return !isReadOnly, wire.Outcome{}
	}
	tool, out := conn.DefineOnce(ctx, row.Name)
	if out.Kind == wire.InvalidArguments { // it is not listed
		return true, wire.Outcome{}
	}
	return tool == nil || !tool.Hints.OnlyReads(), out
}

// findHandles finds the values in results before until that the later requests have, and that no client
// request had before. It also finds the handles in the requests that must be repeated.
func (p *plan) findHandles() {
	users := p.later()
	isMaker := map[int]bool{}
	for len(users) > 0 {
		var makers []int
		for _, user := range users {
			for _, value := range p.valuesOf(user) {
				maker := p.makerOf(value, user)
				if maker < 0 {
					continue
				}
				isKnown := slices.ContainsFunc(p.handles, func(h handle) bool { return h.value == value })
				if !isKnown {
					p.handles = append(p.handles, handle{value: value, maker: maker, user: user})
				}
				if !isMaker[maker] {
					isMaker[maker] = true
					makers = append(makers, maker)
				}
			}
		}
		users = makers // their own params may have handles
	}
	slices.SortFunc(p.handles, func(a, b handle) int {
		if a.maker != b.maker {
			return a.maker - b.maker
		}
		return strings.Compare(a.value, b.value)
	})
}

// findBound finds the values of --bind in the results before until.
func (p *plan) findBound() {
	p.bound = map[string]int{}
	for _, n := range p.earlier() {
		result, err := jsonvalue.Parse(p.results[n])
		if err != nil {
			continue
		}
		for _, binding := range p.bindings {
			if binding.Part != match.Result {
				continue
			}
			for _, pointer := range binding.Select(p.results[n]) {
				if node := result.Find(pointer); node != nil && node.IsLeaf() && textOf(node) != "" {
					p.bound[textOf(node)] = n
				}
			}
		}
	}
}

// valuesOf returns the values in a request that may be handles, with those of --bind.
func (p *plan) valuesOf(user int) []string {
	values := slices.Clone(p.values[user])
	for _, value := range slices.Sorted(maps.Keys(p.bound)) {
		if !slices.Contains(values, value) && hasWord(textsOf(p.requests[user].Params), value) {
			values = append(values, value)
		}
	}
	return values
}

// makerOf returns the first exchange before until and before user whose result has the value, or -1 if
// there is none or a request had the value before.
func (p *plan) makerOf(value string, user int) int {
	if maker, isBound := p.bound[value]; isBound && maker < user {
		return maker
	}
	for _, n := range p.earlier() {
		if n >= user || slices.Contains(p.values[n], value) {
			return -1
		}
		if !mcp.IsServerList(p.rows[n].Method) && hasWord(p.texts[n], value) {
			return n
		}
	}
	return -1
}

// findSharedValues adds the requests that changed something with a value that a later request has, and
// are not repeated.
func (p *plan) findSharedValues(repeated map[int]bool) {
	for _, n := range p.earlier() {
		if !p.before[n] || repeated[n] {
			continue
		}
	users:
		for _, user := range p.later() {
			for _, value := range p.values[user] {
				if slices.Contains(p.values[n], value) {
					p.problems = append(p.problems, fmt.Sprintf(
						"%s has %s, as %s has, which may have changed something: the server must still have the change",
						describeRow(p.rows[user]), jsonraw.Excerpt([]byte(value), maxShownValue), describeRow(p.rows[n])))
					break users
				}
			}
		}
	}
}

// findLacks adds what the rest of the conversation needs and the real server does not have.
func (p *plan) findLacks(ctx context.Context, conn *connect.Conn) error {
	seen := map[string]bool{}
	for _, n := range p.later() {
		row := p.rows[n]
		key := row.Method
		if row.Method == "tools/call" {
			key += " " + row.Name
		}
		if seen[key] {
			continue
		}
		seen[key] = true
		isTask := mcp.IsTaskMethod(row.Method) || jsonraw.First(p.requests[n].Params, "task") != nil
		capability := bridge.ServerCapability(row.Method)
		isDeclared, isKnown := conn.Declares(capability)
		switch {
		case isTask:
			p.problems = append(p.problems, describeRow(row)+": tasks are not continued with the real server")
		case capability != "" && isKnown && !isDeclared:
			p.problems = append(p.problems, describeRow(row)+": the real server does not declare "+capability)
		case row.Method == "tools/call" && row.Channel == exchange.ChannelOK:
			_, out := conn.DefineOnce(ctx, row.Name)
			if out.Kind == wire.InvalidArguments {
				p.problems = append(p.problems, describeRow(row)+": the real server does not list this tool")
			} else if !out.OK() {
				return cmdutil.Exit(out.WithPart(wire.BeforeOperation))
			}
		}
	}
	return nil
}

// yesHint returns the hint for --yes: it names the requests that are repeated then.
func (p *plan) yesHint() wire.Hint {
	var repeated []string
	for _, h := range p.handles {
		text := describeRow(p.rows[h.maker])
		if p.before[h.maker] && !slices.Contains(repeated, text) {
			repeated = append(repeated, text)
		}
	}
	if len(repeated) == 0 {
		return "--yes continues all the same"
	}
	return wire.Hint("--yes continues all the same, and repeats " + joinFirst(repeated))
}

// repeat sends the requests whose results have handles, and binds the recorded handles to the present
// ones. It reports handles without a counterpart.
func (p *plan) repeat(ctx context.Context, conn *connect.Conn, b *match.Binder, report func(string)) error {
	for i := 0; i < len(p.handles); {
		maker := p.handles[i].maker
		row := p.rows[maker]
		params := recorded.ParamsWithoutMeta(p.requests[maker])
		if out := recorded.RejectHidden("", string(params)); !out.OK() {
			report(describeRow(row) + " is not repeated: " + out.Text)
			for i < len(p.handles) && p.handles[i].maker == maker {
				i++
			}
			continue
		}
		comparison := match.Comparison{
			Part: match.Params, Method: row.Method, RecordedRevision: row.Revision, CurrentRevision: conn.Revision(),
		}
		params, _ = b.ToIs(comparison, params)
		const yes = true
		out := recorded.Send(ctx, conn, client.Call{Method: row.Method, Params: params, Once: true}, yes)
		if !out.OK() {
			report(describeRow(row) + " was repeated, and failed: " + out.Text)
		} else if p.before[maker] {
			report("repeated: " + describeRow(row))
		}
		comparison.Part = match.Result
		b.Learn(comparison, p.results[maker], out.Result)
		for ; i < len(p.handles) && p.handles[i].maker == maker; i++ {
			value := p.handles[i].value
			_, isBound := p.bound[value] // Learn has bound it
			if !out.OK() || isBound || hasWord(textsOf(out.Result), value) {
				continue
			}
			present := counterpart(p.results[maker], out.Result, value)
			if present == "" {
				report(fmt.Sprintf("%s has no counterpart in the present response to %s",
					jsonraw.Excerpt([]byte(value), maxShownValue), describeRow(row)))
				continue
			}
			b.BindNamed("handle", value, present)
		}
	}
	return nil
}
