package capture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"mcpc/internal/redact"
	"mcpc/internal/sse"
	"mcpc/internal/wire"
)

// Each line is that of its frame alone, whatever crossed before.
func TestRecurringEventsHaveTheirOwnLines(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	pick := func(words ...string) string { return words[random.IntN(len(words))] }
	recurring := 0
	for range 300 {
		var secrets redact.Secrets
		secrets.Learn("31415926", "s3cret-value")
		r := NewRecorder(Recording{Secrets: &secrets})
		text := pick(`{"method":"notifications/progress","params":{"progress":%s,"total":100}}`, `{"a":"%s é\n","b":[%s]}`, `%s`, `[%s]`, `{"pin":%s}`, `{"password":%s}`,
			`{"a":%s,"b":"s3cret-value"}`, `{"a":"x%sy"}`, "[\xff,%s]", `{"url":"http://a@b:%s/"}`)
		facts := &sse.Facts{}
		for i := range 60 {
			number := pick(fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(i), fmt.Sprint(2*i), fmt.Sprint(i), fmt.Sprint(3*i), fmt.Sprint(i), "31415926", "12345678901234567", "0", "", "-1", "a")
			raw := []byte(text)
			for bytes.Contains(raw, []byte("%s")) {
				raw = bytes.Replace(raw, []byte("%s"), []byte(number), 1)
			}
			f := wire.Frame{Seq: uint64(i), Time: noon.Add(time.Duration(i) * time.Millisecond), Dir: wire.Received, Kind: wire.Event, Stream: 2, SSE: facts, Raw: raw}
			switch random.IntN(90) {
			case 0:
				f.Stream = 3
			case 1:
				f.SSE = &sse.Facts{Event: "e"}
			case 2:
				f.Dir = wire.Sent
			case 3:
				f.Kind, f.SSE = wire.Body, nil
			case 4:
				secrets.Learn(fmt.Sprintf(":%d,", i+1)) // which may come
			case 5:
				f.Conn = 1
			}
			if r.latest.recurs(f, &secrets) {
				recurring++
			}
			r.buf = r.buf[:0]
			r.frameLocked(queuedFrame{Frame: f})
			if want := AppendFrame(nil, secrets.Frame(f)); !bytes.Equal(r.buf, want) {
				t.Fatalf("the line is\n%s\nand not\n%s", r.buf, want)
			}
		}
	}
	if recurring < 1000 {
		t.Errorf("only %d of 18000 events recur", recurring)
	}
}
