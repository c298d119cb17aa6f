package console

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"mcpc/internal/connect/host"
	"mcpc/internal/render/term"
	"mcpc/internal/tty"
)

// A Typist reads what the user types, line by line. It reads only while a line is wanted: other
// input may be for a program that a command started, or for the shell.
type Typist struct {
	In io.Reader

	mu sync.Mutex
	// lines and from are nil until the first line is wanted. reading is set while a line is read.
	lines   chan TypedLine
	from    *bufio.Reader
	reading bool
	// ctx is the context of the line that is read.
	ctx context.Context
}

// A TypedLine is a line, or the error of reading it.
type TypedLine struct {
	Text string
	Err  error
}

// Line waits for a line. Its error is io.EOF for Ctrl-D, or the cause of the end of ctx. Later
// input is left to the next reader. If a read cannot be cancelled, the next call of Line returns
// its line.
func (t *Typist) Line(ctx context.Context) (string, error) {
	t.mu.Lock()
	if t.lines == nil {
		t.lines = make(chan TypedLine, 1)
		t.from = bufio.NewReader(cancellableReader{t})
	}
	if !t.reading {
		t.reading = true
		t.ctx = ctx
		go t.read()
	}
	t.mu.Unlock()
	select {
	case l := <-t.lines:
		t.stopReading()
		return strings.TrimRight(l.Text, "\r\n"), l.Err
	case <-ctx.Done():
		// The read of a file ends with ctx, too. Another read goes on, and reading stays set.
		if _, ok := t.In.(*os.File); ok && tty.CanCancelRead {
			<-t.lines
			t.stopReading()
		}
		return "", context.Cause(ctx)
	}
}

// stopReading records that no line is being read.
func (t *Typist) stopReading() {
	t.mu.Lock()
	t.reading = false
	t.mu.Unlock()
}

// Busy reports whether a line is being read.
func (t *Typist) Busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reading
}

// read reads a line and sends it to t.lines.
func (t *Typist) read() {
	text, err := host.ReadLine(t.from)
	if text != "" && t.ctx.Err() == nil { // a last line without a line end is a line
		err = nil
	}
	t.lines <- TypedLine{text, err}
}

// A cancellableReader reads what the user types until the line's context ends.
type cancellableReader struct{ *Typist }

func (t cancellableReader) Read(block []byte) (int, error) {
	if f, ok := t.In.(*os.File); ok {
		return tty.Read(t.ctx, f, block)
	}
	return t.In.Read(block)
}

// A Dialog asks the user questions.
type Dialog struct {
	Out io.Writer
	// Line makes untrusted text safe for the terminal.
	Line func(string) string
	// Style formats mcpc's own text.
	Style term.Style
	// Wrap wraps a line at the terminal's width. It may be nil.
	Wrap func(string) string
	// Next reads a line.
	Next func() (string, error)
}

// Say writes a line.
func (d *Dialog) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if d.Wrap != nil {
		text = d.Wrap(text)
	}
	fmt.Fprintln(d.Out, text)
}

// Ask writes a prompt and reads a line.
func (d *Dialog) Ask(prompt string) (string, error) {
	_, _ = io.WriteString(d.Out, prompt+"> ")
	return d.Next()
}

// Choose asks until the user types a word of words or its first letter. An empty line means the
// word enter, unless that is "". It returns the error of Next.
func (d *Dialog) Choose(prompt, enter string, words ...string) (string, error) {
	for {
		text, err := d.Ask(prompt)
		if err != nil {
			return "", err
		}
		text = strings.ToLower(strings.TrimSpace(text))
		if text == "" {
			text = enter
		}
		for _, word := range words {
			if text != "" && (text == word || text == word[:1]) {
				return word, nil
			}
		}
		last := len(words) - 1
		d.Say("  %s", d.Style.Alert("type "+strings.Join(words[:last], ", ")+" or "+words[last]+", or the first letter"))
	}
}
