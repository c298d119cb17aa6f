package view

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

// A Line is an arrow between a client and a server, or a remark.
type Line struct {
	// Dir is "sent" for an arrow to the server, "received" for an arrow to the client, and "" if
	// the line is a remark.
	Dir  string    `json:"dir"`
	Time time.Time `json:"time"`
	// Kind is "request", "response", "progress", "log", "question", "answer", "notification",
	// "round", "cut", "resumed", "cancelled", "held" or "remark".
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Level string `json:"level,omitempty"` // "", "warning", "error"
	// Times is the number of equal lines that this line represents, at least 1.
	Times int `json:"times,omitempty"`
	// cause is the error of a cut; "" if the line is no cut or the cut has no error.
	cause string
}

// The kinds of a Line.
const (
	lineRequest      = "request"
	lineResponse     = "response"
	lineProgress     = "progress"
	lineLog          = "log"
	lineQuestion     = "question"
	lineAnswer       = "answer"
	lineNotification = "notification"
	lineRound        = "round"
	lineCut          = "cut"
	lineResumed      = "resumed"
	lineCancelled    = "cancelled"
	lineHeld         = "held"
	lineRemark       = "remark"
)

const (
	levelWarning = "warning"
	levelError   = "error"
)

// maxLines limits the lines of a Block.
const maxLines = 200

// maxLine limits the characters of a line.
const maxLine = 1000

// A liner makes the lines of an exchange.
type liner struct {
	row      *rows.Row
	exchange *wire.Exchange
	lines    []Line
	// progress is the index of the line that combines all progress notifications; -1 without such a
	// line.
	progress int
	askedAt  map[string]time.Time
	story    *story
}

// makeLines returns the lines of an exchange in the order of its frames. waits is true if a response
// can still follow.
func makeLines(r *rows.Row, x *wire.Exchange, waits bool) []Line {
	l := &liner{row: r, exchange: x, progress: -1, askedAt: map[string]time.Time{}, story: storyOf(x)}
	for _, f := range inOrder(x) {
		switch {
		case f.Kind == wire.Head || f.Kind == wire.Closed:
			l.addStream(f)
		case f.Kind == wire.Stderr: // shown separately
		case f.Kind == wire.Fault:
			l.addFault(f)
		case f.Kind == wire.Held:
			l.addHeld(f)
		case f.Kind == wire.Noise:
			text := "not JSON-RPC: " + cutText(string(f.Raw[:min(len(f.Raw), 4*maxShort)]), maxShort)
			l.add(Line{Time: f.Time, Kind: lineRemark, Level: levelWarning, Text: text})
		case len(bytes.TrimSpace(f.Raw)) == 0: // an event with only an id
		default:
			l.addMessage(f)
		}
	}
	l.addOutcome(waits)
	// The beginning and the end say more than the middle.
	if more := len(l.lines) - maxLines; more > 0 {
		remark := Line{Kind: lineRemark, Time: l.lines[maxLines/2].Time, Text: "more lines are left out", Times: more}
		l.lines = slices.Concat(l.lines[:maxLines/2], []Line{remark}, l.lines[len(l.lines)-maxLines/2:])
	}
	return l.lines
}

// inOrder returns the frames of an exchange that make lines, by time.
func inOrder(x *wire.Exchange) []wire.Frame {
	all := slices.Concat([]wire.Frame{x.Request}, x.OtherMessages, x.NonMessages, []wire.Frame{x.Response})
	// Only the heads of resumptions make lines.
	for _, h := range x.Heads {
		if h.HTTP.Field(lastEventID) != "" {
			all = append(all, h)
		}
	}
	all = slices.DeleteFunc(all, func(f wire.Frame) bool { return f.Time.IsZero() })
	sliceutil.Sort(all, func(a, b wire.Frame) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return int(a.Seq) - int(b.Seq)
	})
	return all
}

// add appends a line, or counts it if it repeats the last one.
func (l *liner) add(line Line) {
	line.Text = shortened(line.Text, maxLine)
	if line.Times == 0 {
		line.Times = 1
	}
	if n := len(l.lines); n > 0 {
		if last := &l.lines[n-1]; last.Kind == line.Kind && last.Text == line.Text && last.Dir == line.Dir {
			last.Times += line.Times
			return
		}
	}
	l.lines = append(l.lines, line)
}

