package view

import (
	"bytes"
	"cmp"
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

// A Line is one arrow between a client and a server, or a remark.
type Line struct {
	// Dir is "sent" for an arrow to the server, "received" for one to the client, "" for a remark.
	Dir  string    `json:"dir"`
	Time time.Time `json:"time"`
	// Kind is "request", "response", "progress", "log", "question", "answer", "notification",
	// "round", "cut", "resumed", "cancelled", "held" or "remark".
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Level string `json:"level,omitempty"` // "", "warning", "error"
	// Times is how many such lines this one stands for, 1 or more.
	Times int `json:"times,omitempty"`
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

// mostLines is how many lines a Block has.
const mostLines = 200

// mostLine is how many characters a line has.
const mostLine = 1000

// A liner writes the lines of an exchange.
type liner struct {
	r     *rows.Row
	x     *wire.Exchange
	lines []Line
	// progress is the index of the line of all progress notifications, -1 where there is none.
	progress int
	rounds   int
	asked    map[string]time.Time
	story    *story
}

// linesOf are the lines of an exchange in the order in which its frames crossed. waits is set
// where an answer may still come.
func linesOf(r *rows.Row, x *wire.Exchange, waits bool) []Line {
	l := &liner{r: r, x: x, progress: -1, asked: map[string]time.Time{}, story: storyOf(x)}
	for _, f := range inOrder(x) {
		switch {
		case f.Kind == wire.Head || f.Kind == wire.Closed:
			l.stream(f)
		case f.Kind == wire.Stderr:
		case f.Kind == wire.Fault:
			l.fault(f)
		case f.Kind == wire.Held:
			l.held(f)
		case f.Kind == wire.Noise:
			l.add(
				Line{
					Time:  f.Time,
					Kind:  lineRemark,
					Level: levelWarning,
					Text:  "not JSON-RPC: " + cutText(string(f.Raw[:min(len(f.Raw), 4*mostShort)]), mostShort),
				},
			)
		case len(bytes.TrimSpace(f.Raw)) == 0: // an event that only has an id
		default:
			l.message(f)
		}
	}
	l.ending(waits)
	if more := len(l.lines) - mostLines; more > 0 {
		remark := Line{Kind: lineRemark, Time: l.lines[mostLines/2].Time, Text: "more lines are left out", Times: more}
		l.lines = slices.Concat(l.lines[:mostLines/2], []Line{remark}, l.lines[len(l.lines)-mostLines/2:])
	}
	return l.lines
}

// inOrder are the frames of an exchange that a reader wants to see, as they crossed.
func inOrder(x *wire.Exchange) []wire.Frame {
	all := slices.Concat([]wire.Frame{x.Request}, x.Between, x.Beside, []wire.Frame{x.Response})
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

func (l *liner) add(line Line) {
	line.Text = shortened(line.Text, mostLine)
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

// message writes the line of a message.
func (l *liner) message(f wire.Frame) {
	m := wire.ParseMessage(f.Raw)
	line := Line{Dir: f.Dir.String(), Time: f.Time}
	own := f.Dir == l.x.Request.Dir
	reply := m.Traits().Reply
	switch {
	case f.Seq == l.x.Request.Seq && l.x.Request.Raw != nil:
		line.Kind, line.Text = lineRequest, requestText(f)
		if was, sent := editedRequest(l.x); was.Raw != nil {
			line.Text = requestText(was) + ", edited and sent as: " + requestText(sent)
		}
	case f.Seq == l.x.Response.Seq && l.x.Response.Raw != nil:
		line.Kind, line.Text = lineResponse, rowResponse(l.r, f)
		if l.r.Failed() {
			line.Level = levelError
			line.Text += wrongText(l.r)
		}
	case m.Kind == wire.Notification:
		l.notification(line, m)
		return
	case m.Kind == wire.Request && own:
		l.again(&line, m)
	case m.Kind == wire.Request:
		line.Kind, line.Text = lineQuestion, "asks: "+questionText(m.Method, m.Params)
		l.asked[m.Traits().ID] = f.Time
	case reply && own:
		l.answer(&line, m, f)
	case reply && m.Traits().More:
		l.rounds++
		line.Kind, line.Text = lineRound, responseWords(l.r.Method, f)
		l.asked[""] = f.Time
	case reply:
		line.Kind, line.Level, line.Text = lineRemark, levelWarning, "a second answer: "+responseWords(l.r.Method, f)
	default:
		line.Kind, line.Level, line.Text = lineRemark, levelWarning, m.Kind.String()+": "+cutText(
			string(f.Raw[:min(len(f.Raw), 4*mostShort)]),
			mostShort,
		)
	}
	if l.x.Guessed(f) {
		line.Text += " (perhaps of another request)"
	}
	l.add(line)
}

// again writes a request that was sent once more: of the next round, or as it was.
func (l *liner) again(line *Line, m *wire.Message) {
	since, asked := l.asked[""]
	if !asked {
		line.Kind = lineRemark
		line.Text = "sent again"
		return
	}
	delete(l.asked, "")
	line.Kind = lineRound
	line.Text = "answered"
	params, _ := m.ParamMembers()
	if responses := params.Value("inputResponses"); responses != nil {
		line.Text += " " + cutJSON(responses, mostShort)
	}
	line.Text += " after " + term.Duration(line.Time.Sub(since))
}

// answer writes an answer to what the server asked.
func (l *liner) answer(line *Line, m *wire.Message, f wire.Frame) {
	line.Kind = lineAnswer
	who := "the client"
	if f.Dir == wire.Received {
		who = "the server"
	}
	line.Text = "answered by " + who
	if since, ok := l.asked[m.Traits().ID]; ok {
		line.Text += " after " + term.Duration(f.Time.Sub(since))
		delete(l.asked, m.Traits().ID)
	}
	if m.Error != nil {
		line.Text = line.Text + ": " + responseWords("", f)
		line.Level = levelWarning
	} else {
		result, _ := m.ResultMembers()
		text := result.Text("action")
		if content := result.Value("content"); content != nil {
			text = strings.TrimSpace(text + " " + cutJSON(content, mostShort))
		}
		if text == "" {
			text = cutJSON(m.Result, mostShort)
		}
		line.Text += ": " + text
	}
}

// notification writes what one side told the other.
func (l *liner) notification(line Line, m *wire.Message) {
	params, _ := m.ParamMembers()
	line.Kind = lineNotification
	switch m.Method {
	case "notifications/progress":
		l.progressed(line, params)
		return
	case "notifications/cancelled":
		line.Kind, line.Text, line.Level = lineCancelled, cancelWords(l.r), levelWarning
	case "notifications/message":
		data, _ := params.Get("data")
		level := params.Text("level")
		line.Kind, line.Text = lineLog, cutText(term.LogText(data), mostLong)
		if logger := params.Text("logger"); logger != "" {
			line.Text = cutText(logger, mostShort) + ": " + line.Text
		}
		if level != "" {
			line.Text = "[" + cutText(level, 40) + "] " + line.Text
		}
		line.Level = levels[level]
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		line.Text = strings.TrimPrefix(m.Method, "notifications/")
		if list := strings.TrimSuffix(line.Text, "_changed"); !listFollows(l.r, list, line.Time) {
			line.Text = line.Text + ": no " + list + " followed"
			line.Level = levelWarning
		}
	default:
		line.Text = strings.TrimPrefix(cutText(m.Method, mostShort), "notifications/")
		if uri := params.Text("uri"); uri != "" {
			line.Text += " " + cutText(uri, mostShort)
		}
	}
	l.add(line)
}

// levels are those of a Line for the levels of log messages.
var levels = map[string]string{
	"warning":   levelWarning,
	"error":     levelError,
	"critical":  levelError,
	"alert":     levelError,
	"emergency": levelError,
}

// progressed writes all progress as one line, where the last came.
func (l *liner) progressed(line Line, params jsonraw.Members) {
	line.Kind = lineProgress
	line.Times = 1
	line.Text = cutText(string(params.Value("progress")), 40)
	if phaseTotals := params.Value("total"); phaseTotals != nil {
		line.Text += "/" + cutText(string(phaseTotals), 40)
	}
	if message := params.Text("message"); message != "" {
		line.Text += ` "` + cutText(message, mostShort) + `"`
	}
	if l.progress >= 0 {
		line.Times += l.lines[l.progress].Times
		l.lines = slices.Delete(l.lines, l.progress, l.progress+1)
	}
	l.progress = len(l.lines)
	l.lines = append(l.lines, line)
}

// listFollows reports a request for a list by the client of a row after a time. Where requests
// stand alone it is of another conversation.
func listFollows(r *rows.Row, method string, after time.Time) bool {
	for _, other := range r.Capture().Rows() {
		if other.Method == method && other.Dir == wire.Sent && other.Target == r.Target &&
			other.ClientName() == r.ClientName() &&
			other.Time.After(after) {
			return true
		}
	}
	return false
}

// cancelWords says which side cancelled a request, why, when, and whether an answer came after all.
func cancelWords(r *rows.Row) string {
	c := r.Cancel
	if c == nil {
		return "cancelled"
	}
	text := "cancelled by the " + c.Who() + " after " + term.Duration(c.After)
	if c.Why != "" {
		text += ": " + cutText(c.Why, mostLong)
	}
	if c.Late {
		text += "; the answer came too late"
	}
	return text
}

// fault writes what a fault rule did to a message.
func (l *liner) fault(f wire.Frame) {
	line := Line{Time: f.Time, Kind: lineRemark, Level: levelWarning, Text: "a fault rule took effect"}
	if f.Fault != nil {
		line.Text = "fault: " + cutText(f.Fault.Action, mostShort)
		if f.Fault.Text != "" {
			line.Text += ": " + cutText(f.Fault.Text, mostShort)
		}
	}
	l.add(line)
}

// rowResponse is Response for a row; an error that a probe expects of an older server is called that.
func rowResponse(r *rows.Row, f wire.Frame) string {
	text := responseWords(r.Method, f)
	if r.Channel == exchange.ChannelProbe && strings.HasPrefix(text, "error ") {
		return "probe, the server is older: " + text
	}
	return text
}

// wrongText says what is wrong with an answer that is none.
func wrongText(r *rows.Row) string {
	if r.Channel != string(wire.BadResponse) && r.Channel != string(wire.OutputInvalid) {
		return ""
	}
	text := ", " + strings.ReplaceAll(r.Channel, "_", " ")
	for _, f := range r.Findings {
		return text + ": " + cutText(failure.Finding(term.Style{}, f), mostShort)
	}
	return text
}

// ending writes how a row without an answer ended.
func (l *liner) ending(waits bool) {
	r := l.r
	said := func(kind string) bool {
		return slices.ContainsFunc(l.lines, func(x Line) bool { return x.Kind == kind })
	}
	line := Line{Time: r.LastFrame(), Kind: lineRemark, Level: levelError}
	switch {
	case r.Cancel != nil && !said(lineCancelled):
		line.Kind, line.Level, line.Time, line.Text = lineCancelled, levelWarning, r.Time.Add(r.Cancel.After), cancelWords(r)
	case l.x.Response.Raw != nil || r.Apart || waits || r.Cancel != nil:
		return
	case r.Open():
		line.Level = levelWarning
		line.Text = "no answer was recorded"
	case l.cutFor(r.Text):
		return // a line says it
	default:
		line.Text = strings.ReplaceAll(r.Channel, "_", " ")
		if r.Text != "" {
			line.Text += ": " + cutText(r.Text, mostLong)
		}
	}
	l.add(line)
}

// cutFor makes an error of the line of a cut that has a text, and reports whether there is one.
func (l *liner) cutFor(text string) bool {
	for i := range l.lines {
		if line := &l.lines[i]; line.Kind == lineCut && text != "" &&
			strings.HasSuffix(line.Text, ": "+cutText(text, mostShort)) {
			line.Level = levelError
			return true
		}
	}
	return false
}

// readExchange reads the exchange of a row; one without frames where nothing crossed. One with more
// than most bytes is *LargeError.
func readExchange(r *rows.Row, most int64) (*wire.Exchange, error) {
	if r.Size() > most {
		return &wire.Exchange{}, &largeError{r.Size()}
	}
	x, err := r.Exchange()
	if x == nil {
		x = &wire.Exchange{}
	}
	return x, err
}

// A largeError is that of an exchange which is not read as a whole.
type largeError struct{ Bytes int64 }

func (e *largeError) Error() string {
	return "the messages have " + term.Size(e.Bytes) + " together, too many to be shown here"
}

// mostBytes is how many bytes of one exchange are read where there is no narrower limit.
const mostBytes = 64 << 20

// outcomeWords is the answer of a row in a few words, or how else it ended.
func outcomeWords(r *rows.Row) string {
	if x, err := readExchange(r, mostBytes); err == nil && x.Response.Raw != nil {
		return rowResponse(r, x.Response)
	}
	return cmp.Or(r.Text, strings.ReplaceAll(r.Channel, "_", " "))
}

// requestText is a request of either side in a few words.
func requestText(f wire.Frame) string {
	m := wire.ParseMessage(f.Raw)
	if f.Dir == wire.Received {
		return questionText(m.Method, m.Params)
	}
	return requestWords(m)
}

// editedRequest are the request of an exchange that a user edited and what was sent in its place; their
// Raw is nil where no user did. The capture has what the side said that sent it, and beside it what
// passed; of a request of the server it is the other way round.
func editedRequest(x *wire.Exchange) (was, sent wire.Frame) {
	id := wire.ParseMessage(x.Request.Raw).ID
	for _, f := range x.Beside {
		if h := f.Held; h == nil || h.How != "edited" || h.Kind != "request" || f.Dir != x.Request.Dir ||
			h.ID != string(id) ||
			f.Raw == nil {
			continue
		}
		if f.Dir == wire.Received {
			return f, x.Request
		}
		return x.Request, f
	}
	return was, sent
}

// held writes that a message is held, and what became of it.
func (l *liner) held(f wire.Frame) {
	line := Line{Dir: f.Dir.String(), Time: f.Time, Kind: lineHeld, Text: "held"}
	if h := f.Held; h != nil && h.Milliseconds > 0 {
		n := len(l.lines)
		if n > 0 && l.lines[n-1].Kind == lineHeld && l.lines[n-1].Text == line.Text {
			l.lines = l.lines[:n-1] // that it began to be
		}
		line.Text = "held for " + term.Duration(
			time.Duration(h.Milliseconds)*time.Millisecond,
		) + ", then " + cutText(
			h.How,
			40,
		)
		if h.Why != "" {
			line.Text += ": " + cutText(h.Why, mostShort)
		}
		if h.How != "released" {
			line.Level = levelWarning
		}
	}
	l.add(line)
}
