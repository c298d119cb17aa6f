package report

import (
	"strconv"
	"time"

	"mcpc/internal/jsonraw"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// CallLine returns the result of one call of a batch as a JSON object on one line,
//
//	{"line":1,"key":…,"kind":"ok","exit":0,"ms":0.4,"result":{…},"error":{…}}
//
// with the echoed members and the result unchanged except for line ends. ms is the time in
// milliseconds. result is present if there is a response; isAnswered is then true. error is
// present if the outcome is not OK, and has the members of the error that --json writes.
func CallLine(
	st term.Style,
	number int,
	echo []jsonraw.Member,
	o wire.Outcome,
	isAnswered bool,
	took time.Duration,
) []byte {
	j := &jsonraw.Builder{}
	j.Grow(len(o.Result) + 96)
	j.Number("line", int64(number))
	for _, m := range echo {
		j.Raw(m.Name, jsonraw.OneLine(m.Value))
	}
	j.Text("kind", failure.KindName(o.Kind))
	j.Number("exit", int64(o.ExitCode()))
	j.Raw("ms", strconv.AppendFloat(nil, float64(took.Microseconds())/1e3, 'f', -1, 64))
	if isAnswered && o.Result != nil {
		j.Raw("result", jsonraw.OneLine(o.Result))
	}
	if !o.OK() {
		j.Raw("error", failure.JSON(st, o))
	}
	return append(j.Bytes(), '\n')
}
