package run

import (
	"encoding/json"
	"strconv"

	"mcpc/internal/cli/recorded"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/saved"
)

// checkResult compares the result with the expected one.
func (j *judgement) checkResult(e saved.Expect) {
	want, err := j.run.fill(e.Result)
	got := j.queryInput()
	if err != nil {
		j.addError(e.ResultAt, err.Error())
	} else if got == nil {
		j.addMiss(e.ResultAt, "a result", "no response")
	} else {
		j.checkValue(want, got, e.ResultAt)
	}
}

// checkValue compares a value with the expected one, which is at pointer in the file, and records
// each difference. An object may have more members than expected, a list may not have more items.
func (j *judgement) checkValue(want, got json.RawMessage, pointer string) {
	if toolcall.TextOf(want) == saved.Any {
		return
	}
	if members, others, both := recorded.Objects(want, got); both {
		for _, m := range members {
			if other, exists := others.Get(m.Name); exists {
				j.checkValue(m.Value, other, jsonraw.Pointer(pointer, m.Name))
			} else {
				j.addMiss(jsonraw.Pointer(pointer, m.Name), m.Name+": "+jsonraw.Excerpt(m.Value, maxShown), "no "+m.Name)
			}
		}
		return
	}
	if items, others, both := recorded.Arrays(want, got); both {
		for i, item := range items {
			j.checkValue(item, others[i], jsonraw.Pointer(pointer, strconv.Itoa(i)))
		}
		return
	}
	if !recorded.SameScalar(want, got) {
		j.addMiss(pointer, jsonraw.Excerpt(want, maxShown), jsonraw.Excerpt(got, maxShown))
	}
}
