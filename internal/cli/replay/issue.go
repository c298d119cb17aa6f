package replay

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcp"
	"mcpc/internal/redact"
	"mcpc/internal/shape"
	"mcpc/internal/wire"
)

// sendAgain sends the recorded request of row, whose exchange is x, again and compares the exchanges.
// If there is a reason not to send it, the item is Skipped, or what checkTool says, with the reason in
// Why.
func (p *player) sendAgain(ctx context.Context, row *rows.Row, x *wire.Exchange) item {
	it := item{row: row, Report: Report{Verdict: Skipped}}
	m := wire.ParseMessage(x.Request.Raw)
	recordedParams := recorded.ParamsWithoutMeta(m)
	logLevel := p.recordedLogLevel(row, m) // also of a request that is skipped: logging/setLevel changes it
	hasHiddenAnswer, err := p.answers.addFor(row, x)
	defer p.answers.removeFor(row)
	switch {
	case err != nil:
		it.Why = "it cannot be read: " + err.Error()
	case hasHiddenAnswer || redact.HasHiddenParts(string(recordedParams)):
		it.Why = "it has a secret that was not recorded"
	default:
		it.Why = p.skipReason(row, m, x)
	}
	if it.Why != "" {
		p.missHandles(row, x)
		return it
	}
	paramsComparison := match.Comparison{
		Part:             match.Params,
		Method:           row.Method,
		RecordedRevision: row.Revision,
		CurrentRevision:  p.conn.Revision(),
	}
	it.sentRecordedHandle = p.binder.Lacks(paramsComparison, recordedParams)
	call := client.Call{
		Method:   row.Method,
		Once:     true, // a second attempt would be another exchange
		Progress: jsonraw.First(jsonraw.First(m.Params, "_meta"), "progressToken") != nil,
		Task:     p.taskWish(m, x),
	}
	call.Params, _ = p.binder.ToIs(paramsComparison, recordedParams) // with the handles of the present server
	if row.Method == "tools/call" {
		if it, stop := p.checkTool(ctx, it, &call, x); stop {
			p.missHandles(row, x)
			return it
		}
	}
	p.setLogLevel(ctx, logLevel, &call)
	current, out := p.sendCall(ctx, call, x)
	return p.compareOutcome(it, x, current, p.factory.WithoutSecrets(out))
}

// missHandles records that the handles in a recorded result have no counterpart in the replay, because
// the request was not sent.
func (p *player) missHandles(row *rows.Row, x *wire.Exchange) {
	p.binder.Miss(match.Comparison{Part: match.Result, Method: row.Method}, resultOf(x))
}

// sendCall sends the call of a recorded exchange. It returns the present exchange, nil if nothing
// was sent, and the outcome. It waits a moment for notifications that the recorded exchange has.
func (p *player) sendCall(
	ctx context.Context, call client.Call, recordedExchange *wire.Exchange,
) (*wire.Exchange, wire.Outcome) {
	findExchange, stop := p.frames.collect()
	defer stop()
	out := p.conn.Do(ctx, call)
	if call.Method == "tasks/get" {
		out = p.awaitTask(ctx, call, out, recordedExchange)
	}
	current := findExchange(call.Method, out.ID)
	if current != nil && !SameNotifications(recordedExchange, current) && transport.Sleep(ctx, lateNotificationWait) {
		current = findExchange(call.Method, out.ID)
	}
	return current, out
}

// compareOutcome returns the item with the verdict on the present exchange, current, whose outcome is
// out; x is the recorded one. It learns which handles (ids that the server issued) in the two results
// belong together, and stores an outcome that ends the replay. A worse response to a request that was
// sent with a recorded handle is Unmatched, not Worse: the handle explains it.
func (p *player) compareOutcome(played item, recordedExchange, current *wire.Exchange, out wire.Outcome) item {
	row := played.row
	c := match.Comparison{
		Part:             match.Result,
		Method:           row.Method,
		Name:             row.Name,
		RecordedRevision: row.Revision,
		CurrentRevision:  p.conn.Revision(),
		Rules:            p.judge.Rules,
	}
	// Before presentSide, which replaces the handles that are learned here.
	p.binder.Learn(c, resultOf(recordedExchange), resultOf(current))
	present, boundCount := p.presentSide(current, out, c, resultOf(recordedExchange))
	if endsReplay(row, out) {
		p.connectionEnd.CompareAndSwap(nil, &out)
	}
	played.Report = Compare(recordedSide(row, recordedExchange), present, p.judge)
	if boundCount > 0 {
		played.Counts[match.Bound] += boundCount
	}
	played.took = out.Took
	played.result = present.Result
	played.comparison = c
	failsWithoutExchange := present.Exchange == nil && played.Verdict.Fails()
	if played.Verdict == Missing || failsWithoutExchange {
		played.Why = out.Text
	}
	hasRecordedHandle := played.sentRecordedHandle || hasHandle(wire.ParseMessage(recordedExchange.Request.Raw))
	if played.Verdict == Worse && hasRecordedHandle {
		played.Verdict = Unmatched
		played.Why = "the recorded handle was sent, because no answer gave another one"
	}
	return played
}

