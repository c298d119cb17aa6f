package diff

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect"
	"mcpc/internal/diff"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/mcp"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// loadRecording reads the run or the file that a word names, or the one exchange. The description is
// the last response to each request for a part of it. A list of several pages is known only if the
// recording has all pages.
func (l *loader) loadRecording(src source) (side, error) {
	c, row, out := recorded.Pick(l.f, src.text)
	if !out.OK() {
		return side{}, cmdutil.Exit(out)
	}
	defer c.Close()
	recorded.WarnDamage(l.f, c)
	l.f.HideSecretsIn(c)
	selected := []*rows.Row{row}
	match := ringWord().FindStringSubmatch(src.text)
	namesRun := match != nil && match[2] == "" // without the number of an exchange
	if c.Path == src.text {                    // a whole file
		selected = c.Rows()
	} else if namesRun {
		isOfOtherRun := func(r *rows.Row) bool { return r.RunID() != row.RunID() }
		selected = slices.DeleteFunc(slices.Clone(c.Rows()), isOfOtherRun)
	}
	r := recordingReader{s: side{name: cmdutil.ShownFile(src.text)}, lists: map[pageKey]*pages{}}
	for _, row := range selected {
		if rows.IsByServer(row) || row.ListedElsewhere { // another part of the recording has it, too
			continue
		}
		if err := r.addRow(row); err != nil {
			return side{}, cmdutil.Exit(usage.LocalIO("reading "+row.Path(), err))
		}
	}
	r.s.partial = map[string]bool{}
	for key, list := range r.lists {
		kind, _ := findListKind(key.method)
		// Another time, all pages of the same list may have been fetched.
		lacksPages := list.next != "" && *kind.entries(&r.s.Snapshot) == nil
		if lacksPages && !r.s.partial[kind.part] {
			r.s.partial[kind.part] = true
			l.f.Warn(r.s.name + " has only some pages of " + key.method + ", so they are not compared")
		}
	}
	return r.s, nil
}

// A listKind is a request whose result is a list of entries.
type listKind struct {
	connect.Kind
	// part is the list's name in the parts of a side.
	part string
	// entries returns the field of a snapshot that has the entries.
	entries func(*diff.Snapshot) *[]json.RawMessage
}

// findListKind returns the list that a method fetches, or false if the method fetches no list.
func findListKind(method string) (listKind, bool) {
	i := slices.IndexFunc(lists, func(k listKind) bool { return k.Method == method })
	if i < 0 {
		return listKind{}, false
	}
	return lists[i], true
}

// member returns the name of the result's member that has the entries.
func (k listKind) member() string { return mcp.ListMember(k.Method) }

// lists are the lists of a description.
var lists = []listKind{
	{connect.ToolKind, "tools", func(s *diff.Snapshot) *[]json.RawMessage { return &s.Tools }},
	{connect.PromptKind, "prompts", func(s *diff.Snapshot) *[]json.RawMessage { return &s.Prompts }},
	{connect.ResourceKind, "resources", func(s *diff.Snapshot) *[]json.RawMessage { return &s.Resources }},
	{connect.TemplateKind, "resource templates", func(s *diff.Snapshot) *[]json.RawMessage { return &s.Templates }},
}

// callMethods are the methods of the calls that are compared.
var callMethods = []string{"tools/call", "prompts/get", "resources/read"}

// A recordedCall reads one request and its response. Calls are read one by one for the comparison,
// since a whole recording may be larger than the memory.
type recordedCall func() (answeredCall, error)

// An answeredCall is one request and its response.
type answeredCall struct {
	match.Request
	// failure says how the call failed, "" if it did not.
	failure string
	// result is nil if the response is a JSON-RPC error.
	result json.RawMessage
}

// A recordingReader collects the description of the server in a recording.
type recordingReader struct {
	s side
	// lists has the pages so far of each list.
	lists map[pageKey]*pages
}

// A pageKey identifies a list among the lists that are fetched at the same time.
type pageKey struct {
	run    rows.RunID
	conn   int
	method string
}

// pages are the items of a list so far, and the cursor of the next page, "" after the last page.
type pages struct {
	items []json.RawMessage
	next  string
}