// addMessage adds the line of a message. A message that is neither the request nor the response may
// be a notification, a question or its answer, a round, or a repeated request.
func (l *liner) addMessage(f wire.Frame) {
	m := wire.ParseMessage(f.Raw)
	line := Line{Dir: f.Dir.String(), Time: f.Time}
	isOwn := f.Dir == l.exchange.Request.Dir // sent by the side that sent the request
	isReply := m.Traits().IsReply
	switch {
	case f.Seq == l.exchange.Request.Seq && l.exchange.Request.Raw != nil:
		line.Kind = lineRequest
		line.Text = requestText(f)
		if was, sent := editedRequest(l.exchange); was.Raw != nil {
			line.Text = requestText(was) + ", edited and sent as: " + requestText(sent)
		}
	case f.Seq == l.exchange.Response.Seq && l.exchange.Response.Raw != nil:
		line.Kind = lineResponse
		line.Text = rowResponse(l.row, f)
		if l.row.Failed() {
			line.Level = levelError
			line.Text += wrongText(l.row)
		}
	case m.Kind == wire.Notification:
		l.addNotification(line, m)
		return
	case m.Kind == wire.Request && isOwn:
		l.fillRepeated(&line, m)
	case m.Kind == wire.Request:
		line.Kind = lineQuestion
		line.Text = "asks: " + questionText(m.Method, m.Params)
		l.askedAt[m.Traits().ID] = f.Time
	case isReply && isOwn:
		l.fillAnswer(&line, m, f)
	case isReply && m.Traits().RequiresInput: // the client has to send the next round
		line.Kind = lineRound
		line.Text = responseWords(l.row.Method, f)
		l.askedAt[""] = f.Time
	case isReply: // the exchange has another response
		line.Kind = lineRemark
		line.Level = levelWarning
		line.Text = "a second answer: " + responseWords(l.row.Method, f)
	default:
		line.Kind = lineRemark
		line.Level = levelWarning
		line.Text = m.Kind.String() + ": " + cutText(string(f.Raw[:min(len(f.Raw), 4*maxShort)]), maxShort)
	}
	if l.exchange.IsGuess(f) {
		line.Text += " (perhaps of another request)"
	}
	l.add(line)
}

// fillRepeated fills in the line of a repeated request: the next round if the server asked for
// input before, else a resend.
func (l *liner) fillRepeated(line *Line, m *wire.Message) {
	since, asked := l.askedAt[""]
	if !asked {
		line.Kind = lineRemark
		line.Text = "sent again"
		return
	}
	delete(l.askedAt, "")
	line.Kind = lineRound
	line.Text = "answered"
	params, _ := m.ParamMembers()
	if responses := params.Value("inputResponses"); responses != nil {
		line.Text += " " + cutJSON(responses, maxShort)
	}
	line.Text += " after " + term.Duration(line.Time.Sub(since))
}

// fillAnswer fills in the line of a response to a request of the server.
func (l *liner) fillAnswer(line *Line, m *wire.Message, f wire.Frame) {
	line.Kind = lineAnswer
	side := "the client"
	if f.Dir == wire.Received {
		side = "the server"
	}
	line.Text = "answered by " + side
	if since, ok := l.askedAt[m.Traits().ID]; ok {
		line.Text += " after " + term.Duration(f.Time.Sub(since))
		delete(l.askedAt, m.Traits().ID)
	}
	if m.Error != nil {
		line.Text = line.Text + ": " + responseWords("", f)
		line.Level = levelWarning
	} else {
		result, _ := m.ResultMembers()
		text := result.Text("action")
		if content := result.Value("content"); content != nil {
			text = strings.TrimSpace(text + " " + cutJSON(content, maxShort))
		}
		if text == "" {
			text = cutJSON(m.Result, maxShort)
		}
		line.Text += ": " + text
	}
}

