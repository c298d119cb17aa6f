package render

import (
	"bytes"
	"strconv"
	"time"

	"mcpc/internal/wire"
)

// CallLine is what became of one call of many: a JSON object on one line,
//
//	{"line":1,"key":…,"kind":"ok","exit":0,"ms":0.4,"result":{…},"error":{…}}
//
// with the bytes of the echoed members and of the result as they came, but for
// line ends between their parts. ms has the time in milliseconds. result stands
// where there is an answer, error where the ending is not the good one; its
// members are those of ErrorJSON.
func CallLine(st Style, number int, echo []wire.Member, o wire.Outcome, answered bool, took time.Duration) []byte {
	b := make([]byte, 0, 80+len(o.Result))
	b = strconv.AppendInt(append(b, `{"line":`...), int64(number), 10)
	for _, m := range echo {
		b = append(append(b, ',', '"'), m.Name...)
		b = append(append(b, `":`...), wire.OneLine(m.Value)...)
	}
	kind := o.Kind
	if o.Good() {
		kind = "ok"
	}
	b = append(append(b, `,"kind":"`...), kind...)
	b = strconv.AppendInt(append(b, `","exit":`...), int64(o.ExitCode()), 10)
	b = strconv.AppendFloat(append(b, `,"ms":`...), float64(took.Microseconds())/1e3, 'f', -1, 64)
	if answered && o.Result != nil {
		b = append(append(b, `,"result":`...), wire.OneLine(o.Result)...)
	}
	if !o.Good() {
		failure := bytes.TrimSuffix(bytes.TrimPrefix(ErrorJSON(st, o), []byte("{")), []byte("}"))
		b = append(append(b, ','), failure...)
	}
	return append(b, '}', '\n')
}
