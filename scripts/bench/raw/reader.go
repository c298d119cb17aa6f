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

// A reader is a minimal client that does not know the responses in advance. It parses each message
// with encoding/json, follows the cursors, and finds the result after the progress. With cursorOnly
// it parses only the cursor of a page, and copies the page.
type reader struct {
	cursorOnly bool

	mu     sync.Mutex
	cursor string
	// progress is the last progress in a notification.
	progress float64
}

// checkCursor returns an error if the cursor in the next request differs from the cursor in the last
// page.
func (a *reader) checkCursor(r plan.Request) error {
	var asked struct{ Params struct{ Cursor string } }
	a.mu.Lock()
	defer a.mu.Unlock()
	if json.Unmarshal([]byte(r.Body), &asked) == nil && asked.Params.Cursor != a.cursor {
		return fmt.Errorf("the plan asks for the page %q, and the cursor was %q", asked.Params.Cursor, a.cursor)
	}
	return nil
}

// A message has the members of a message that a reader parses.
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
		return a.copyPage(to, body)
	}
	_, err = a.readMessage(to, body)
	return err
}

func (a *reader) readEvents(to io.Writer, body io.Reader) error {
	lines := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if answered, err := a.readMessage(to, data); answered || err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// copyPage parses the cursor of a page and copies the page.
func (a *reader) copyPage(to io.Writer, page []byte) error {
	var m struct{ Result struct{ NextCursor string } }
	if err := json.Unmarshal(page, &m); err != nil {
		return err
	}
	a.cursor = m.Result.NextCursor
	_, err := to.Write(page)
	return err
}

// readMessage parses one message and writes the contents of a result. answered is set for a response.
func (a *reader) readMessage(to io.Writer, raw []byte) (answered bool, err error) {
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
