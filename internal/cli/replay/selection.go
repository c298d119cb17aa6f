package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A selection is the part of a recording that is replayed.
type selection struct {
	capture *rows.Capture
	version string // of mcpc
	rows    []*rows.Row
	// serverRequests maps each request to the server's requests that arrived during it; nil maps to
	// the requests that arrived at any time.
	serverRequests map[*rows.Row][]*rows.Row
	// readOnly reports for each tool in the recording whether it only reads.
	readOnly map[string]bool
	// capabilities are those that the recorded clients declared.
	capabilities json.RawMessage
}

// openSelection opens the recording and selects its requests of clients: the one that the word of the
// user names, or all that match the filter and --only. The caller closes the recording if the outcome
// is OK. It is a usage error if no request is selected.
func openSelection(f *cmdutil.Factory, o options, matches func(*rows.Row) bool) (*selection, wire.Outcome) {
	c, out := recorded.Open(f, o.Word)
	if !out.OK() {
		return nil, out
	}
	recorded.WarnDamage(f, c.Capture)
	f.HideSecretsIn(c.Capture)
	s := &selection{
		capture:        c.Capture,
		version:        f.Version,
		serverRequests: map[*rows.Row][]*rows.Row{},
		readOnly:       map[string]bool{},
	}
	all := c.Rows()
	if c.HasSelection() {
		row, out := c.Row()
		if !out.OK() {
			c.Close()
			return nil, out
		}
		all = []*rows.Row{row}
	}
	for _, row := range all {
		if isReplayable(row) && (len(o.only) == 0 || slices.Contains(o.only, row.Method)) && matches(row) {
			s.rows = append(s.rows, row)
		}
	}
	err := s.readContext(c.Rows()) // of the whole recording, not only the selected rows
	if err != nil {
		out = usage.LocalIO("reading "+c.Path, usage.Bare(err))
	} else if len(s.rows) == 0 {
		out = usage.Outcome(usage.New("nothing to replay: no recorded request of a client matches",
			wire.Run("log")+" lists recorded exchanges"))
	}
	if !out.OK() {
		c.Close()
	}
	return s, out
}

// isReplayable reports whether a row is a client's request that a replay may send. It returns false for
// handshakes, which the new connection does itself, for messages without a request, and for rows that
// another part of the recording lists.
func isReplayable(row *rows.Row) bool {
	return !rows.IsByServer(row) && !row.IsSeparate && !row.ListedElsewhere && !row.Orphan && row.Method != "" &&
		row.HasConn() && !mcp.IsOpening(row.Method)
}

// A conversation identifies a connection of a recording.
type conversation struct {
	run  rows.RunID
	conn int
}

// conversationOf returns the conversation of a row.
func conversationOf(row *rows.Row) conversation { return conversation{row.RunID(), row.Conn} }

// readContext reads what a replay needs before it begins: the server's requests, the capabilities
// of the clients, and the tools. all are the rows of the whole recording.
func (s *selection) readContext(all []*rows.Row) error {
	isReplayed := map[conversation]bool{}
	for _, row := range s.rows {
		isReplayed[conversationOf(row)] = true
	}
	hasDeclared := map[conversation]bool{}
	for _, row := range all {
		if row.ListedElsewhere || row.IsSeparate {
			continue
		}
		if rows.IsByServer(row) {
			during := row.Within
			if row.Method == "roots/list" {
				during = nil // it may arrive during any request
			}
			s.serverRequests[during] = append(s.serverRequests[during], row)
			continue
		}
		key := conversationOf(row)
		needsCapabilities := isReplayed[key] && !hasDeclared[key]
		if row.Method != "tools/list" && !needsCapabilities {
			continue
		}
		x, err := row.Exchange()
		if err != nil {
			return err
		}
		if x == nil {
			continue
		}
		if needsCapabilities && x.Request.Raw != nil {
			hasDeclared[key] = true
			s.addCapabilities(wire.ParseMessage(x.Request.Raw))
		}
		s.recordTools(x)
	}
	return nil
}

// addCapabilities adds the capabilities that a client declared in m to those of the selection. The
// first client that declared a capability counts. It leaves out tasks: mcpc declares them itself.
func (s *selection) addCapabilities(m *wire.Message) {
	members, _ := jsonraw.Object(clientCapabilities(m))
	for _, member := range members {
		if member.Name == "extensions" {
			member.Value = jsonraw.Without(member.Value, mcp.TasksExtension)
		}
		if member.Name != "tasks" && jsonraw.First(s.capabilities, member.Name) == nil {
			s.capabilities = jsonraw.With(s.capabilities, member.Name, member.Value)
		}
	}
	s.capabilities = jsonraw.OrEmpty(s.capabilities)
}

// The members of _meta that describe the client of a request.
const (
	metaPrefix       = "io.modelcontextprotocol/"
	metaCapabilities = metaPrefix + "clientCapabilities"
	metaLogLevel     = metaPrefix + "logLevel"
)

// clientCapabilities returns the capabilities that a request declares, nil if none.
func clientCapabilities(m *wire.Message) json.RawMessage {
	if m.Method == "initialize" {
		return jsonraw.First(m.Params, "capabilities")
	}
	return jsonraw.First(jsonraw.First(m.Params, "_meta"), metaCapabilities)
}

// recordTools records which tools only read. A tool only reads if each list says so.
func (s *selection) recordTools(x *wire.Exchange) {
	tools, err := wire.ParseMessage(x.Response.Raw).ResultItems("tools")
	if err != nil {
		return
	}
	for _, raw := range tools {
		if tool, bad := mcp.ParseTool(raw); bad == nil {
			before, known := s.readOnly[tool.Name]
			s.readOnly[tool.Name] = tool.Hints.OnlyReads() && (before || !known)
		}
	}
}

// reportRevisions prints how many exchanges were recorded in a different revision than they are
// sent in.
func (s *selection) reportRevisions(f *cmdutil.Factory) {
	counts := map[string]int{}
	for _, row := range s.rows {
		if row.Revision != "" && row.Revision != f.Protocol {
			counts[row.Revision]++
		}
	}
	for _, revision := range slices.Sorted(maps.Keys(counts)) {
		n := counts[revision]
		format := "%s were recorded in %s, and are sent in %s; the filter protocol:%[2]s selects what was recorded there"
		if n == 1 {
			format = "%s was recorded in %s, and is sent in %s; the filter protocol:%[2]s selects what was recorded there"
		}
		f.Note(fmt.Sprintf(format, english.Plural(n, "exchange"), revision, f.Protocol))
	}
}

// selectServer selects the server, and the revision of the first selected request unless the user
// names one. The recorded server is taken from that request, too, if the user allows it.
func (s *selection) selectServer(f *cmdutil.Factory, o *options) wire.Outcome {
	row := s.rows[0]
	x, err := row.Exchange()
	if err != nil || x == nil {
		x = &wire.Exchange{}
	}
	if f.Protocol == "" && slices.Contains(client.Revisions(), row.Revision) {
		f.Protocol = row.Revision
		s.reportRevisions(f)
	}
	return o.SelectServer(f, recorded.Request{Row: row, Exchange: x, Capture: s.capture, Version: s.version})
}
