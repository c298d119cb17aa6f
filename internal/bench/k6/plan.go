package k6

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"mcpc/internal/bench"
	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// A Plan is a load test of one server over Streamable HTTP. Its secrets are placeholders
// (redact.Redacted): the script reads them from the environment.
type Plan struct {
	Version string // of mcpc
	URL     string
	// Headers are sent with every request, in addition to the fields that the protocol requires.
	Headers []wire.Field
	// Revision is the protocol revision. Stateless is set if it has no handshake and no sessions.
	Revision  string
	Stateless bool
	Calls     []Call
	// Open starts Rate calls per second, however long they take; Users limits the calls in flight.
	// Otherwise each of the Users calls in a loop and pauses for Think after a call.
	Open     bool
	Rate     float64
	Users    int
	Think    time.Duration
	Duration time.Duration
	// Warmup precedes Duration and is not counted.
	Warmup time.Duration
	// Expect are conditions, such as p99<200ms, error_rate<0.1% and rate>50.
	Expect []bench.Expectation
}

// A Call is a request of a Plan. The script makes all calls in order, repeatedly.
type Call struct {
	Method string
	// Tool is the name of the tool, if Method is tools/call.
	Tool string
	// Params are sent byte for byte; nil is an empty object. For a stateless revision, missing members
	// of _meta are added.
	Params json.RawMessage
	// Headers repeat a part of Params: Mcp-Method, Mcp-Name, Mcp-Param-*.
	Headers []wire.Field
	// Bound are the handles in Params, in order.
	Bound []Bound
}

// The names of the files of a test.
const (
	Script = "script.js"
	Data   = "data.jsonl"
)

//go:embed script.js
var script string

// The defaults for Plan.Users.
const (
	defaultUsers    = 1
	defaultInFlight = 100
)

// Write writes the files of a test into a directory, which it creates if needed. It returns the
// secrets that the script needs, or ErrNotEmpty if the directory has files.
func Write(dir string, p Plan) ([]Secret, error) {
	files, secrets, err := renderFiles(p)
	if err != nil {
		return nil, err
	}
	if err := CheckEmptyDir(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	for _, name := range []string{Data, Script} {
		if err := os.WriteFile(filepath.Join(dir, name), files[name], 0o666); err != nil {
			return nil, err
		}
	}
	return secrets, nil
}

// ErrNotEmpty is the error for a directory that has files in it.
var ErrNotEmpty = errors.New("the directory is not empty")

// CheckEmptyDir returns the reason why Write cannot write into a directory, as far as it is known
// without writing.
func CheckEmptyDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return ErrNotEmpty
	}
	return nil
}

// planConstant is the constant PLAN of the script. Members of type any are a string, or a list of
// strings and variables: see splitText.
type planConstant struct {
	Mcpc       string              `json:"mcpc"`
	URL        any                 `json:"url"`
	Revision   string              `json:"revision"`
	Stateless  bool                `json:"stateless"`
	Initialize string              `json:"initialize,omitempty"`
	Meta       string              `json:"meta,omitempty"`
	Headers    []header            `json:"headers"`
	Secrets    []Secret            `json:"secrets"`
	KeepsOrder bool                `json:"own_order"`
	Rate       float64             `json:"rate"`
	Users      int                 `json:"users"`
	Think      string              `json:"think"`
	Duration   string              `json:"duration"`
	Warmup     string              `json:"warmup"`
	Thresholds map[string][]string `json:"thresholds"`
}

// A header is a header field of all requests. Value is made by splitText.
type header struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

// renderFiles returns the contents of the files by name, and the secrets that the script reads from
// the environment. It sends nothing and writes nothing.
func renderFiles(p Plan) (map[string][]byte, []Secret, error) {
	if len(p.Calls) == 0 {
		return nil, nil, errors.New("there are no calls")
	}
	v := &variables{list: []Secret{}}
	c := planConstant{
		Mcpc:       p.Version,
		URL:        v.splitText(p.URL, inURL),
		Revision:   p.Revision,
		Stateless:  p.Stateless,
		Thresholds: buildThresholds(p.Expect),
		Headers:    []header{},
		Think:      formatDuration(p.Think),
		Duration:   formatDuration(p.Duration),
		Warmup:     formatDuration(p.Warmup),
		Users:      p.Users,
	}
	if p.Open {
		c.Rate = p.Rate
	}
	if c.Users == 0 && p.Open {
		c.Users = defaultInFlight
	} else if c.Users == 0 {
		c.Users = defaultUsers
	}
	for _, f := range p.Headers {
		c.Headers = append(c.Headers, header{Name: f.Name, Value: v.splitText(f.Value, f.Name)})
	}
	client := `{"name":"mcpc","version":` + string(jsonraw.Quote(p.Version)) + `}`
	if p.Stateless {
		c.Meta = string(addMissing(json.RawMessage("{}"), requestMeta(p.Revision, client)))
	} else {
		revision := string(jsonraw.Quote(p.Revision))
		c.Initialize = `{"protocolVersion":` + revision + `,"capabilities":{},"clientInfo":` + client + `}`
	}
	data, hasHandles, err := encodeCalls(p.Calls, v, requestMeta(p.Revision, client), p.Stateless)
	if err != nil {
		return nil, nil, err
	}
	c.KeepsOrder = hasHandles
	c.Secrets = v.list
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // keeps < in thresholds readable
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return nil, nil, err
	}
	plan := strings.ReplaceAll(strings.TrimSpace(b.String()), "</", `<\/`)
	return map[string][]byte{Data: data, Script: []byte(strings.Replace(script, "/*PLAN*/", plan, 1))}, v.list, nil
}

