package cmdutil

import "testing"

func TestServersOnThisMachine(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"": true, "http://localhost:3/": true, "http://127.0.0.1/": true, "http://[::1]:2/": true,
		"http://example.com/": false, "https://10.0.0.1/": false,
	} {
		if IsLocal(endpoint) != want {
			t.Errorf("%q: got %v", endpoint, !want)
		}
	}
}
