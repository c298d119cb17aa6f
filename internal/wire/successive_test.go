package wire

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
)

// afterEach gives a Successive the messages in turn, in a buffer that is used again, frees each
// notification, and compares each with what ParseMessage gives. It returns how many recur.
func afterEach(t *testing.T, raws ...[]byte) (recurring int) {
	t.Helper()
	var s Successive
	buffer := []byte{}
	for _, raw := range raws {
		buffer = append(buffer[:0], raw...)
		got, want := s.Parse(buffer), ParseMessage(append([]byte{}, raw...))
		if got.Recurs {
			recurring++
		}
		like := *got
		like.Recurs = false
		if !reflect.DeepEqual(&like, want) {
			t.Fatalf("after %q:\n%q is parsed as\n%+v\nand not as\n%+v", raws[0], raw, like, *want)
		}
		if got.Kind == Notification {
			s.Free(got)
		}
		clear(buffer)
	}
	return recurring
}

func TestSuccessive(t *testing.T) {
	progress := func(text string) (raws [][]byte) {
		for _, n := range []string{"1", "2", "9", "10", "11", "7", "123456789012345"} {
			raws = append(raws, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"notifications/progress","params":{`+text+`}}`, n))
		}
		return raws
	}
	for _, text := range []string{
		`"progressToken":3,"progress":%s,"total":100`, `"progress":%s,"progressToken":"a"`, ` "total" : 5 , "progress" : %s , "_meta":{"a":[1]}`, `"progress":%s`,
	} {
		if got := afterEach(t, progress(text)...); got != 6 {
			t.Errorf("%s: %d of 6 recur", text, got)
		}
	}
	for _, text := range []string{
		`"progress":-%s`, `"progress":%s.5`, `"progress":%s0000000000000000`, `"progress":"%s"`, `"progress":1,"progress":%s`, `"progressToken":%s,"progress":1`, `"progress":1,"a":[%s]`,
	} {
		if got := afterEach(t, progress(text)...); got != 0 {
			t.Errorf("%s: %d recur", text, got)
		}
	}
}

func FuzzSuccessive(f *testing.F) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":3,"progress":|7|,"total":9}}`,
		`{"method":"notifications/progress","params":{"progress":|1|},"jsonrpc":"2.0","params":{"progress":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":|10|,"message":"1","x":[1,{"progress":1}]}} `,
		`{"jsonrpc":"2.0","id":1,"method":"notifications/progress","params":{"progress":|1|}}`,
	} {
		p := bytes.Split([]byte(text), []byte("|"))
		for _, next := range []string{"8", "08", "80", "-1", "1e5", "9,", "", "1.0", "0"} {
			f.Add(p[0], p[1], []byte(next), p[2])
		}
	}
	f.Fuzz(func(t *testing.T, before, number, next, behind []byte) {
		join := func(middle []byte) []byte { return bytes.Join([][]byte{before, middle, behind}, nil) }
		afterEach(t, join(number), join(next), join(number), behind, join(next), join(next))
	})
}
