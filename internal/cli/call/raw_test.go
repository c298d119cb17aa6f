package call

import (
	"strings"
	"testing"
)

func TestMethodNamesAreOfTheProtocol(t *testing.T) {
	names := strings.Join(methodNames(), " ")
	for _, name := range []string{"tools/list", "tools/call", "initialize", "ping"} {
		if !strings.Contains(names, name) {
			t.Errorf("%s is missing", name)
		}
	}
}
