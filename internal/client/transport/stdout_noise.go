package transport

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// RuleStdoutNoise is the rule of a finding about text on a server's stdout that is not a message.
const RuleStdoutNoise = "stdout_noise"

// maxNoise is how many lines that are not messages a server may write before mcpc decides that it
// does not speak MCP.
const maxNoise = 1000

// The summaries of several lines that are not one message each.
const (
	NoiseSummary = "non-JSON-RPC lines on the server's stdout, ignored"
	TextSummary  = "lines on the server's stdout have text next to the response; the text was ignored"
	GluedSummary = "lines on the server's stdout have several messages"
)

const (
	byteOrderMarkText    = "a line on the server's stdout begins with a byte order mark, which JSON does not allow"
	byteOrderMarkSummary = "lines on the server's stdout begin with a byte order mark"
)

// stdoutNoise is the state of the lines on a server's stdout that are not messages: a banner, a log,
// or a message in several lines.
type stdoutNoise struct {
	lines     int
	multiline *multilineJSON
	frame     lengthFrame
}

// A lengthFrame is the header of a message as language servers write it: fields such as
// Content-Length, then an empty line. The message follows without a line end.
type lengthFrame struct {
	// length is the number of bytes of the message, 0 outside a header.
	length int
	// isComplete is set after the empty line.
	isComplete bool
}

// add adds a line without its line end. Any line that does not continue a header ends it.
func (h *lengthFrame) add(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case isLengthHeader(line):
		length, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil { // too large for an int
			length = 0
		}
		*h = lengthFrame{length: length}
	case h.length > 0 && !h.isComplete && len(bytes.TrimSpace(line)) == 0:
		h.isComplete = true
	case h.isComplete || !bytes.EqualFold(field, []byte("Content-Type")): // the only other field
		*h = lengthFrame{}
	}
}

// framedMessage returns the fault if the server frames its messages with Content-Length: the bytes
// after the header are exactly one message without a line end. Otherwise it returns nil. after is
// the number of bytes after the header. Only readAll may call it.
func (p *Pipe) framedMessage(after int) *Fault {
	size, begin := p.tail.pending()
	isWhole := size == after && size == p.noise.frame.length
	if !p.noise.frame.isComplete || !isWhole || !looksLikeMessage(begin) {
		return nil
	}
	return &Fault{
		Kind: wire.BadResponse, Phase: "read", raw: begin,
		Text: "the server frames its messages with Content-Length, as language servers do, " +
			"and MCP has one message per line",
		Hint: "check that it is an MCP server and not a language server; some servers have an option for the framing",
	}
}

// readBytes is a writer that sees the bytes of a pipe before they are split into lines. A framed message
// has no line end, so that the reader of lines would wait for one forever.
type readBytes struct{ p *Pipe }

// Write returns a *Fault if the server does not speak MCP.
func (r readBytes) Write(b []byte) (int, error) {
	n, _ := r.p.tail.Write(b) // never fails
	if !r.p.noise.frame.isComplete || bytes.IndexByte(b, '\n') >= 0 {
		return n, nil
	}
	size, _ := r.p.tail.pending() // all bytes after the last line end, which ended the header
	if f := r.p.framedMessage(size); f != nil {
		return n, f
	}
	return n, nil
}

