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
func ParseCore(text []byte) (Document, error) { return parse(text, true) }

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
	if m := coreDecimal().FindStringSubmatch(text); m != nil {
		number := strings.TrimPrefix(m[1], "+")
		if whole := strings.TrimLeft(m[2], "0"); whole != "" {
			number += whole
		} else {
			number += "0"
		}
		if fraction := m[3] + m[4]; fraction != "" {
			number += "." + fraction
		}
		return json.RawMessage(number + m[5]), ""
	}
	if coreNoNumber().MatchString(text) {
		return nil, text + " is not a JSON number"
	}
	return nil, ""
}
