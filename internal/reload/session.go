package reload

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// The methods that a Server has to know.
const (
	methodInitialize   = "initialize"
	methodInitialized  = "notifications/initialized"
	methodDiscover     = "server/discover"
	methodSetLevel     = "logging/setLevel"
	methodSubscribe    = "resources/subscribe"
	methodUnsubscribe  = "resources/unsubscribe"
	methodListen       = "subscriptions/listen"
	methodAcknowledged = "notifications/subscriptions/acknowledged"
	methodCancelled    = "notifications/cancelled"
)

// The members of _meta that a Server has to know.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaSubscription = "io.modelcontextprotocol/subscriptionId"
)

// codeUnsupportedVersion is the code of the error for a request of a revision that the server does not
// support.
const codeUnsupportedVersion = -32022

// A session is what the next process has to know about the client.
type session struct {
	// initialize is the client's line of the handshake that a process has accepted, or nil. initialized
	// is the client's line that completed it, or nil.
	initialize, initialized []byte
	// revision is the revision that client and server use, or "". capabilities are what the last process
	// has declared in the handshake.
	revision     string
	capabilities json.RawMessage
	// meta is the _meta of the client's last request that names its revision, without the members
	// about that request; nil if requests do not name it.
	meta json.RawMessage
	// level is the client's last request that set the log level, or nil.
	level []byte
	// subscriptions are the client's requests for the resources that it is subscribed to.
	subscriptions []subscription
}

// A subscription is a request to be notified about a resource.
type subscription struct {
	uri  string
	line []byte
}

// noteRequest notes the _meta of a request if it names the revision, and reports whether it is the
// first one.
func (s *session) noteRequest(m *wire.Message) (isFirst bool) {
	meta := jsonraw.First(m.Params, "_meta")
	if jsonraw.First(meta, metaVersion) == nil {
		return false
	}
	isFirst = s.meta == nil
	s.meta = jsonraw.Without(jsonraw.Without(meta, "progressToken"), metaLogLevel)
	return isFirst
}

// noteResult notes the effect of a request that succeeded.
func (s *session) noteResult(r *clientMessage, result *wire.Message) {
	switch r.message.Method {
	case methodInitialize:
		revision := text(jsonraw.First(result.Result, "protocolVersion"))
		// A client may have sent initialized before the result.
		*s = session{
			initialize: r.line, initialized: s.initialized, revision: revision,
			capabilities: capabilitiesOf(result), meta: s.meta,
		}
	case methodSetLevel:
		s.level = r.line
	case methodSubscribe:
		s.unsubscribe(r)
		s.subscriptions = append(s.subscriptions, subscription{uriOf(r), r.line})
	case methodUnsubscribe:
		s.unsubscribe(r)
	default:
		version := text(jsonraw.First(jsonraw.First(r.message.Params, "_meta"), metaVersion))
		if version != "" && s.initialize == nil {
			s.revision = version
		}
	}
}

// capabilitiesOf returns what a process declares in the result of a handshake.
func capabilitiesOf(result *wire.Message) json.RawMessage {
	return jsonraw.OrEmpty(jsonraw.First(result.Result, "capabilities"))
}

// unsubscribe removes the subscription to the resource that a request names.
func (s *session) unsubscribe(r *clientMessage) {
	s.subscriptions = slices.DeleteFunc(s.subscriptions, func(o subscription) bool { return o.uri == uriOf(r) })
}

// uriOf returns the URI that a request names.
func uriOf(r *clientMessage) string { return text(jsonraw.First(r.message.Params, "uri")) }

// text returns the string of a JSON string, or "".
func text(raw json.RawMessage) string {
	s, _ := jsonraw.Text(raw)
	return s
}

