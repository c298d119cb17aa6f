package http1

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"strings"
)

// Nearly all responses have a head of a few fields, which is read at once, and a body of known
// length. They are parsed as http.ReadResponse does, which parses all others.

// readQuick reads a usual response; nil where nothing was read because it is not one, or is not
// there as a whole.
func readQuick(in *bufio.Reader, req *http.Request) *http.Response {
	there, _ := in.Peek(in.Buffered())
	end := bytes.Index(there, []byte("\r\n\r\n"))
	if end < 0 || req.Method == http.MethodHead {
		return nil
	}
	resp := parseQuick(string(there[:end]))
	if resp == nil {
		return nil
	}
	_, _ = in.Discard(end + 4)
	resp.Request = req
	if resp.Body = http.NoBody; resp.ContentLength > 0 {
		resp.Body = &sized{in: in, left: resp.ContentLength}
	}
	return resp
}

// parseQuick parses a head without its last line ends, or returns nil.
func parseQuick(head string) *http.Response {
	line, fields, more := strings.Cut(head, "\r\n")
	status, ok := strings.CutPrefix(line, "HTTP/1.1 ")
	if !ok || !more || len(status) < 4 || status[3] != ' ' || !isVisible(line) {
		return nil
	}
	code, ok := decimal(status[:3])
	if !ok || code < 200 || code == http.StatusNoContent || code == http.StatusNotModified {
		return nil
	}
	n := strings.Count(fields, "\r\n") + 1
	if n > mostFields {
		return nil
	}
	resp := &http.Response{Status: status, StatusCode: int(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: make(http.Header, n)}
	values := make([]string, n)
	for more {
		line, fields, more = strings.Cut(fields, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isVisible(line) || !isCanonical(name) || resp.Header[name] != nil {
			return nil
		}
		value = strings.Trim(value, " \t")
		switch name {
		case "Connection", "Transfer-Encoding", "Trailer", "Pragma":
			return nil
		case "Content-Length":
			if resp.ContentLength, ok = decimal(value); !ok {
				return nil
			}
		}
		values[0] = value
		resp.Header[name], values = values[:1:1], values[1:]
	}
	if resp.ContentLength < 0 {
		return nil
	}
	return resp
}

// decimal is the value of a few digits.
func decimal(s string) (n int64, ok bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = 10*n + int64(s[i]-'0')
	}
	return n, len(s) > 0 && len(s) <= 15
}

// isVisible reports a line of visible ASCII and spaces.
func isVisible(line string) bool {
	for i := range len(line) {
		if line[i] < ' ' || line[i] > '~' {
			return false
		}
	}
	return true
}

// isCanonical reports a name of words that begin with a capital, as net/http writes it.
func isCanonical(name string) bool {
	first := true
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'A' && c <= 'Z' && first, c >= 'a' && c <= 'z' && !first, c >= '0' && c <= '9':
			first = false
		case c == '-':
			first = true
		default:
			return false
		}
	}
	return name != ""
}

// A sized is a body of known length.
type sized struct {
	in   *bufio.Reader
	left int64
}

func (s *sized) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	n, err := s.in.Read(p[:min(int64(len(p)), s.left)])
	switch s.left -= int64(n); {
	case s.left == 0 && err == nil:
		err = io.EOF
	case s.left > 0 && err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (s *sized) Close() error { return nil }
