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

// maxNoise is how many lines that are no messages a server may write before
// mcpc stops believing that it speaks MCP at all.
const maxNoise = 1000

// The summaries of several lines that are not one message each.
const (
	NoiseSummary = "non-JSON-RPC lines on the server's stdout, ignored"
	TextSummary  = "lines on the server's stdout have text beside the response; the text was ignored"
	GluedSummary = "lines on the server's stdout have several messages"
)

const (
	byteOrderMarkText    = "a line on the server's stdout begins with a byte order mark, which JSON does not allow"
	byteOrderMarkSummary = "lines on the server's stdout begin with a byte order mark"
)

// stdoutNoise is what stands on a server's standard output and is not a message: a
// banner, a log, or a message in several lines.
type stdoutNoise struct {
	lines     int
	multiline *multilineJSON
	frame     lengthFrame
}

// A lengthFrame is the header of a message as language servers write it: fields, one of them Content-Length, then an
// empty line. The message follows, without a line end.
type lengthFrame struct {
	// length is the number of bytes of the message, 0 outside a header.
	length int
	// isComplete is set after the empty line.
	isComplete bool
}

// add adds a line without its end.
func (h *lengthFrame) add(line []byte) {
	switch field, value, _ := bytes.Cut(line, []byte(":")); {
	case isLengthHeader(line):
		length, err := strconv.Atoi(string(bytes.TrimSpace(value)))
		if err != nil {
			length = 0
		}
		*h = lengthFrame{length: length}
	case h.length > 0 && !h.isComplete && len(bytes.TrimSpace(line)) == 0:
		h.isComplete = true
	case h.isComplete || !bytes.EqualFold(field, []byte("Content-Type")):
		*h = lengthFrame{}
	}
}

// framedMessage returns the fault of a server that frames its messages with Content-Length: exactly the bytes of one
// have been read after the header, and no line end. Returns nil for any other server. after is the number of bytes
// after the header. Only readAll may call it.
func (p *Pipe) framedMessage(after int) *Fault {
	size, begin := p.tail.pending()
	if !p.noise.frame.isComplete || size != after || size != p.noise.frame.length || !isMeant(begin) {
		return nil
	}
	return &Fault{Kind: wire.BadResponse, Phase: "read", raw: begin,
		Text: "the server frames its messages with Content-Length, as language servers do, and MCP has one message per line",
		Hint: "check that it is an MCP server and no language server; some have an option for the framing"}
}

// readBytes sees the bytes of a pipe as they are read, before its lines.
type readBytes struct{ p *Pipe }

// Write fails with a *Fault if the server does not speak MCP.
func (r readBytes) Write(b []byte) (int, error) {
	n, _ := r.p.tail.Write(b) // never fails
	if !r.p.noise.frame.isComplete || bytes.IndexByte(b, '\n') >= 0 {
		return n, nil
	}
	size, _ := r.p.tail.pending()
	if f := r.p.framedMessage(size); f != nil {
		return n, f
	}
	return n, nil
}

// handleNonMessage looks at a line that is not a message. Servers print banners to their
// standard output, which is their fault and no reason to stop.
func (p *Pipe) handleNonMessage(m *wire.Message) *Fault {
	line := m.Raw
	why := strangeness(m)
	p.ignore(line)
	p.inbox.Repeated(wire.Finding{Rule: RuleStdoutNoise, Level: wire.Warning, Text: fmt.Sprintf(
		"non-JSON-RPC line on the server's stdout%s, ignored: %q",
		why, jsonraw.Excerpt(line, maxShown))}, NoiseSummary)
	if isMeant(line) || isLengthHeader(line) {
		p.inbox.Diagnose(Diagnostic{"in the meantime a non-JSON-RPC line was received" + why,
			"if that line was the response, no other will follow; -vvv shows its bytes"})
	}
	bad := func(text string) *Fault { return &Fault{Kind: wire.BadResponse, Phase: "read", raw: line, Text: text} }
	p.noise.lines++
	if p.noise.lines > maxNoise {
		return bad(fmt.Sprintf("the server wrote more than %d non-JSON-RPC lines", maxNoise))
	}
	if isUTF16(line) && bytes.ContainsAny(line[:4], "{[") {
		return bad("the server writes UTF-16 instead of UTF-8")
	}
	if whole := p.noise.gather(line, p.maxSize); whole != nil {
		p.failMultiline(whole)
	}
	return nil
}

// reportParts reports a line that has messages and something else.
func (p *Pipe) reportParts(parts []LinePart) {
	i := slices.IndexFunc(parts, func(part LinePart) bool { return part.Message == nil })
	if i < 0 {
		p.inbox.Repeated(wire.Finding{Rule: RuleStdoutNoise, Level: wire.Warning, Text: fmt.Sprintf(
			"%d messages on one line of the server's stdout; a server must end each with a newline", len(parts))}, GluedSummary)
		return
	}
	where := "before"
	if i > 0 {
		where = "after"
	}
	text := fmt.Sprintf("text %s the response on its line of the server's stdout, ignored: %q",
		where, jsonraw.Excerpt(parts[i].Raw, maxShown))
	p.inbox.Repeated(wire.Finding{Rule: RuleStdoutNoise, Level: wire.Warning, Text: text}, TextSummary)
}