// openSession repeats the client's handshake at a process, and then lets the client's messages pass. It
// returns an error if the process refuses the handshake. If the process has another revision than the
// client, the client's requests are refused until it is replaced.
func (s *Server) openSession(g *generation) error {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	var capabilities json.RawMessage
	isSame := true // the process has the client's revision
	if session.initialize != nil {
		m := s.ask(context.Background(), g, methodInitialize, repeat(session.initialize))
		if m == nil {
			return nil // the process has ended
		}
		if m.Error != nil {
			return fmt.Errorf("the restarted server refused the handshake: %s", m.Error.Message)
		}
		isSame = text(jsonraw.First(m.Result, "protocolVersion")) == session.revision
		capabilities = capabilitiesOf(m)
		if !bytes.Equal(capabilities, session.capabilities) {
			s.options.Note("the server declares other capabilities than before; the client sees them when it connects again")
		}
	} else if session.meta != nil {
		m := s.ask(context.Background(), g, methodDiscover, requestWith(methodDiscover, session.meta, ""))
		if m == nil {
			return nil
		}
		isSame = session.revision == "" || supports(m, session.revision)
		capabilities = jsonraw.First(m.Result, "capabilities")
	}
	if !isSame {
		why := "the restarted server no longer speaks the client's revision " + session.revision
		if s.refuse(g, why) {
			s.options.Warn(why + ": requests are refused until it does; reconnect the client to use the server as it is")
		}
		return nil
	}
	hasClient := session.initialize != nil || session.meta != nil
	if s.release(g, capabilities) && g.number > 1 && hasClient {
		s.reportRestart(g)
	}
	return nil
}

// supports reports whether the response to server/discover allows a revision. It does if it says
// nothing about revisions.
func supports(m *wire.Message, revision string) bool {
	if m.Error != nil {
		return m.Error.Code != codeUnsupportedVersion
	}
	members, _ := m.ResultMembers()
	versions := members.Words("supportedVersions")
	return len(versions) == 0 || versions[revision]
}

// requestWith returns a function that composes a request with a _meta, unless it is nil, and a cursor,
// unless it is "".
func requestWith(method string, meta json.RawMessage, cursor string) func(id json.RawMessage) []byte {
	var params jsonraw.Builder
	params.TextIfAny("cursor", cursor)
	params.Raw("_meta", meta)
	raw := params.Bytes()
	return func(id json.RawMessage) []byte { return wire.ComposeRequest(id, method, raw) }
}

// reportRestart reports that a process has replaced another one, and the first time what that means.
func (s *Server) reportRestart(g *generation) {
	text := fmt.Sprintf("the server was restarted (process %d)", g.number)
	if !s.hasReportedLoss.Swap(true) {
		text += "; what it keeps in memory is lost at each restart"
	}
	s.options.Note(text)
}

// release sends what the client's session consists of to a process, and then the held messages. It
// returns false if the process is not the current one.
func (s *Server) release(g *generation, capabilities json.RawMessage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != g {
		return false
	}
	g.capabilities = capabilities
	s.session.capabilities = capabilities
	if s.session.initialized != nil {
		g.input.add(s.session.initialized)
	}
	if s.session.initialized != nil || s.session.meta != nil {
		g.wantLists()
	}
	if s.session.level != nil {
		s.sendOwn(g, ownRequest{method: methodSetLevel}, repeat(s.session.level))
	}
	for _, r := range s.session.subscriptions {
		s.sendOwn(g, ownRequest{method: methodSubscribe}, repeat(r.line))
	}
	for _, r := range s.open { // subscriptions
		g.input.add(r.line)
	}
	s.phase = ready
	s.trouble = ""
	s.troubleStderr = ""
	s.isFailing = false
	close(s.released)
	for _, c := range s.held {
		s.sendToProcess(c)
	}
	s.held = nil
	s.closeInput()
	return true
}

// refuse answers the held requests, and later ones, with an error. It returns false if the process is not
// the current one.
func (s *Server) refuse(g *generation, why string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != g {
		return false
	}
	s.phase = refusing
	s.trouble = why
	close(s.released)
	for _, c := range s.held {
		s.refuseRequest(c.message, why, "")
	}
	s.held = nil
	s.closeInput()
	return true
}

// A list is one of the lists that clients are notified about.
type list struct {
	// capability is what a server that has the list declares, and member has the entries in a result.
	capability, member string
	method             string
	notification       string
	// filter is the member of a subscription that asks for the notification.
	filter string
	// name is the name of the entries for the user.
	name string
}

const (
	resourcesChanged = "notifications/resources/list_changed"
	resourcesFilter  = "resourcesListChanged"
)

var lists = []list{
	{"tools", "tools", "tools/list", "notifications/tools/list_changed", "toolsListChanged", "tools"},
	{"prompts", "prompts", "prompts/list", "notifications/prompts/list_changed", "promptsListChanged", "prompts"},
	{"resources", "resources", "resources/list", resourcesChanged, resourcesFilter, "resources"},
	{
		"resources", "resourceTemplates", "resources/templates/list", resourcesChanged, resourcesFilter,
		"resource templates",
	},
}

