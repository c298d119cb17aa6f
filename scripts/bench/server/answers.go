package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// listPages returns all pages of the tool list, without the start of the result. A definition has a
// usual size, half a kilobyte.
func listPages(tools, pages int) [][]byte {
	out := make([][]byte, pages)
	for page := range out {
		var b bytes.Buffer
		b.WriteString(`"tools":[`)
		from, to := page*tools/pages, (page+1)*tools/pages
		for i := from; i < to; i++ {
			if i > from {
				b.WriteByte(',')
			}
			writeTool(&b, i)
		}
		b.WriteByte(']')
		if page < pages-1 {
			fmt.Fprintf(&b, `,"nextCursor":"%d"`, page+1)
		}
		b.WriteByte('}')
		out[page] = b.Bytes()
	}
	return out
}

func writeTool(b *bytes.Buffer, i int) {
	name := "get-sum"
	if i > 0 {
		name += "-" + strconv.Itoa(i)
	}
	fmt.Fprintf(b, `{"name":%q,"title":"Get Sum %d","description":"Returns the sum of two numbers. `+
		`The numbers may be of any size that a double holds.\nOverflow is reported as an error.",`+
		`"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":`+
		`{"a":{"type":"number","description":"First number"},"b":{"type":"number","description":"Second number"}},`+
		`"required":["a","b"]},"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`, name, i)
}

// callTool writes the result of a call. It writes a large result in pieces without its length, to use
// little memory.
func (s *server) callTool(w http.ResponseWriter, req request) {
	if s.text == 0 && s.events == 0 {
		s.writeResult(w, req, req.resultStart(false)+`"content":[{"type":"text","text":"`+sum(req)+`"}]}`)
		return
	}
	head := `{"jsonrpc":"2.0","id":` + string(
		req.ID,
	) + `,"result":` + req.resultStart(
		false,
	) + `"content":[{"type":"text","text":"`
	tail := `"}]}}`
	text := sum(req)
	if s.text > 0 {
		text = ""
	}
	if !s.sse {
		w.Header().Set("Content-Type", "application/json")
		writeAnswer(w, head, text, s.text, tail)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := bufio.NewWriterSize(w, 32<<10)
	s.writeProgress(out, req)
	fmt.Fprint(out, "data: ")
	writeAnswer(out, head, text, s.text, tail)
	fmt.Fprint(out, "\n\n")
	_ = out.Flush()
}

func sum(req request) string {
	return strconv.FormatFloat(req.Params.Arguments.A+req.Params.Arguments.B, 'f', -1, 64)
}

// writeProgress writes the notifications before the result. They have event ids in the era with
// resumable streams.
func (s *server) writeProgress(w io.Writer, req request) {
	token := req.Params.Meta.ProgressToken
	for i := 1; i <= s.events && token != nil; i++ {
		if !req.modern {
			fmt.Fprintf(w, "id: stream-1_%d\n", i)
		}
		fmt.Fprintf(
			w,
			`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":%d}}`+
				"\n\n",
			token,
			i,
			s.events,
		)
	}
}

// line is a log line, escaped for a JSON string.
var line = strings.Repeat("2026-11-21 10:00:00 worker 7 did what it was told, ", 2) + `and said \"so\".\n`

// writeAnswer writes head, text, more bytes of log lines, and tail.
func writeAnswer(w io.Writer, head, text string, more int, tail string) {
	block := strings.Repeat(line, 512)
	_, _ = io.WriteString(w, head+text)
	for ; more >= len(block); more -= len(block) {
		_, _ = io.WriteString(w, block)
	}
	whole := more / len(line) * len(line)
	_, _ = io.WriteString(w, block[:whole]+strings.Repeat(" ", more-whole)+tail)
}
