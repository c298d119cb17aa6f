package traffic

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/sanitize"
	"mcpc/internal/wire"
)

// IssueReport is a recorded exchange for an issue.
type IssueReport struct {
	View
	// Reproduce is the command that sends the request again.
	Reproduce string
}

// maxReported limits one message of a report in bytes, and maxEvents the number of messages between
// request and response.
const (
	maxReported = 64 << 10
	maxEvents   = 20
)

// WriteIssueReport writes an exchange as a report in Markdown (CommonMark): request, messages,
// response, timing and findings. No text in it can end its code block or act on a terminal.
func WriteIssueReport(w io.Writer, r IssueReport) error {
	m := &issueWriter{}
	m.writeParagraph("## " + sanitize.MarkdownCode(r.Title))
	var facts []string
	for _, fact := range r.Facts {
		if len(fact) == 2 && fact[1] != "" {
			facts = append(facts, "- "+fact[0]+": "+sanitize.MarkdownCode(fact[1]))
		}
	}
	m.writeParagraph(strings.Join(facts, "\n"))
	if r.Reproduce != "" {
		m.writeSection("Reproduce")
		m.writeFence("sh", strings.TrimRight(r.Reproduce, "\n"))
	}
	if x := r.Exchange; x != nil {
		if x.Request.Raw != nil {
			m.writeMessage("Request", x.Request)
		}
		m.writeBetween(x.OtherMessages)
		if x.Response.Raw != nil {
			m.writeMessage("Response", x.Response)
		} else if x.Request.Raw != nil || len(x.Heads) == 1 { // one head is a request without a message, such as GET
			m.writeParagraph("No " + missingResponse(x) + " came.")
		}
		m.writeDrawing("Events", func(v *exchangeWriter) { v.writeEvents(x) })
		m.writeDrawing("HTTP", func(v *exchangeWriter) {
			for _, f := range x.Heads {
				v.writeHead(f)
			}
		})
		m.writeDrawing("Timing", func(v *exchangeWriter) { v.writeTiming(x) })
	}
	m.writeFindings(r.Findings)
	_, err := io.WriteString(w, m.b.String())
	return err
}

// issueWriter writes blocks of Markdown, with an empty line between.
type issueWriter struct{ b strings.Builder }

func (m *issueWriter) writeParagraph(text string) {
	if text == "" {
		return
	}
	if m.b.Len() > 0 {
		m.b.WriteByte('\n')
	}
	m.b.WriteString(text + "\n")
}

func (m *issueWriter) writeSection(name string) { m.writeParagraph("### " + name) }

// writeFence writes a code block. Its fence is longer than any in the text.
func (m *issueWriter) writeFence(language, text string) {
	mark := sanitize.MarkdownFence(text)
	m.writeParagraph(mark + language + "\n" + term.Block(text) + "\n" + mark)
}

// writeMessage writes one message, indented if it is JSON.
func (m *issueWriter) writeMessage(name string, f wire.Frame) {
	note := fmt.Sprintf("%s, %d bytes", name, f.Bytes())
	if f.Hidden > 0 {
		note += ", " + english.Plural(f.Hidden, "secret") + " hidden"
	}
	m.writeSection(note)
	language := ""
	shown := limitedBuffer(f.Raw[:min(len(f.Raw), 2*maxReported)])
	if jsonraw.Valid(f.Raw) == nil {
		language = "json"
		shown = nil
		_ = render.PrettyJSON(&shown, reportStyle, f.Raw) // fails if shown is full, which is cut below
	}
	text := strings.TrimRight(string(shown), "\r\n")
	if len(text) > maxReported {
		text = strings.ToValidUTF8(text[:maxReported], "") + "\n" + fmt.Sprintf("… (%d bytes in all)", f.Bytes())
	}
	m.writeFence(language, text)
}

// A limitedBuffer keeps the first 2*maxReported bytes or more of a text; then it returns an error.
type limitedBuffer []byte

func (b *limitedBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p[:min(len(p), 2*maxReported)]...)
	if len(*b) > 2*maxReported {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// writeBetween writes the messages between request and response, one on each line.
func (m *issueWriter) writeBetween(frames []wire.Frame) {
	if len(frames) == 0 {
		return
	}
	m.writeSection("Events")
	var lines []string
	for i, f := range frames {
		if i == maxEvents {
			lines = append(lines, fmt.Sprintf("… %d more", len(frames)-i))
			break
		}
		lines = append(lines, arrow(reportStyle, f.Dir)+" "+reportStyle.Excerpt(f.Raw, 400))
	}
	m.writeFence("", strings.Join(lines, "\n"))
}

// reportStyle is the style of texts in a report: for a reader, without colour.
var reportStyle = term.Style{Terminal: true, Width: 80}

// writeDrawing writes what draw draws as a code block, or nothing if draw draws nothing.
func (m *issueWriter) writeDrawing(name string, draw func(v *exchangeWriter)) {
	var b strings.Builder
	v := &exchangeWriter{st: reportStyle, b: bufio.NewWriter(&b)}
	draw(v)
	_ = v.b.Flush()
	text := strings.Trim(b.String(), "\n")
	if text == "" {
		return
	}
	m.writeSection(name)
	m.writeFence("", text)
}

func (m *issueWriter) writeFindings(findings []wire.Finding) {
	if len(findings) == 0 {
		return
	}
	m.writeSection("Findings")
	var lines []string
	for _, f := range findings {
		lines = append(lines, "- "+sanitize.MarkdownCode(failure.Finding(reportStyle, f)))
	}
	m.writeParagraph(strings.Join(lines, "\n"))
}
