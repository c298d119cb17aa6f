package view

import "testing"

// TestRequestsOnly checks that a filter is restricted to requests unless it says what to hold.
func TestRequestsOnly(t *testing.T) {
	for text, want := range map[string]string{
		"": "is:request", "name:a or name:b": "is:request (name:a or name:b)", "is:response name:a": "is:response name:a",
		"-(is:response)": "-(is:response)", "name:": "name:",
	} {
		if got := RequestsOnly(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