// addNotification adds the line of a notification.
func (l *liner) addNotification(line Line, m *wire.Message) {
	params, _ := m.ParamMembers()
	line.Kind = lineNotification
	switch m.Method {
	case "notifications/progress":
		l.addProgress(line, params)
		return
	case "notifications/cancelled":
		line.Kind = lineCancelled
		line.Text = cancelWords(l.row)
		line.Level = levelWarning
	case "notifications/message":
		data, _ := params.Get("data")
		level := params.Text("level")
		line.Kind = lineLog
		line.Text = cutText(term.LogText(data), maxLong)
		if logger := params.Text("logger"); logger != "" {
			line.Text = cutText(logger, maxShort) + ": " + line.Text
		}
		if level != "" {
			line.Text = "[" + cutText(level, 40) + "] " + line.Text
		}
		line.Level = levels[level]
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		line.Text = strings.TrimPrefix(m.Method, "notifications/")
		if list := strings.TrimSuffix(line.Text, "_changed"); !listFollows(l.row, list, line.Time) {
			line.Text = line.Text + ": no " + list + " followed"
			line.Level = levelWarning
		}
	default:
		line.Text = strings.TrimPrefix(cutText(m.Method, maxShort), "notifications/")
		if uri := params.Text("uri"); uri != "" {
			line.Text += " " + cutText(uri, maxShort)
		}
	}
	l.add(line)
}

// levels maps the levels of log messages to the level of a Line.
var levels = map[string]string{
	"warning":   levelWarning,
	"error":     levelError,
	"critical":  levelError,
	"alert":     levelError,
	"emergency": levelError,
}

// addProgress combines all progress notifications in one line at the place of the last one, with
// their number.
func (l *liner) addProgress(line Line, params jsonraw.Members) {
	line.Kind = lineProgress
	line.Times = 1
	line.Text = cutText(string(params.Value("progress")), 40)
	if total := params.Value("total"); total != nil {
		line.Text += "/" + cutText(string(total), 40)
	}
	if message := params.Text("message"); message != "" {
		line.Text += ` "` + cutText(message, maxShort) + `"`
	}
	if l.progress >= 0 {
		line.Times += l.lines[l.progress].Times
		l.lines = slices.Delete(l.lines, l.progress, l.progress+1)
	}
	l.progress = len(l.lines)
	l.lines = append(l.lines, line)
}

// listFollows reports whether the client of a row requested a list after a time. It looks at all
// conversations of the client, because each stateless request may be a separate conversation.
func listFollows(r *rows.Row, method string, after time.Time) bool {
	for _, other := range r.Capture().Rows() {
		sameClient := other.Target == r.Target && other.ClientName() == r.ClientName()
		if sameClient && other.Method == method && other.Dir == wire.Sent && other.Time.After(after) {
			return true
		}
	}
	return false
}

// cancelWords says which side cancelled a request, when and why, and whether a response was
// received anyway.
func cancelWords(r *rows.Row) string {
	c := r.Cancel
	if c == nil {
		return "cancelled"
	}
	text := "cancelled by the " + c.Side() + " after " + term.Duration(c.After)
	if c.Why != "" {
		text += ": " + cutText(c.Why, maxLong)
	}
	if c.IsLate {
		text += "; the answer came too late"
	}
	return text
}

// addFault adds the line of a fault rule that affected a message.
func (l *liner) addFault(f wire.Frame) {
	line := Line{Time: f.Time, Kind: lineRemark, Level: levelWarning, Text: "a fault rule took effect"}
	if f.Fault != nil {
		line.Text = "fault: " + cutText(f.Fault.Action, maxShort)
		if f.Fault.Text != "" {
			line.Text += ": " + cutText(f.Fault.Text, maxShort)
		}
	}
	l.add(line)
}

// rowResponse describes the response of a row. It marks the error that an older server returns to a
// probe as expected.
func rowResponse(r *rows.Row, f wire.Frame) string {
	text := responseWords(r.Method, f)
	if r.Channel == exchange.ChannelProbe && wire.ParseMessage(f.Raw).Error != nil {
		return "probe, the server is older: " + text
	}
	return text
}

// wrongText returns a text about the error of an invalid response, with the first finding, or "" if
// the outcome is not an invalid response.
func wrongText(r *rows.Row) string {
	if r.Channel != string(wire.BadResponse) && r.Channel != string(wire.OutputInvalid) {
		return ""
	}
	text := ", " + strings.ReplaceAll(r.Channel, "_", " ")
	for _, f := range r.Findings {
		return text + ": " + cutText(failure.Finding(term.Style{}, f), maxShort)
	}
	return text
}