// hasHandle reports whether a request names a cursor or a task of an earlier answer.
func hasHandle(m *wire.Message) bool {
	hasCursor := strings.HasSuffix(m.Method, "/list") && jsonraw.First(m.Params, "cursor") != nil
	hasTask := mcp.IsTaskMethod(m.Method) && jsonraw.First(m.Params, "taskId") != nil
	return hasCursor || hasTask
}

// connectionMethods are the methods that change something, which ends with the connection.
var connectionMethods = []string{"resources/subscribe", "resources/unsubscribe", "logging/setLevel"}

// isHarmless reports whether a request of the method changes nothing but this connection. A tool
// call is judged by its tool.
func isHarmless(method string) bool {
	return mcp.OnlyReads(method) || slices.Contains(connectionMethods, method) || method == "tools/call"
}

// skipReason returns the reason not to send the request m of a row, or "". x is its recorded exchange.
func (p *player) skipReason(row *rows.Row, m *wire.Message, x *wire.Exchange) string {
	recordedRevision := row.Revision
	if recordedRevision == "" {
		recordedRevision = p.conn.Revision()
	}
	currentRevision := p.conn.Revision()
	isOfTask := mcp.IsTaskMethod(row.Method) || becameTask(m, x)
	switch {
	case row.Channel == exchange.ChannelCancelled:
		return "it was cancelled"
	case m.Kind != wire.Request:
		return "it is no request"
	case row.Method == "subscriptions/listen":
		return "a subscription has no answer to compare"
	case isOfTask && client.Stateless(recordedRevision) != client.Stateless(currentRevision):
		return "tasks have another form in " + currentRevision
	case shape.Has(recordedRevision, row.Method) && !shape.Has(currentRevision, row.Method):
		return "the method is not in " + currentRevision
	case shape.Has(currentRevision, row.Method) && !shape.Has(recordedRevision, row.Method):
		return "the method is not in " + recordedRevision
	case row.Method == "tasks/get" && taskStatus(resultOf(x)) == client.TaskWorking:
		return "the task went on"
	case !p.options.yes && !isHarmless(row.Method):
		return mayChange
	}
	return ""
}

// mayChange is the reason to skip a request without --yes.
const mayChange = "may change something"

// checkTool checks the tool of a call, and sets the call's schema. It reports true if the call must not
// be sent, because the tool may change something or was not confirmed; the returned item then has the
// verdict and the reason.
func (p *player) checkTool(ctx context.Context, it item, call *client.Call, x *wire.Exchange) (item, bool) {
	params, _ := jsonraw.Object(call.Params)
	name := params.Text("name")
	given, _ := params.Get("arguments")
	tool, out := p.conn.DefineOnce(ctx, name)
	if !out.OK() && out.Kind != wire.InvalidArguments { // InvalidArguments: the list does not have the tool
		if endsReplay(it.row, out) {
			p.connectionEnd.CompareAndSwap(nil, &out)
		}
		it.Verdict = NotRun
		it.Why = "the tools could not be listed: " + out.Text
		return it, true
	}
	// With --yes the call is sent, and the server decides.
	if tool == nil && !p.options.yes && it.row.Channel == exchange.ChannelOK {
		it.Verdict = Worse
		it.Why = "the server does not list the tool"
		return it, true
	}
	if !p.options.yes && (tool == nil || !tool.Hints.OnlyReads()) {
		it.Why = mayChange
		return it, true
	}
	if readOnly, listed := p.readOnly[name]; listed && !readOnly && !p.options.yes {
		it.Why = mayChange + ", as the recording lists it"
		return it, true
	}
	request := toolcall.Request{Name: name, Reading: arguments.Reading{Arguments: given}, Yes: p.options.yes}
	if out := toolcall.Confirmed(ctx, p.conn, tool, request); !out.OK() {
		it.Why = out.Text
		return it, true
	}
	if tool != nil {
		call.Schema = tool.InputSchema
	}
	return it, false
}