// isListChange reports whether a notification says that a list has changed.
func isListChange(method string) bool {
	return slices.ContainsFunc(lists, func(l list) bool { return l.notification == method })
}

// followLists reads the lists of a process whenever they are wanted, until it ends.
func (s *Server) followLists(g *generation) {
	for {
		select {
		case <-g.ended:
			return
		case <-g.listsWanted:
			s.compareLists(g)
		}
	}
}

// compareLists reads the lists of a process. The first time, it reports what differs from the process
// before; later the process itself has notified the client.
func (s *Server) compareLists(g *generation) {
	ctx, stop := context.WithTimeout(context.Background(), listTime)
	defer stop()
	s.mu.Lock()
	capabilities := g.capabilities
	meta := s.session.meta
	if s.session.initialize != nil {
		meta = nil
	}
	s.mu.Unlock()
	if capabilities == nil && meta != nil {
		if m := s.ask(ctx, g, methodDiscover, requestWith(methodDiscover, meta, "")); m != nil {
			capabilities = jsonraw.First(m.Result, "capabilities")
		}
	}
	if capabilities == nil {
		return
	}
	entries := map[string][]json.RawMessage{}
	for _, l := range lists {
		if jsonraw.First(capabilities, l.capability) == nil {
			entries[l.method] = nil
		} else if list, complete := s.readList(ctx, g, l, meta); complete {
			entries[l.method] = list
		}
	}
	before, after := s.noteLists(g, entries)
	if before != nil {
		s.options.ToolsChanged(before, after)
	}
}

// readList reads all pages of a list. complete is false if the process does not respond with one.
func (s *Server) readList(
	ctx context.Context, g *generation, l list, meta json.RawMessage,
) (entries []json.RawMessage, complete bool) {
	cursor := ""
	size := 0
	for size < maxListSize {
		m := s.ask(ctx, g, l.method, requestWith(l.method, meta, cursor))
		if m == nil || m.Error != nil {
			return nil, false
		}
		size += len(m.Raw)
		page, err := m.ResultItems(l.member)
		if err != nil {
			return nil, false
		}
		entries = append(entries, page...)
		cursor = text(jsonraw.First(m.Result, "nextCursor"))
		if cursor == "" {
			return entries, true
		}
	}
	return nil, false
}

// The limits of reading the lists of a process: the time for all, and the bytes of the pages of one.
const (
	listTime    = 10 * time.Second
	maxListSize = 64 << 20
)

// noteLists notes the lists of a process that could be read. If they are the first ones of this process, it
// notifies the client about each list that differs from the process before. If the tools differ, it
// returns both lists of tools, neither nil.
func (s *Server) noteLists(g *generation, entries map[string][]json.RawMessage) (before, after []json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != g {
		return nil, nil
	}
	for _, l := range lists {
		is, isRead := entries[l.method]
		was, isKnown := s.lists[l.method]
		if !isRead {
			continue
		}
		s.lists[l.method] = is
		if !isKnown || g.isListed || isEqualList(was, is) {
			continue
		}
		s.notifyChanged(l)
		if l.capability != "tools" { // ToolsChanged shows the tools
			s.options.Note(fmt.Sprintf("the %s have changed: %d before, %d now", l.name, len(was), len(is)))
		}
		if l.capability == "tools" {
			before = append([]json.RawMessage{}, was...)
			after = append([]json.RawMessage{}, is...)
		}
	}
	g.isListed = true
	return before, after
}

// isEqualList reports whether two lists have the same entries.
func isEqualList(a, b []json.RawMessage) bool {
	return slices.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// notifyChanged notifies the client that a list has changed, in each subscription that asks for it. The
// caller locks mu.
func (s *Server) notifyChanged(l list) {
	if s.session.initialized != nil {
		s.sendToClient(wire.ComposeNotification(l.notification, nil))
		return
	}
	for _, r := range s.open {
		filter := jsonraw.First(r.message.Params, "notifications")
		if r.isSubscription() && strings.TrimSpace(string(jsonraw.First(filter, l.filter))) == "true" {
			meta := jsonraw.With(nil, metaSubscription, r.message.ID)
			s.sendToClient(wire.ComposeNotification(l.notification, jsonraw.With(nil, "_meta", meta)))
		}
	}
}
