// Command raw sends the requests of a plan and copies the answers: the least
// that a Go program can do for them.
//
//	raw [-times N] [-parallel N] [-cursor] [-read] [-spool] URL PLAN
//	raw -capture FILE
//
// With -times the last request of the plan is sent N times, -parallel at a time, and the
// answers are printed in the order of their arrival. With -cursor and -read it does not know
// the cursors in advance: see reader. With -spool it prints an answer once all of it has come,
// and keeps it in a file until then. With -capture it lists a capture: see listCapture.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	"mcpc/scripts/bench/plan"
)

// answers reads the responses. It is nil if they are only copied. spooled is set if they are copied
// through a file.
var (
	responseReader *reader
	isSpooled      bool
)

func main() {
	times := flag.Int("times", 1, "how often the last request is sent")
	parallel := flag.Int("parallel", 1, "how many of them at a time")
	cursor := flag.Bool("cursor", false, "read the cursors of the answers")
	read := flag.Bool("read", false, "read the answers")
	flag.BoolVar(&isSpooled, "spool", false, "print an answer once all of it has come")
	capture := flag.String("capture", "", "list this capture")
	flag.Parse()
	if *capture != "" {
		if err := listCapture(*capture); err != nil {
			fmt.Fprintln(os.Stderr, "raw:", err)
			os.Exit(1)
		}
		return
	}
	if *read || *cursor {
		responseReader = &reader{cursorOnly: *cursor}
	}
	if err := replay(flag.Arg(0), flag.Arg(1), *times, *parallel); err != nil {
		fmt.Fprintln(os.Stderr, "raw:", err)
		os.Exit(1)
	}
}

// replay sends the requests of a plan in order, with the session id that the server returns.
func replay(url, name string, times, parallel int) error {
	requests, err := plan.Load(name)
	if err != nil {
		return err
	}
	session := ""
	for i, r := range requests {
		if r.Header.Get(plan.SessionField) != "" && session != "" {
			r.Header.Set(plan.SessionField, session)
		}
		if i == len(requests)-1 && times > 1 {
			return repeat(url, r, times, parallel)
		}
		to := io.Discard
		if r.Print {
			to = os.Stdout
		}
		given, err := sendTo(to, url, r)
		if err != nil {
			return err
		}
		if given != "" {
			session = given
		}
	}
	return nil
}

// repeat sends a request the given number of times, up to parallel requests at once.
func repeat(url string, r plan.Request, times, parallel int) error {
	// Keep one connection open for each parallel request.
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = parallel
	turns, failed := make(chan struct{}, parallel), make(chan error, parallel)
	var senders sync.WaitGroup
	for range parallel {
		senders.Go(func() {
			for range turns {
				if err := sendWhole(url, r); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	for range times {
		select {
		case turns <- struct{}{}:
		case err := <-failed:
			return err
		}
	}
	close(turns)
	senders.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// sendWhole sends a request and prints the response in one write, with a line end.
func sendWhole(url string, r plan.Request) error {
	var body bytes.Buffer
	if _, err := sendTo(&body, url, r); err != nil {
		return err
	}
	body.WriteByte('\n')
	_, err := os.Stdout.Write(body.Bytes())
	return err
}

// sendTo sends a request and writes the response. It returns the session id in the response, or "".
func sendTo(to io.Writer, url string, r plan.Request) (session string, err error) {
	req, err := http.NewRequest(r.Method, url, strings.NewReader(r.Body))
	if err != nil {
		return "", err
	}
	req.Header = r.Header
	if responseReader != nil {
		if err := responseReader.checkCursor(r); err != nil {
			return "", err
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	switch {
	case responseReader != nil:
		err = responseReader.read(to, resp)
	case isSpooled:
		err = spool(to, resp.Body)
	default:
		_, err = io.Copy(to, resp.Body)
	}
	return resp.Header.Get(plan.SessionField), err
}

// spool copies a response through a file. It counts quotes and backslashes, to find whether the
// response is complete. Its memory does not depend on the size of the response.
func spool(to io.Writer, body io.Reader) error {
	f, err := os.CreateTemp("", "raw")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	text := &quoteCounter{}
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.MultiWriter(f, text)}, body, make([]byte, 64<<10)); err != nil {
		return err
	}
	if text.quotes%2 != 0 {
		return fmt.Errorf("the answer ends in a text")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{f}, make([]byte, 64<<10))
	return err
}

// quoteCounter counts the quotes that begin or end a string.
type quoteCounter struct {
	quotes  int
	escaped bool // the next byte is escaped by a backslash
}

func (m *quoteCounter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if m.escaped {
			m.escaped, rest = false, rest[1:]
			continue
		}
		plain := rest
		if slash := bytes.IndexByte(rest, '\\'); slash >= 0 {
			plain, m.escaped = rest[:slash], true
			rest = rest[slash+1:]
		} else {
			rest = nil
		}
		m.quotes += bytes.Count(plain, []byte{'"'})
	}
	return len(p), nil
}
