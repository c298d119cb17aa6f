package traffic

import (
	"testing"
)

func TestCurlOfWhatIsNoRequest(t *testing.T) {
	for _, p := range []HTTPRequest{{"POST", "file:///etc/passwd", nil, nil}, {"POST", "x", nil, nil}, {"a b", "http://x/", nil, nil}, {"POST", "http:///x", nil, nil}, {"", "http://x/", nil, nil}} {
		if err := new(Script).Curl(p, ""); err == nil {
			t.Errorf("%v was written", p)
		}
	}
}