// handleNonMessage reports a line that is not a message. Servers print banners to their standard
// output, which is no reason to stop. It returns a fault if the server does not seem to speak MCP at
// all.
func (p *Pipe) handleNonMessage(m *wire.Message) *Fault {
	line := m.Raw
	why := describeNonMessage(m)
	p.noteNoise(line)
	p.inbox.Repeated(wire.Finding{Rule: RuleStdoutNoise, Severity: wire.Warning, Text: fmt.Sprintf(
		"non-JSON-RPC line on the server's stdout%s, ignored: %q",
		why, jsonraw.Excerpt(line, maxShown))}, NoiseSummary)
	if looksLikeMessage(line) || isLengthHeader(line) {
		p.inbox.Diagnose(Diagnostic{
			"in the meantime a non-JSON-RPC line was received" + why,
			"if that line was the response, no other will follow; " + wire.Verbose(3, "its bytes"),
		})
	}
	bad := func(text string) *Fault { return &Fault{Kind: wire.BadResponse, Phase: "read", raw: line, Text: text} }
	p.noise.lines++
	if p.noise.lines > maxNoise {
		return bad(fmt.Sprintf("the server wrote more than %d non-JSON-RPC lines", maxNoise))
	}
	if isUTF16(line) && bytes.ContainsAny(line[:4], "{[") { // not a banner, but a message
		return bad("the server writes UTF-16 instead of UTF-8")
	}
	if whole := p.noise.addLine(line, p.maxSize); whole != nil {
		p.failMultiline(whole)
	}
	return nil
}

// reportParts reports a line that has several messages, or text beside a message.
func (p *Pipe) reportParts(parts []LinePart) {
	i := slices.IndexFunc(parts, func(part LinePart) bool { return part.Message == nil })
	if i < 0 {
		p.inbox.Repeated(wire.Finding{Rule: RuleStdoutNoise, Severity: wire.Warning, Text: fmt.Sprintf(
			"%d messages on one line of the server's stdout; a server must end each with a newline", len(parts))}, GluedSummary)
		return
	}
	where := "before"
	if i > 0 {
		where = "after"
	}
	text := fmt.Sprintf("text %s the response on its line of the server's stdout, ignored: %q",
		where, jsonraw.Excerpt(parts[i].Raw, maxShown))
	p.inbox.Repeated(wire.Finding{Rule: RuleStdoutNoise, Severity: wire.Warning, Text: text}, TextSummary)
}

// addLine adds a line to a JSON value that may extend over several lines. It returns the value with
// its last line, else nil. It forgets a value that is over the limit or that turns out to be text.
func (n *stdoutNoise) addLine(line []byte, limit MaxSize) *multilineJSON {
	value := n.multiline
	if value == nil {
		if c := bytes.TrimSpace(line)[0]; c != '{' && c != '[' {
			return nil
		}
		value = &multilineJSON{}
	} else {
		value.add('\n')
	}
	n.multiline = nil
	for i, c := range line {
		value.add(c)
		if value.depth == 0 && len(bytes.TrimSpace(line[i+1:])) > 0 {
			return nil // text follows the last bracket, as in "[info] ready"
		}
	}
	if value.depth == 0 && value.lines > 0 { // a value in one line is no response either
		return value
	}
	if value.depth > 0 && !limit.isExceededBy(len(value.raw)) {
		value.lines++
		n.multiline = value
	}
	return nil
}

// A multilineJSON is a JSON value over several lines, or what looks like one. A line end within a
// string is not valid JSON.
type multilineJSON struct {
	raw []byte
	// mended is raw with the line ends in strings escaped.
	mended []byte
	// lines counts the lines before the last.
	lines int
	bracketDepth
}

// add adds a byte.
func (s *multilineJSON) add(c byte) {
	s.raw = append(s.raw, c)
	if s.inText && c == '\n' {
		s.mended = append(s.mended, `\n`...)
		return
	}
	s.mended = append(s.mended, c)
	s.bracketDepth.add(c)
}

// A bracketDepth counts the open brackets of what looks like JSON.
type bracketDepth struct {
	depth           int
	inText, escaped bool
}

// add counts a byte; brackets in strings do not count.
func (d *bracketDepth) add(c byte) {
	switch {
	case d.escaped:
		d.escaped = false
	case d.inText:
		d.escaped = c == '\\'
		d.inText = c != '"'
	case c == '"':
		d.inText = true
	case c == '{' || c == '[':
		d.depth++
	case c == '}' || c == ']':
		d.depth--
	}
}

