package jsonraw

import "testing"

// TestEnvelopeReplacesIndex: an Index that is used again has nothing of the earlier message.
func TestEnvelopeReplacesIndex(t *testing.T) {
	var index Index
	if _, _, err := Envelope([]byte(`{"params":{"a":[1]}}`), &index, nil); err != nil || !index.IsComplete {
		t.Fatalf("got %v, complete %v", err, index.IsComplete)
	}
	for _, text := range []string{`{"params":[1]}`, `{"result":1}`, `{"id":1}`, `[]`} {
		again := index
		_, _, _ = Envelope([]byte(text), &again, nil)
		if again.IsComplete || again.Members != nil || again.Lists != nil {
			t.Errorf("%s: got complete %v, members %s", text, again.IsComplete, again.Members)
		}
	}
}