// addRow adds what one exchange says about the server: the result of a handshake, the page of a list,
// or a call. It skips exchanges without a response, and failures other than of calls. The error is of
// reading the recording.
func (r *recordingReader) addRow(row *rows.Row) error {
	if row.Status == http.StatusUnauthorized {
		r.s.Authorization = new(true)
	}
	isOpening := mcp.IsOpening(row.Method)
	isCall := slices.Contains(callMethods, row.Method)
	kind, isList := findListKind(row.Method)
	r.s.isProbed = r.s.isProbed || row.Method == "server/discover"
	if !isOpening && !isList && !isCall {
		return nil
	}
	request, response, err := readMessages(row)
	if err != nil || response == nil {
		return err
	}
	if isCall {
		// The call is only checked now, and read again when it is compared.
		if _, ok := parseCall(row, request, response); ok {
			r.s.calls = append(r.s.calls, func() (answeredCall, error) { return readCall(row) })
		}
		return nil
	}
	if response.Kind != wire.Response {
		return nil
	}
	if isOpening {
		readOpening(&r.s.Snapshot, response.Result)
	} else {
		r.addPage(row, kind, request.Params, response.Result)
	}
	return nil
}

// readMessages reads the request and the response of a row. It returns nil, nil if there is no
// response.
func readMessages(row *rows.Row) (request, response *wire.Message, err error) {
	x, err := row.Exchange()
	if err != nil || x == nil || x.Response.Raw == nil {
		return nil, nil, err
	}
	return wire.ParseMessage(x.Request.Raw), wire.ParseMessage(x.Response.Raw), nil
}

// readCall reads a call that parseCall has accepted before.
func readCall(row *rows.Row) (answeredCall, error) {
	request, response, err := readMessages(row)
	if err != nil {
		return answeredCall{}, err
	}
	c, _ := parseCall(row, request, response)
	return c, nil
}

// parseCall returns the call of a row. It reports false if the response is not a JSON-RPC response.
func parseCall(row *rows.Row, request, response *wire.Message) (c answeredCall, ok bool) {
	c.Request = match.Request{Revision: row.Revision, Method: row.Method, Params: request.Params}
	switch {
	case response.Kind == wire.ErrorResponse && response.Error != nil:
		c.failure = "error " + strconv.FormatInt(response.Error.Code, 10) + ": " + response.Error.Message
	case response.Kind != wire.Response:
		return c, false
	case wire.IsToolError(response.Result):
		c.failure = "tool error"
	}
	c.result = response.Result
	return c, true
}

// describeCall returns the name of a call for the report: the tool, prompt or URI, with the start of
// the arguments.
func describeCall(method string, params json.RawMessage) string {
	name := match.NameOf(method, params)
	if arguments := jsonraw.First(params, "arguments"); arguments != nil {
		name += " " + jsonraw.Excerpt(jsonraw.Compact(arguments), 80)
	}
	return name
}

// addPage adds a page to its list: params are of the request, result of the response. A request
// without a cursor begins the list again. After the last page it copies the list to the snapshot.
func (r *recordingReader) addPage(row *rows.Row, k listKind, params, result json.RawMessage) {
	items, err := jsonraw.Array(jsonraw.First(result, k.member()))
	key := pageKey{row.RunID(), row.Conn, row.Method}
	cursor, _ := jsonraw.Text(jsonraw.First(params, "cursor"))
	list := r.lists[key]
	if cursor == "" {
		list = &pages{items: []json.RawMessage{}}
		r.lists[key] = list
	}
	if err != nil || list == nil || list.next != cursor {
		return // no list, or a page without the page before it
	}
	list.items = append(list.items, items...)
	list.next, _ = jsonraw.Text(jsonraw.First(result, "nextCursor"))
	if list.next == "" {
		*k.entries(&r.s.Snapshot) = list.items
		setTTL(&r.s.Snapshot, k.member(), jsonraw.First(result, "ttlMs"))
	}
}

// setTTL sets the ttlMs of a list. It ignores a value that is no integer.
func setTTL(s *diff.Snapshot, member string, raw json.RawMessage) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return
	}
	if s.TTL == nil {
		s.TTL = map[string]int64{}
	}
	s.TTL[member] = n
}
