package console

import (
	"bufio"
	"cmp"
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

// A Typist is the person at the terminal, one line at a time. A line is read
// only while one is wanted: what is typed meanwhile may be for a program that a
// command started, or for the shell that asks for its next line.
type Typist struct {
	In io.Reader

	mu sync.Mutex
	// lines and from are nil until the first is wanted; reading is set while one is.
	lines   chan TypedLine
	from    *bufio.Reader
	reading bool
	// ctx is that of the line which is read.
	ctx context.Context
}

type TypedLine struct {
	Text string
	Err  error
}

// Line waits for a line; its error is io.EOF for Ctrl-D, or why ctx ended. What is
// typed after that is left to the next reader; where a read cannot be ended, its line
// is returned by the next call of Line.
func (t *Typist) Line(ctx context.Context) (string, error) {
	t.mu.Lock()
	if t.lines == nil {
		t.lines, t.from = make(chan TypedLine, 1), bufio.NewReader(typing{t})
	}
	if !t.reading {
		t.reading = true
		t.ctx = ctx
		go t.read()
	}
	t.mu.Unlock()
	select {
	case l := <-t.lines:
		t.rest()
		return strings.TrimRight(l.Text, "\r\n"), l.Err
	case <-ctx.Done():
		if _, ok := t.In.(*os.File); ok && tty.CanCancelRead {
			<-t.lines
			t.rest()
		}
		return "", context.Cause(ctx)
	}
}

func (t *Typist) rest() {
	t.mu.Lock()
	t.reading = false
	t.mu.Unlock()
}

// Busy says whether the terminal's input is being read.
func (t *Typist) Busy() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reading
}

func (t *Typist) read() {
	text, err := host.ReadLine(t.from)
	if text != "" && t.ctx.Err() == nil {
		err = nil
	}
	t.lines <- TypedLine{text, err}
}

// typing is what a typist types, of which nothing is taken any more once the line's
// context has ended.
type typing struct{ *Typist }

func (t typing) Read(block []byte) (int, error) {
	if f, ok := t.In.(*os.File); ok {
		return tty.Read(t.ctx, f, block)
	}
	return t.In.Read(block)
}

// A Dialog is one question as a person sees it.
type Dialog struct {
	Out io.Writer
	// Line formats untrusted text for the terminal.
	Line func(string) string
	// Style paints what mcpc says.
	Style term.Style
	// Wrap breaks a line of text at the terminal's width; nil breaks none.
	Wrap func(string) string
	// Next reads a line.
	Next func() (string, error)
}

// Say writes a line of mcpc's own words.
func (d *Dialog) Say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if d.Wrap != nil {
		text = d.Wrap(text)
	}
	fmt.Fprintln(d.Out, text)
}

// Ask prompts and reads a line.
func (d *Dialog) Ask(prompt string) (string, error) {
	_, _ = io.WriteString(d.Out, prompt+"> ")
	return d.Next()
}

// Choose asks until one of the words is typed, or its first letter. An empty line is
// the word enter, or nothing where that is "". Its error is that of a line.
func (d *Dialog) Choose(prompt, enter string, words ...string) (string, error) {
	for {
		text, err := d.Ask(prompt)
		if err != nil {
			return "", err
		}
		text = cmp.Or(strings.ToLower(strings.TrimSpace(text)), enter)
		for _, word := range words {
			if text != "" && (text == word || text == word[:1]) {
				return word, nil
			}
		}
		last := len(words) - 1
		d.Say("  %s", d.Style.Alert("type "+strings.Join(words[:last], ", ")+" or "+words[last]+", or the first letter"))
	}
}
