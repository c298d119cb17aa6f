package servers

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"mcpc/internal/wire"
)

// A Log is a file with a line for each message that a server received. The line is written before
// the response, so that a test can search the file and wait for it.
type Log struct {
	name string
	mu   sync.Mutex
}

// NewLog returns a log that appends to the named file, which is created with the first line.
func NewLog(name string) *Log { return &Log{name: name} }

// Name returns the name of the file.
func (l *Log) Name() string { return l.name }

// Printf writes a line. It panics if writing fails, because the test would be unreliable.
func (l *Log) Printf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.OpenFile(l.name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	fmt.Fprintf(file, format+"\n", args...)
}

// loggedFields are the header fields that tests search for.
var loggedFields = []string{
	"Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Mcp-Param-Region",
	"Mcp-Param-Priority", "Mcp-Param-Dry-Run", "Authorization", "X-Canary", "Last-Event-Id",
}

// Request writes an HTTP request: `POST tools/call {"jsonrpc":...} Mcp-Method=tools/call ...`.
func (l *Log) Request(method string, header http.Header, m *wire.Message) {
	line := method + " " + m.Method + " " + string(m.Raw)
	for _, name := range loggedFields {
		if value := header.Get(name); value != "" {
			line += " " + name + "=" + value
		}
	}
	l.Printf("%s", line)
}

// Input returns a writer for the input of a stdio server. It writes each complete line to the log:
// `IN tools/call {"jsonrpc":...}`.
func (l *Log) Input() io.Writer { return &inputLog{log: l} }

type inputLog struct {
	log *Log
	// incomplete is the start of an incomplete line.
	incomplete []byte
}

func (l *inputLog) Write(b []byte) (int, error) {
	l.incomplete = append(l.incomplete, b...)
	for {
		line, rest, complete := bytes.Cut(l.incomplete, []byte("\n"))
		if !complete {
			return len(b), nil
		}
		l.log.Printf("IN %s %s", wire.ParseMessage(line).Method, line)
		l.incomplete = rest
	}
}