// addOutcome adds the outcome of a row without a response, unless a line has it.
func (l *liner) addOutcome(waits bool) {
	r := l.row
	cancelShown := slices.ContainsFunc(l.lines, func(x Line) bool { return x.Kind == lineCancelled })
	line := Line{Time: r.LastFrameTime(), Kind: lineRemark, Level: levelError}
	switch {
	case r.Cancel != nil && !cancelShown:
		line.Kind = lineCancelled
		line.Level = levelWarning
		line.Time = r.Time.Add(r.Cancel.After)
		line.Text = cancelWords(r)
	// A line has the outcome, or there is no outcome yet.
	case l.exchange.Response.Raw != nil || r.IsSeparate || waits || r.Cancel != nil:
		return
	case r.IsOpen():
		line.Level = levelWarning
		line.Text = "no answer was recorded"
	case l.markCut(r.Text):
		return // the line of the cut shows the error
	default:
		line.Text = strings.ReplaceAll(r.Channel, "_", " ")
		if r.Text != "" {
			line.Text += ": " + cutText(r.Text, maxLong)
		}
	}
	l.add(line)
}

// markCut gives the line of the cut that caused an error the level error. It reports whether such a
// line exists. It compares the texts because recordings do not say which cut ended a request. The
// error may be the end of the cause, as a command omits what it was doing.
func (l *liner) markCut(err string) bool {
	if err == "" {
		return false
	}
	for i := range l.lines {
		line := &l.lines[i]
		if line.cause == err || strings.HasSuffix(line.cause, ": "+err) {
			line.Level = levelError
			return true
		}
	}
	return false
}

// readExchange reads the exchange of a row, which is never nil. It has no frames if nothing was
// recorded. If the row has more than limit bytes, the error is a *largeError.
func readExchange(r *rows.Row, limit int64) (*wire.Exchange, error) {
	if r.Size() > limit {
		return &wire.Exchange{}, &largeError{r.Size()}
	}
	x, err := r.Exchange()
	if x == nil {
		x = &wire.Exchange{}
	}
	return x, err
}

// A largeError is returned for an exchange that is too large to be read as a whole.
type largeError struct{ Bytes int64 }

func (e *largeError) Error() string {
	return "the messages have " + term.Size(e.Bytes) + " together, too many to be shown here"
}

// maxBytes is the largest size in bytes of an exchange that is read, unless a smaller limit
// applies.
const maxBytes = 64 << 20

// outcomeWords describes the response of a row in a few words, or its outcome without one.
func outcomeWords(r *rows.Row) string {
	if x, err := readExchange(r, maxBytes); err == nil && x.Response.Raw != nil {
		return rowResponse(r, x.Response)
	}
	if r.Text != "" {
		return r.Text
	}
	return strings.ReplaceAll(r.Channel, "_", " ")
}

// requestText describes a request of either side in a few words.
func requestText(f wire.Frame) string {
	m := wire.ParseMessage(f.Raw)
	if f.Dir == wire.Received {
		return questionText(m.Method, m.Params)
	}
	return requestWords(m)
}

// editedRequest returns the request of an exchange as it was before a user edited it, and as it was
// sent. Raw is nil in both if no user edited it.
func editedRequest(x *wire.Exchange) (was, sent wire.Frame) {
	id := wire.ParseMessage(x.Request.Raw).ID
	for _, f := range x.NonMessages {
		h := f.Held
		edited := h != nil && h.How == "edited" && h.Kind == "request" && h.ID == string(id)
		if !edited || f.Dir != x.Request.Dir || f.Raw == nil {
			continue
		}
		// x.Request is the message that mcpc received: of the client before the edit, of the server
		// after it.
		if f.Dir == wire.Received {
			return f, x.Request
		}
		return x.Request, f
	}
	return was, sent
}

// addHeld adds the line of a held message. The frame of the end of the hold, which has the outcome,
// replaces the line of its beginning.
func (l *liner) addHeld(f wire.Frame) {
	line := Line{Dir: f.Dir.String(), Time: f.Time, Kind: lineHeld, Text: "held"}
	if h := f.Held; h != nil && h.Milliseconds > 0 {
		n := len(l.lines)
		if n > 0 && l.lines[n-1].Kind == lineHeld && l.lines[n-1].Text == line.Text {
			l.lines = l.lines[:n-1] // the line for the beginning of the hold
		}
		held := time.Duration(h.Milliseconds) * time.Millisecond
		line.Text = "held for " + term.Duration(held) + ", then " + cutText(h.How, 40)
		if h.Why != "" {
			line.Text += ": " + cutText(h.Why, maxShort)
		}
		if h.How != "released" {
			line.Level = levelWarning
		}
	}
	l.add(line)
}