// gather puts together what looks like one value over many lines, and gives it
// when its last line came.
func (n *stdoutNoise) gather(line []byte, limit MaxSize) *multilineJSON {
	s := n.multiline
	if s == nil {
		if c := bytes.TrimSpace(line)[0]; c != '{' && c != '[' {
			return nil
		}
		s = &multilineJSON{}
	} else {
		s.add('\n')
	}
	n.multiline = nil
	for i, c := range line {
		s.add(c)
		if s.depth == 0 && len(bytes.TrimSpace(line[i+1:])) > 0 {
			return nil // as "[info] ready" does, it goes on behind the last bracket
		}
	}
	if s.depth == 0 && s.lines > 0 {
		return s
	}
	if s.depth > 0 && !limit.isExceededBy(len(s.raw)) {
		s.lines++
		n.multiline = s
	}
	return nil
}

// A multilineJSON is a JSON value, or what looks like one, of which each line came for
// itself. Line ends that stand in a text are no JSON.
type multilineJSON struct {
	raw []byte
	// mended is raw with those line ends escaped.
	mended []byte
	lines  int
	bracketDepth
}

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

// failMultiline ends the request whose answer came in several lines: the specification
// has one message per line, and no better answer will come.
func (p *Pipe) failMultiline(s *multilineJSON) {
	m := wire.ParseMessage(s.mended)
	if m.Kind == wire.Invalid && !p.isAwaited(m) {
		return
	}
	if w := p.waiterFor(m); w != nil {
		w.answer <- Failed(badContent(fmt.Sprintf("the response has %d lines, but a server must write one message per line", s.lines+1), s.raw))
	}
}

// HasByteOrderMark reports whether a line begins with a byte order mark.
func HasByteOrderMark(line []byte) bool { return bytes.HasPrefix(line, []byte("\xEF\xBB\xBF")) }

// isUTF16 reports a byte order mark of UTF-16, or text in which every second
// byte is NUL.
func isUTF16(line []byte) bool {
	if len(line) < 4 {
		return false
	}
	if bytes.HasPrefix(line, []byte("\xFF\xFE")) || bytes.HasPrefix(line, []byte("\xFE\xFF")) {
		return true
	}
	for i, c := range line[:min(len(line), 64)&^1] {
		if (c == 0) != (line[i%2] == 0) {
			return false
		}
	}
	return (line[0] == 0) != (line[1] == 0)
}

// isLengthHeader reports a line that begins a message of the Language Server Protocol.
func isLengthHeader(line []byte) bool {
	name, length, found := bytes.Cut(line, []byte(":"))
	length = bytes.TrimSpace(length)
	return found && bytes.EqualFold(name, []byte("Content-Length")) &&
		len(length) > 0 && len(bytes.Trim(length, "0123456789")) == 0
}

// isMeant reports a line that is not a message and may have been meant for one.
func isMeant(line []byte) bool {
	text := bytes.TrimSpace(line)
	begins := bytes.HasPrefix(text, []byte("{")) || bytes.HasPrefix(text, []byte("[{"))
	return bytes.Contains(line, []byte("jsonrpc")) || begins && !isJSON(line)
}

// strangeness says what a line looks like that is not a message.
func strangeness(m *wire.Message) string {
	switch line := m.Raw; {
	case isUTF16(line):
		return " (it looks like UTF-16 instead of UTF-8)"
	case HasByteOrderMark(line):
		return " (it begins with a byte order mark)"
	case isLengthHeader(line):
		return " (the server frames its messages with Content-Length, as language servers do, " +
			"and MCP has one message per line)"
	case isJSON(line):
		return " (it is JSON, but not JSON-RPC)"
	case isMeant(line):
		return " (" + m.Problem() + ")"
	}
	return ""
}

// maxShown is how much of what is not a message is shown.
const maxShown = 80

// partialLine is what came behind the last line end: it is not a message until a line end
// comes, or the stream ends.
type partialLine struct {
	mu    sync.Mutex
	n     int
	begin []byte
}

// Write takes what was read.
func (u *partialLine) Write(b []byte) (int, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	rest := b
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		rest, u.n, u.begin = b[i+1:], 0, u.begin[:0]
	}
	u.n += len(rest)
	u.begin = append(u.begin, rest[:min(len(rest), maxShown-len(u.begin))]...)
	return len(b), nil
}

// pending returns the number of bytes after the last line end, and the first of them.
func (u *partialLine) pending() (n int, begin []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n, bytes.Clone(u.begin)
}

// Pending says of a request without an answer what still waits for its line end.
func (p *Pipe) Pending() (m Diagnostic) {
	u := &p.tail
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(bytes.TrimSpace(u.begin)) == 0 {
		return m
	}
	m.Text = fmt.Sprintf("%d bytes without a line end: %q", u.n, u.begin)
	if u.n > len(u.begin) {
		m.Text = fmt.Sprintf("%d bytes without a line end, beginning with %q", u.n, u.begin)
	}
	if isMeant(u.begin) {
		m.Hint = "over stdio the server must end each message with a newline"
	}
	return m
}
