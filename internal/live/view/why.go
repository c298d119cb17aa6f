package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mcpc/internal/render/term"
)

// minOthers is the smallest number of other durations that a duration is compared with.
const minOthers = 4

// compareDuration compares a duration with the durations of similar exchanges: "slower than 97 % of
// tools/call echo (p50 44 ms)". It returns "" if there are too few.
func compareDuration(request comparedRequest, others []time.Duration) string {
	if len(others) < minOthers {
		return ""
	}
	slices.Sort(others)
	quicker, _ := slices.BinarySearch(others, request.took)
	notSlower, _ := slices.BinarySearch(others, request.took+1)
	what := strings.TrimSpace(request.method + " " + request.name)
	middle := term.Duration(others[(len(others)-1)/2])
	if quicker == len(others) {
		return fmt.Sprintf("the slowest of %d %s (p50 %s)", quicker+1, what, middle)
	}
	if percent := quicker * 100 / len(others); percent >= 50 {
		return fmt.Sprintf("slower than %d %% of %s (p50 %s)", percent, what, middle)
	}
	return fmt.Sprintf("quicker than %d %% of %s (p50 %s)", (len(others)-notSlower)*100/len(others), what, middle)
}

// whyOpen describes what an open exchange waits for. It leaves out for how long, which the view counts.
func whyOpen(r Row) string {
	if r.State == stateAsking {
		return "the server waits for a response to its request"
	}
	return "the last message was received or sent " + term.Duration(seconds(r.Quiet)) + " ago"
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
