package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/fuzz"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcp"
	"mcpc/internal/saved"
	"mcpc/internal/schema"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// maxSequence is the number of calls that are taken from a recording.
const maxSequence = 30

// A sequence is the recorded calls of one connection. A fuzz test of a sequence varies the
// arguments of one call and makes the others as they were recorded, with the handles of the
// present server: create, read, delete.
type sequence struct {
	calls []recordedCall
	// handles are the values of results that later calls have as arguments.
	handles []handle
}

// A recordedCall is a call of a tool with its result, nil without one.
type recordedCall struct {
	Call
	result json.RawMessage
}

// A handle is a value in the result of a call: its JSON pointer and its jq path there.
type handle struct {
	call          int
	pointer, path string
	value         json.RawMessage
}

// readSequence reads the calls of the first connection in a recording that called a tool.
func (j *judge) readSequence(word string) (*sequence, wire.Outcome) {
	c, out := recorded.Open(j.f, word)
	if !out.OK() {
		return nil, out
	}
	defer c.Close()
	recorded.WarnDamage(j.f, c.Capture)
	j.f.HideSecretsIn(c.Capture)
	s := &sequence{}
	var first *rows.Row
	for _, row := range c.Rows() {
		isCall := row.Method == "tools/call" && !rows.IsByServer(row) && !row.IsSeparate && !row.ListedElsewhere
		isOther := first != nil && (row.RunID() != first.RunID() || row.Conn != first.Conn)
		if !isCall || isOther || len(s.calls) == maxSequence {
			continue
		}
		x, err := row.Exchange()
		if err != nil {
			return nil, usage.LocalIO("reading "+c.Path, usage.Bare(err))
		}
		if x == nil || x.Request.Raw == nil {
			continue
		}
		first = row
		params := wire.ParseMessage(x.Request.Raw).Params
		name, _ := jsonraw.Text(jsonraw.First(params, "name"))
		s.add(recordedCall{
			Call:   Call{Name: name, Args: jsonraw.OrEmpty(jsonraw.First(params, "arguments"))},
			result: jsonraw.First(x.Response.Raw, "result"),
		})
	}
	if len(s.calls) == 0 {
		return nil, usage.Outcome(usage.New("--from "+word+": the recording has no tools/call",
			wire.Run("log method:tools/call")+" lists the ones in other recordings"))
	}
	return s, wire.Outcome{}
}

// add adds a call, and the values of earlier results that its arguments have.
func (s *sequence) add(c recordedCall) {
	n := len(s.calls)
	s.calls = append(s.calls, c)
	var own [][]byte
	eachLeaf(c.Args, "", "", func(_, _ string, value json.RawMessage) { own = append(own, value) })
	for i, earlier := range s.calls[:n] {
		eachLeaf(earlier.result, "", "", func(pointer, path string, value json.RawMessage) {
			isSame := func(other []byte) bool { return bytes.Equal(other, value) }
			isEqual := func(h handle) bool { return bytes.Equal(h.value, value) }
			isEcho := bytes.Contains(earlier.Args, value)
			if slices.ContainsFunc(own, isSame) && !slices.ContainsFunc(s.handles, isEqual) && !isEcho {
				s.handles = append(s.handles, handle{i, pointer, path, value})
			}
		})
	}
}

// eachLeaf calls f for each text and number in a value, with its JSON pointer in the unfolded value
// and its jq path.
func eachLeaf(raw json.RawMessage, pointer, path string, f func(pointer, path string, value json.RawMessage)) {
	switch kind := schema.TypeOf(raw); {
	case kind == schema.Object:
		members, _ := jsonraw.Object(raw)
		for _, m := range members {
			if m.Name != "_meta" {
				eachLeaf(m.Value, jsonraw.Pointer(pointer, m.Name), path+"["+string(jsonraw.Quote(m.Name))+"]", f)
			}
		}
	case kind == schema.Array:
		items, _ := jsonraw.Array(raw)
		for i, item := range items {
			eachLeaf(item, pointer+"/"+strconv.Itoa(i), path+"["+strconv.Itoa(i)+"]", f)
		}
	case embedded(raw) != nil:
		eachLeaf(embedded(raw), pointer, path+"|fromjson|.", f)
	case kind&(schema.String|schema.Number) != 0 && len(raw) > len(`""`) || kind&schema.Number != 0:
		f(pointer, path, raw)
	}
}

// embedded returns the object or list in a JSON text: servers without structured results write it
// there. It returns nil if there is none.
func embedded(raw json.RawMessage) json.RawMessage {
	text, _ := jsonraw.Text(raw)
	if inner := strings.TrimSpace(text); inner != "" && strings.Contains("{[", inner[:1]) && json.Valid([]byte(inner)) {
		return json.RawMessage(inner)
	}
	return nil
}

// unfolded returns a value with the embedded objects and lists in place of the texts.
func unfolded(raw json.RawMessage) json.RawMessage {
	if inner := embedded(raw); inner != nil {
		return unfolded(inner)
	}
	if members, err := jsonraw.Object(raw); err == nil {
		for _, m := range members {
			raw = jsonraw.With(raw, m.Name, unfolded(m.Value))
		}
		return raw
	}
	if items, err := jsonraw.Array(raw); err == nil {
		return jsonraw.ListOf(items, unfolded)
	}
	return raw
}

// binder returns a new binder for the handles.
func (s *sequence) binder() *match.Binder {
	var bindings []match.Binding
	for _, h := range s.handles {
		bindings = append(bindings, match.Binding{
			Kind: h.pointer, Part: match.Result, Named: true,
			Select: func(json.RawMessage) []string { return []string{h.pointer} },
		})
	}
	return match.NewBinder(bindings...)
}

