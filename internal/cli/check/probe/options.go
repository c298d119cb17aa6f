package probe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/jsonraw"
	"mcpc/internal/lint"
	"mcpc/internal/usage"
)

// probeTime is how long a request of a probe may stay without an answer.
const probeTime = 2 * time.Second

// Options say what is sent to a server beside well-formed requests that change nothing.
type Options struct {
	negative, readOnly, auth, deep bool

	calls       []string
	rate        string
	maxRequests int
	seed        int64
	// tools are the calls, taken apart.
	tools []toolCall
}

// A toolCall is what --call names.
type toolCall struct {
	name string
	args json.RawMessage
}

// Declare declares the flags.
func (o *Options) Declare(flags *pflag.FlagSet) {
	flags.BoolVar(&o.negative, "negative", false, "also send malformed requests")
	flags.StringArrayVar(&o.calls, "call", nil, "also call this tool: `TOOL[=JSON]`")
	flags.BoolVar(&o.readOnly, "call-read-only", false, "also call the tools that are read-only and need no arguments")
	flags.BoolVar(&o.auth, "auth", false, "also request without a token how to get one")
	flags.BoolVar(&o.deep, "deep", false, "the same as --negative --call-read-only --auth")
	flags.StringVar(&o.rate, "rate", "", "at most so many requests: `5/s`, 30/m, 0 for no limit")
	flags.IntVar(&o.maxRequests, "max-requests", 200, "stop after this `number` of requests (0 for no limit)")
	flags.Int64Var(&o.seed, "seed", 1, "`number` from which random values are made")
}

// Settle takes the values apart, and refuses those that make no sense.
func (o *Options) Settle() error {
	if o.deep {
		o.negative, o.readOnly, o.auth = true, true, true
	}
	if _, ok := parseRate(o.rate); !ok {
		return usage.New(fmt.Sprintf("--rate: %q is not a rate", o.rate), "use 5/s, 30/m or 0")
	}
	if o.maxRequests < 0 {
		return usage.New("--max-requests must be 0 or more", "0 means no limit")
	}
	o.tools = nil
	for _, word := range o.calls {
		name, args, given := strings.Cut(word, "=")
		call := toolCall{name: name, args: json.RawMessage("{}")}
		if given {
			if _, err := jsonraw.Object([]byte(args)); err != nil {
				return usage.New("--call "+name+": the arguments are not a JSON object", `--call 'get-sum={"a":1,"b":2}'`)
			}
			call.args = json.RawMessage(args)
		}
		o.tools = append(o.tools, call)
	}
	return nil
}

// parseRate reads requests a second; "" is 0 and a good rate, as no limit is.
func parseRate(text string) (perSecond float64, ok bool) {
	number, unit, _ := strings.Cut(text, "/")
	per := map[string]float64{"": 1, "s": 1, "m": 60, "h": 3600}[unit]
	n, err := strconv.ParseFloat(number, 64)
	return n / max(per, 1), text == "" || err == nil && n >= 0 && n <= 1e6 && per > 0
}

// perSecond is the rate, 0 without a limit: a server on this machine has none unless the
// user sets one.
func (o *Options) perSecond(local bool) float64 {
	rate, _ := parseRate(o.rate)
	if o.rate == "" && !local {
		return defaultRate
	}
	return rate
}

// runs reports that rules of a mode are judged.
func (o *Options) runs(mode lint.Mode) bool {
	switch mode {
	case lint.Negative:
		return o.negative
	case lint.Calls:
		return len(o.tools) > 0 || o.readOnly
	}
	return true
}

func newGet(endpoint string) (*http.Request, error) {
	return http.NewRequest(http.MethodGet, endpoint, nil)
}