// failMultiline fails the request whose response has several lines: the specification requires one
// message per line, and no better response will arrive.
func (p *Pipe) failMultiline(s *multilineJSON) {
	m := wire.ParseMessage(s.mended)
	if m.Kind == wire.Invalid && !p.isIrregularResponse(m) {
		return
	}
	if w := p.waiterFor(m); w != nil {
		text := fmt.Sprintf("the response has %d lines, but a server must write one message per line", s.lines+1)
		w.answer <- Failed(badResponseFault(text, s.raw))
	}
}

// HasByteOrderMark reports whether a line begins with a UTF-8 byte order mark.
func HasByteOrderMark(line []byte) bool { return bytes.HasPrefix(line, []byte("\xEF\xBB\xBF")) }

// isUTF16 reports whether a line looks like UTF-16: it has a byte order mark, or every second byte
// is NUL.
func isUTF16(line []byte) bool {
	if len(line) < 4 {
		return false
	}
	if bytes.HasPrefix(line, []byte("\xFF\xFE")) || bytes.HasPrefix(line, []byte("\xFE\xFF")) {
		return true
	}
	// The beginning is enough. Bytes at even positions must be alike, and those at odd ones.
	for i, c := range line[:min(len(line), 64)&^1] {
		if (c == 0) != (line[i%2] == 0) {
			return false
		}
	}
	return (line[0] == 0) != (line[1] == 0)
}

// isLengthHeader reports whether a line is the Content-Length field that begins a message of the
// Language Server Protocol.
func isLengthHeader(line []byte) bool {
	name, length, found := bytes.Cut(line, []byte(":"))
	length = bytes.TrimSpace(length)
	return found && bytes.EqualFold(name, []byte("Content-Length")) &&
		len(length) > 0 && len(bytes.Trim(length, "0123456789")) == 0
}

// looksLikeMessage reports whether a line that is not a message may have been meant as one.
func looksLikeMessage(line []byte) bool {
	text := bytes.TrimSpace(line)
	begins := bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[{"))
	return bytes.Contains(line, []byte("jsonrpc")) || begins && !isJSON(line)
}

// describeNonMessage returns in parentheses what a line that is not a message looks like, or "".
func describeNonMessage(m *wire.Message) string {
	line := m.Raw
	switch {
	case isUTF16(line):
		return " (it looks like UTF-16 instead of UTF-8)"
	case HasByteOrderMark(line):
		return " (it begins with a byte order mark)"
	case isLengthHeader(line):
		return " (the server frames its messages with Content-Length, as language servers do, " +
			"and MCP has one message per line)"
	case isJSON(line):
		return " (it is JSON, but not JSON-RPC)"
	case looksLikeMessage(line):
		return " (" + m.Problem() + ")"
	}
	return ""
}

// maxShown is how many bytes of a line that is not a message are shown.
const maxShown = 80

// A partialLine is the output after the last line end. It is not a message until a line end arrives
// or the stream ends.
type partialLine struct {
	mu    sync.Mutex
	size  int
	start []byte
}

// Write adds bytes. It never fails.
func (u *partialLine) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	rest := b
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		rest = b[i+1:]
		u.size = 0
		u.start = u.start[:0]
	}
	u.size += len(rest)
	u.start = append(u.start, rest[:min(len(rest), maxShown-len(u.start))]...)
	return len(b), nil
}

// pending returns the number of bytes after the last line end, and the first maxShown of them.
func (u *partialLine) pending() (int, []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.size, bytes.Clone(u.start)
}

// Pending describes the output that still lacks its line end, for a request without a response. It
// returns the zero value if the output ends with a complete line.
func (p *Pipe) Pending() Diagnostic {
	u := &p.tail
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(bytes.TrimSpace(u.start)) == 0 {
		return Diagnostic{}
	}
	m := Diagnostic{Text: fmt.Sprintf("%d bytes without a line end: %q", u.size, u.start)}
	if u.size > len(u.start) {
		m.Text = fmt.Sprintf("%d bytes without a line end, beginning with %q", u.size, u.start)
	}
	if looksLikeMessage(u.start) {
		m.Hint = "over stdio the server must end each message with a newline"
	}
	return m
}