// name returns the name of a call for the fuzz test: each call of a tool is tested by itself.
func (s *sequence) name(i int) string { return fmt.Sprintf("%s, call %d", s.calls[i].Name, i+1) }

// selectSequence returns the calls of the sequence as tools to test. It sets fuzzFailure if the
// server lacks a tool, or a tool may change something and the user did not name it.
func (t *fuzzTest) selectSequence(s *sequence) []fuzz.Tool {
	var tools []fuzz.Tool
	var unnamed []string
	for i, c := range s.calls {
		at := slices.IndexFunc(t.lists["tools"], func(entry json.RawMessage) bool {
			name, _ := jsonraw.Text(jsonraw.First(entry, "name"))
			return name == c.Name
		})
		if at < 0 {
			t.fuzzFailure = usage.Outcome(usage.New("--from: the server lists no tool "+c.Name,
				wire.RunOnServer("list")+" shows them"))
			return nil
		}
		entry := t.lists["tools"][at]
		onlyReads := mcp.ToolHints(entry).OnlyReads()
		if flag := "--fuzz-unsafe " + shellwords.Quote(c.Name); !onlyReads && !slices.Contains(unnamed, flag) &&
			!slices.Contains(t.request.Send.Fuzz.Unsafe, c.Name) {
			unnamed = append(unnamed, flag)
		}
		t.schemas[c.Name] = jsonraw.First(entry, "inputSchema")
		t.reads[c.Name] = onlyReads
		tools = append(tools, fuzz.Tool{Name: s.name(i), InputSchema: t.schemas[c.Name], Base: c.Args})
	}
	if len(unnamed) > 0 {
		hint := "check --fuzz --from " + shellwords.Quote(t.request.Send.Fuzz.From)
		for _, flag := range unnamed {
			hint += " " + flag
		}
		t.fuzzFailure = usage.Outcome(usage.New("--from: the recording calls tools that are not marked as read-only",
			wire.RunOnServer(hint)+" calls them again and again"))
		return nil
	}
	return tools
}

// callInSequence makes the calls of the sequence in order, the one called name with other arguments,
// and returns the answer to it. After it, the other calls are made as well: they may delete what
// an earlier one created.
func (t *fuzzTest) callInSequence(ctx context.Context, name string, args json.RawMessage) fuzz.Answer {
	binder := t.sequence.binder()
	answer := fuzz.Answer{Class: fuzz.Unclear, Summary: "the calls before it were not answered"}
	for i, c := range t.sequence.calls {
		isVaried := t.sequence.name(i) == name
		if isVaried {
			c.Args = args
		}
		isLast := i == len(t.sequence.calls)-1
		inParams := match.Comparison{Part: match.Params, Method: "tools/call", Name: c.Name}
		params, _ := binder.ToIs(inParams, c.Params())
		present := t.callTool(ctx, c.Name, jsonraw.First(params, "arguments"))
		if isVaried {
			answer = present
		}
		if present.IsLast {
			answer.IsLast = true
			return answer
		}
		if isVaried && isLast { // it may be the one that deletes
			params, _ = binder.ToIs(inParams, t.sequence.calls[i].Params())
			answer.IsLast = t.callTool(ctx, c.Name, jsonraw.First(params, "arguments")).IsLast
		}
		inResult := match.Comparison{Part: match.Result, Method: "tools/call", Name: c.Name}
		binder.Learn(inResult, unfolded(c.result), unfolded(present.Result))
	}
	return answer
}

// steps returns the steps of a *.mcpc.yaml that make the calls of the sequence up to the one called
// name, which has other arguments. A capture in a step passes a handle to the later steps.
func (s *sequence) steps(name string, varied saved.Step) string {
	unchanged := func(hidden string) string { return hidden }
	var steps []json.RawMessage
	for i, c := range s.calls {
		step := saved.Step{Verb: saved.Call, Subject: saved.LiteralText(c.Name, unchanged), Args: c.Args}
		isVaried := s.name(i) == name
		if isVaried {
			varied.Subject = step.Subject
			step = varied
		}
		step.Args = s.withReferences(saved.Literal(step.Args, unchanged))
		raw := step.JSON()
		var captures json.RawMessage
		for number, h := range s.handles {
			if h.call == i && !isVaried {
				captures = jsonraw.With(captures, handleName(number), jsonraw.Quote("."+h.path))
			}
		}
		if captures != nil {
			raw = jsonraw.With(raw, "capture", captures)
		}
		steps = append(steps, raw)
		if isVaried {
			break
		}
	}
	return string(jsonraw.List(steps))
}

// handleName returns the name of the variable for the handle with a number.
func handleName(number int) string { return "handle" + strconv.Itoa(number+1) }

// withReferences returns arguments with a reference in place of each handle.
func (s *sequence) withReferences(raw json.RawMessage) json.RawMessage {
	if members, err := jsonraw.Object(raw); err == nil {
		for _, m := range members {
			raw = jsonraw.With(raw, m.Name, s.withReferences(m.Value))
		}
		return raw
	}
	if items, err := jsonraw.Array(raw); err == nil {
		return jsonraw.ListOf(items, s.withReferences)
	}
	for number, h := range s.handles {
		if bytes.Equal(h.value, raw) {
			return jsonraw.Quote("${" + handleName(number) + "}")
		}
	}
	return raw
}
