package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"mcpc/scripts/bench/plan"
)

// A reader is the least that a Go program can do that does not know the answers in advance: it
// parses each message with encoding/json, follows the cursor that it found, and finds the
// result behind the progress. With cursorOnly it takes nothing else from a page than the
// cursor, and copies the page.
type reader struct {
	cursorOnly bool

	mu     sync.Mutex
	cursor string
	// progress is the last that was told.
	progress float64
}

// check sees to it that the cursor which the plan sends is the one that was read.
func (a *reader) check(r plan.Request) error {
	var asked struct{ Params struct{ Cursor string } }
	a.mu.Lock()
	defer a.mu.Unlock()
	if json.Unmarshal([]byte(r.Body), &asked) == nil && asked.Params.Cursor != a.cursor {
		return fmt.Errorf("the plan asks for the page %q, and the cursor was %q", asked.Params.Cursor, a.cursor)
	}
	return nil
}

// A message is what is read of one.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct{ Progress float64 }
	Result *struct {
		Tools      []json.RawMessage
		Content    []json.RawMessage
		NextCursor string
	}
}

func (a *reader) read(to io.Writer, resp *http.Response) error {
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return a.readEvents(to, resp.Body)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || len(body) == 0 {
		return err
	}
	if a.cursorOnly {
		return a.follow(to, body)
	}
	_, err = a.take(to, body)
	return err
}

func (a *reader) readEvents(to io.Writer, body io.Reader) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if answered, err := a.take(to, data); answered || err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// follow takes the cursor from a page, which has nothing else for it.
func (a *reader) follow(to io.Writer, page []byte) error {
	var m struct{ Result struct{ NextCursor string } }
	if err := json.Unmarshal(page, &m); err != nil {
		return err
	}
	a.cursor = m.Result.NextCursor
	_, err := to.Write(page)
	return err
}

// take takes one message, and writes what is in a result.
func (a *reader) take(to io.Writer, raw []byte) (answered bool, err error) {
	var m message
	if err := json.Unmarshal(raw, &m); err != nil {
		return false, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if m.Result == nil {
		a.progress = max(a.progress, m.Params.Progress)
		return false, nil
	}
	a.cursor = m.Result.NextCursor
	for _, item := range append(m.Result.Tools, m.Result.Content...) {
		if _, err := to.Write(item); err != nil {
			return true, err
		}
	}
	return true, nil
}
