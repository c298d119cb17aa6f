package faulty

import (
	"encoding/json"
	"fmt"
	"io"

	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/proxy"
	"mcpc/internal/wire"
)

// Document returns the report as JSON. rules are nil if only a recording is known.
func Document(seed uint64, rules []proxy.ListedRule, verdicts []proxy.Verdict) json.RawMessage {
	raw, _ := jsonraw.Marshal(struct {
		Seed   uint64             `json:"seed,omitempty"`
		Bad    int                `json:"bad"`
		Faults []proxy.Verdict    `json:"faults"`
		Rules  []proxy.ListedRule `json:"rules,omitempty"`
	}{seed, CountBad(verdicts), append([]proxy.Verdict{}, verdicts...), rules})
	return raw
}

// CountBad counts the verdicts on faults that the client handled badly.
func CountBad(verdicts []proxy.Verdict) int {
	n := 0
	for _, v := range verdicts {
		if v.Bad {
			n++
		}
	}
	return n
}

// WriteVerdicts writes the client's reaction to each fault for people, the bad ones first and
// repeated ones once. format makes a text safe for the output.
func WriteVerdicts(w io.Writer, verdicts []proxy.Verdict, format func(string) string) {
	type group struct {
		proxy.Verdict
		count int
	}
	const maxGroups = 100
	var bad, good []*group
	groupOf := map[[2]string]*group{} // by the fault and the reaction
	for _, v := range verdicts {
		key := [2]string{v.DescribeFault(), v.Did}
		g := groupOf[key]
		if g == nil {
			g = &group{Verdict: v}
			groupOf[key] = g
			if v.Bad {
				bad = append(bad, g)
			} else {
				good = append(good, g)
			}
		}
		g.count++
	}
	groups := append(bad, good...)
	for _, g := range groups[:min(maxGroups, len(groups))] {
		mark := "  "
		if g.Bad {
			mark = "! "
		}
		times := ""
		if g.count > 1 {
			times = fmt.Sprintf(" (%d times)", g.count)
		}
		// The sentence of a verdict is mcpc's own, and needs no format.
		fmt.Fprintf(w, "%s%s\n    %s%s\n", mark, format(g.DescribeFault()), g.Verdict, times)
	}
	if omitted := len(groups) - maxGroups; omitted > 0 {
		fmt.Fprintf(w, "  and %d more\n", omitted)
	}
	fmt.Fprintf(w, "%s, %d handled badly\n", english.Plural(len(verdicts), "fault"), CountBad(verdicts))
}

// Outcome returns the outcome of a command that judges a client.
func Outcome(verdicts []proxy.Verdict) wire.Outcome {
	if n := CountBad(verdicts); n > 0 {
		return wire.Outcome{
			Kind: wire.CheckFailed,
			Text: fmt.Sprintf("the client handled %d of %s badly", n, english.Plural(len(verdicts), "fault")),
		}
	}
	return wire.Outcome{}
}