// requestMeta returns the members of _meta in each request of a stateless revision (2026-07-28
// basic/index, "Per-request metadata"). The script answers no server requests and follows no tasks,
// so it declares no capabilities.
func requestMeta(revision, client string) []jsonraw.Member {
	const prefix = "io.modelcontextprotocol/"
	return []jsonraw.Member{
		{Name: prefix + "protocolVersion", Value: jsonraw.Quote(revision)},
		{Name: prefix + "clientInfo", Value: json.RawMessage(client)},
		{Name: prefix + "clientCapabilities", Value: json.RawMessage("{}")},
	}
}

// formatDuration formats a time for the script.
func formatDuration(d time.Duration) string { return d.Round(time.Millisecond).String() }

// A line is a line of the Data file.
type line struct {
	Method   string         `json:"method"`
	Tool     string         `json:"tool,omitempty"`
	Params   any            `json:"params"`
	Headers  map[string]any `json:"headers,omitempty"`
	HasMeta  bool           `json:"has_meta,omitempty"`
	IsNeeded bool           `json:"needed,omitempty"`
}

// encodeCalls returns the calls, one line each, and whether a call has a handle.
//
// If stateless is set, a _meta in the params gets the members of required that it lacks.
func encodeCalls(
	calls []Call,
	v *variables,
	required []jsonraw.Member,
	stateless bool,
) (data []byte, hasHandles bool, err error) {
	needed := map[int]bool{} // the calls whose results have handles, by index
	for _, call := range calls {
		for _, b := range call.Bound {
			needed[b.Call] = true
		}
		hasHandles = hasHandles || len(call.Bound) > 0
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for i, call := range calls {
		params := bytes.TrimSpace(jsonraw.OrEmpty(call.Params))
		if err := CheckParams(params); err != nil {
			return nil, false, fmt.Errorf("the params of %s are not %w", call.Method, err)
		}
		l := line{Method: call.Method, Tool: call.Tool, IsNeeded: needed[i]}
		if meta := jsonraw.First(params, "_meta"); stateless && meta != nil {
			params = jsonraw.With(params, "_meta", addMissing(meta, required))
			l.HasMeta = true
			call.Bound = nil // the offsets are no longer valid
		}
		l.Params = v.splitParams(params, call.Bound)
		for _, f := range call.Headers {
			if l.Headers == nil {
				l.Headers = map[string]any{}
			}
			l.Headers[f.Name] = v.splitText(f.Value, f.Name)
		}
		if err := e.Encode(l); err != nil {
			return nil, false, err
		}
	}
	return b.Bytes(), hasHandles, nil
}

// CheckParams returns an error if params cannot be sent unchanged. The error names the required form:
// "UTF-8" or "a JSON object".
func CheckParams(params json.RawMessage) error {
	params = bytes.TrimSpace(jsonraw.OrEmpty(params))
	if !utf8.Valid(params) {
		return errors.New("UTF-8")
	}
	if bad := jsonraw.Valid(params); bad != nil || params[0] != '{' {
		return errors.New("a JSON object")
	}
	return nil
}

// addMissing adds the members that meta does not have. It returns a value other than an object
// unchanged.
func addMissing(meta json.RawMessage, required []jsonraw.Member) json.RawMessage {
	members, err := jsonraw.Object(meta)
	if err != nil {
		return meta
	}
	var missing []jsonraw.Member
	for _, member := range required {
		if _, present := members.Get(member.Name); !present {
			missing = append(missing, member)
		}
	}
	return jsonraw.Append(meta, missing...)
}