// taskWish returns the wish for a task if the recorded call became a task or could have: a stateless
// server decides itself, if the client declares the extension. It returns nil for other calls.
func (p *player) taskWish(m *wire.Message, x *wire.Exchange) *client.TaskWish {
	if m.Method != "tools/call" {
		return nil
	}
	hasDeclared := jsonraw.First(jsonraw.First(clientCapabilities(m), "extensions"), mcp.TasksExtension) != nil
	couldBecomeTask := hasDeclared && client.Stateless(p.conn.Revision())
	if becameTask(m, x) || couldBecomeTask {
		return &client.TaskWish{}
	}
	return nil
}

// recordedLogLevel returns the log level of the recorded client when it sent the request: from the
// request, or from an earlier logging/setLogLevel. It returns "" if there is none.
func (p *player) recordedLogLevel(row *rows.Row, m *wire.Message) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	conversationKey := conversationOf(row)
	if row.Method == "logging/setLevel" {
		p.logLevels[conversationKey], _ = jsonraw.Text(jsonraw.First(m.Params, "level"))
	}
	if own, ok := jsonraw.Text(jsonraw.First(jsonraw.First(m.Params, "_meta"), metaLogLevel)); ok {
		return own
	}
	return p.logLevels[conversationKey]
}

// becameTask reports whether a call asked for a task or became one.
func becameTask(m *wire.Message, x *wire.Exchange) bool {
	return m.Method == "tools/call" &&
		(jsonraw.First(m.Params, "task") != nil || jsonraw.First(resultOf(x), "taskId") != nil)
}

// taskStatus returns the status of a task.
func taskStatus(raw json.RawMessage) client.TaskStatus {
	text, _ := jsonraw.Text(jsonraw.First(raw, "status"))
	return client.TaskStatus(text)
}

// setLogLevel sets the server's log level for the call: in the params of the call if it is stateless,
// else with logging/setLevel if the level is not set already. "" leaves the level as it is.
func (p *player) setLogLevel(ctx context.Context, level string, call *client.Call) {
	p.mu.Lock()
	previous := p.currentLogLevel
	p.currentLogLevel = level
	p.mu.Unlock()
	switch {
	case level == "" || call.Method == "logging/setLevel":
	case client.Stateless(p.conn.Revision()):
		call.Params = jsonraw.With(call.Params, "_meta",
			jsonraw.With(jsonraw.First(call.Params, "_meta"), metaLogLevel, jsonraw.Quote(level)))
	case level != previous:
		if declared, _ := p.conn.Declares("logging"); declared {
			p.conn.Do(ctx, client.Call{Method: "logging/setLevel", Params: jsonraw.With(nil, "level", jsonraw.Quote(level))})
		}
	}
}

// lateNotificationWait is the time to wait for missing notifications after the response: some servers
// send them concurrently.
const lateNotificationWait = 100 * time.Millisecond

// pollTask is the interval of polling a task, maxTaskWait the longest time until it must reach the
// recorded status.
const (
	pollTask    = 200 * time.Millisecond
	maxTaskWait = 2 * time.Minute
	// maxInputWait is how long an answer that was given may have no effect.
	maxInputWait = 10 * time.Second
)

// awaitTask polls a task until it reaches the recorded status or ends, and returns the last outcome.
// out is the outcome of the first tasks/get, call; x is the recorded exchange. It gives up after
// maxTaskWait, or after maxInputWait if the task waits for input.
func (p *player) awaitTask(ctx context.Context, call client.Call, out wire.Outcome, x *wire.Exchange) wire.Outcome {
	began := p.factory.Now()
	want := taskStatus(resultOf(x))
	if want == "" {
		return out
	}
	for {
		reached := taskStatus(out.Result)
		if reached == "" || reached == want || reached.Ended() {
			return out
		}
		waited := p.factory.Now().Sub(began)
		lacksInput := reached == client.TaskNeedsYou && waited > maxInputWait
		if waited > maxTaskWait || lacksInput {
			return out
		}
		if !transport.Sleep(ctx, pollTask) { // interrupted
			return out
		}
		out = p.conn.Do(ctx, call)
	}
}
