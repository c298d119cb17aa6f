package render

import (
	"strconv"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/wire"
)

// CallLine is what became of one call of many: a JSON object on one line,
//
//	{"line":1,"key":…,"kind":"ok","exit":0,"ms":0.4,"result":{…},"error":{…}}
//
// with the bytes of the echoed members and of the result as they came, but for
// line ends between their parts. ms has the time in milliseconds. result stands
// where there is an answer, error where the ending is not the good one; its
// members are those of the error that --json writes.
func CallLine(st Style, number int, echo []jsonraw.Member, o wire.Outcome, answered bool, took time.Duration) []byte {
	j := &object{}
	j.number("line", int64(number))
	for _, m := range echo {
		j.raw(m.Name, jsonraw.OneLine(m.Value))
	}
	j.text("kind", kindWord(o.Kind))
	j.number("exit", int64(o.ExitCode()))
	j.raw("ms", strconv.AppendFloat(nil, float64(took.Microseconds())/1e3, 'f', -1, 64))
	if answered && o.Result != nil {
		j.raw("result", jsonraw.OneLine(o.Result))
	}
	if !o.Good() {
		j.raw("error", errorJSON(st, o))
	}
	return append(j.bytes(), '\n')
}
