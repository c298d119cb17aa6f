package yaml

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"sync"
)

// ParseCore parses a document as Parse does, but by the core schema of YAML 1.2, for documents that
// other programs read by this schema: 014 and +14 are 14, 0x10 is 16, .5 is 0.5, and 1_000 and <<
// are texts.
func ParseCore(text []byte) (Document, error) { return parse(text, coreSchema) }

// coreInteger and coreDecimal match the numbers of the core schema. coreNoNumber matches numbers
// that JSON does not have.
var (
	coreInteger = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:0o[0-7]+|0x[0-9a-fA-F]+)$`) })
	coreDecimal = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([-+]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))([eE][-+]?[0-9]+)?$`)
	})
	coreNoNumber = sync.OnceValue(
		func() *regexp.Regexp { return regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`) },
	)
)

// maxDigits bounds an integer that is converted, whose cost grows faster than its length.
const maxDigits = 1000

// coreScalar returns a plain number as JSON, or the text of an error. It returns nil and "" if text
// is not a number.
func coreScalar(text string) (json.RawMessage, string) {
	if coreInteger().MatchString(text) && len(text) <= maxDigits {
		n, _ := new(big.Int).SetString(text, 0)
		return json.RawMessage(n.String()), ""
	}
	if parts := coreDecimal().FindStringSubmatch(text); parts != nil {
		sign := strings.TrimPrefix(parts[1], "+")
		whole := strings.TrimLeft(parts[2], "0")
		fraction := parts[3] + parts[4] // after digits, or without digits before the point
		exponent := parts[5]
		if whole == "" {
			whole = "0"
		}
		if fraction != "" {
			fraction = "." + fraction
		}
		return json.RawMessage(sign + whole + fraction + exponent), ""
	}
	if coreNoNumber().MatchString(text) {
		return nil, text + " is not a JSON number"
	}
	return nil, ""
}
