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
func (j *judgement) checkResult(e saved.Expect) {
	want, err := j.run.fill(e.Result)
	got := j.judgedJSON()
	switch {
	case err != nil:
		j.addError(e.ResultAt, err.Error())
	case got == nil:
		j.addMiss(e.ResultAt, "a result", "no response")
	default:
		j.checkValue(want, got, e.ResultAt)
	}
}

func (j *judgement) checkValue(want, got json.RawMessage, at string) {
	if toolcall.TextOf(want) == saved.Any {
		return
	}
	if members, others, both := recorded.Objects(want, got); both {
		for _, m := range members {
			if other, there := others.Get(m.Name); there {
				j.checkValue(m.Value, other, jsonraw.Pointer(at, m.Name))
			} else {
				j.addMiss(jsonraw.Pointer(at, m.Name), m.Name+": "+jsonraw.Excerpt(m.Value, maxShown), "no "+m.Name)
			}
		}
		return
	}
	if items, others, both := recorded.Arrays(want, got); both {
		for i, item := range items {
			j.checkValue(item, others[i], jsonraw.Pointer(at, strconv.Itoa(i)))
		}
		return
	}
	if !recorded.SameScalar(want, got) {
		j.addMiss(at, jsonraw.Excerpt(want, maxShown), jsonraw.Excerpt(got, maxShown))
	}
}
