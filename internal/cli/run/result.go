package run

import (
	"encoding/json"
	"strconv"

	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/saved"
)

// holdsResult holds what came against the result that is expected.
func (j *judgement) holdsResult(e saved.Expect) {
	want, err := j.run.filled(e.Result)
	got := j.judged()
	switch {
	case err != nil:
		j.fails(e.ResultAt, err.Error())
	case got == nil:
		j.miss(e.ResultAt, "a result", "no response")
	default:
		j.holdsValue(want, got, e.ResultAt)
	}
}

func (j *judgement) holdsValue(want, got json.RawMessage, at string) {
	if toolcall.TextOf(want) == saved.Any {
		return
	}
	if members, others, both := recorded.Objects(want, got); both {
		for _, m := range members {
			if other, there := others.Get(m.Name); there {
				j.holdsValue(m.Value, other, jsonraw.Pointer(at, m.Name))
			} else {
				j.miss(jsonraw.Pointer(at, m.Name), m.Name+": "+jsonraw.Excerpt(m.Value, mostGot), "no "+m.Name)
			}
		}
		return
	}
	if items, others, both := recorded.Arrays(want, got); both {
		for i, item := range items {
			j.holdsValue(item, others[i], jsonraw.Pointer(at, strconv.Itoa(i)))
		}
		return
	}
	if !recorded.SameScalar(want, got) {
		j.miss(at, jsonraw.Excerpt(want, mostGot), jsonraw.Excerpt(got, mostGot))
	}
}
