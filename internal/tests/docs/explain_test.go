package docs

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpc/internal/capture/filter"
	"mcpc/internal/capture/rows"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/glossary"
	"mcpc/internal/tests/module"
	"mcpc/internal/wire"
)

// Everything that mcpc can print is explained: the names of its findings are read from the source,
// so that a new name cannot be forgotten. The explanations are in internal/glossary/words.txt.
func TestEveryRuleIsExplained(t *testing.T) {
	entries, _ := glossary.Read()
	rules := map[string]string{
		wire.RuleMore: "internal/wire/finding.go", rows.RuleTorn: "internal/capture/rows/capture.go",
		transport.RuleStdoutNoise: "internal/client/transport/stdout_noise.go",
	}
	module.EachFile(t, func(name string, _ *token.FileSet, file *ast.File) {
		for _, rule := range rulesIn(file) {
			rules[rule] = name
		}
	})
	for _, must := range []string{"stdout_noise", "orphan", "subscription", "bom", "torn_line", "tool", "oneOf", "no_pkce", "utf8"} {
		if rules[must] == "" {
			t.Errorf("the rule %s was not found in the source", must)
		}
	}
	for rule, where := range rules {
		if glossary.Find(entries, rule) == nil {
			t.Errorf("%s has the rule %q, which mcpc explain does not know: internal/glossary/words.txt", where, rule)
		}
	}
	if len(rules) < 80 {
		t.Errorf("only %d rules were found", len(rules))
	}
}

// tellers are the functions whose first argument is a rule, or whose second argument is a rule if
// the first is something else.
var tellers = []string{"warn", "warnOnce", "addFinding", "addError", "addWarning", "badEntry", "notChecked"}

// rulesIn returns the texts in the places of rules.
func rulesIn(file *ast.File) (rules []string) {
	add := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if rule, err := strconv.Unquote(lit.Value); err == nil && !strings.ContainsAny(rule, " /%") {
				rules = append(rules, rule)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Rule" || key.Name == "rule") {
				add(n.Value)
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if sel, ok := left.(*ast.SelectorExpr); ok && sel.Sel.Name == "Rule" && i < len(n.Rhs) {
					add(n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			if is, ok := n.Type.(*ast.Ident); ok && is.Name == "Rule" {
				for _, value := range n.Values {
					add(value)
				}
			}
		case *ast.CallExpr:
			name := ""
			switch f := n.Fun.(type) {
			case *ast.Ident:
				name = f.Name
			case *ast.SelectorExpr:
				name = f.Sel.Name
			}
			// a.warn(text) of a command has no rule.
			if slices.Contains(tellers, name) && len(n.Args) > 1 {
				add(n.Args[0])
				add(n.Args[1])
			}
		}
		return true
	})
	return rules
}

// The codes anywhere in the source, and the phases of a request.
func TestEveryCodeAndPhaseIsExplained(t *testing.T) {
	entries, _ := glossary.Read()
	phase := glossary.Find(entries, "phase")[0].Means
	ranges := ""
	for _, e := range entries {
		if strings.Contains(e.Words[0], "..") {
			ranges += e.Words[0] + " "
		}
	}
	codes, phases := 0, 0
	module.EachFile(t, func(name string, _ *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.UnaryExpr:
				lit, ok := n.X.(*ast.BasicLit)
				if !ok || n.Op != token.SUB || len(lit.Value) != 5 || !strings.HasPrefix(lit.Value, "32") {
					return true
				}
				codes++
				found := glossary.Find(entries, "code -"+lit.Value)
				if !strings.Contains(ranges, "-"+lit.Value) && (len(found) != 1 || found[0].Words[0] != "-"+lit.Value) {
					t.Errorf("%s has the code -%s, which mcpc explain does not know", name, lit.Value)
				}
			case *ast.KeyValueExpr:
				key, ok := n.Key.(*ast.Ident)
				lit, isText := n.Value.(*ast.BasicLit)
				if ok && isText && (key.Name == "Phase" || key.Name == "phase") && lit.Value != `""` {
					phases++
					if word, _ := strconv.Unquote(lit.Value); !strings.Contains(phase, word) {
						t.Errorf("%s has the phase %s, which mcpc explain phase does not name", name, lit.Value)
					}
				}
			}
			return true
		})
	})
	if codes < 15 || phases < 15 {
		t.Errorf("only %d codes and %d phases were found", codes, phases)
	}
}

// The keywords of JSON Schema are rules too, by the names that the specification
// of JSON Schema gives them.
func TestEveryKeywordIsARuleThatIsExplained(t *testing.T) {
	entries, _ := glossary.Read()
	for _, keyword := range strings.Fields(`type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength
		pattern maxItems minItems uniqueItems maxContains minContains contains maxProperties minProperties required dependentRequired
		additionalProperties unevaluatedProperties unevaluatedItems additionalItems items propertyNames anyOf oneOf allOf not
		format contentEncoding contentMediaType contentSchema dependencies false schema`) {
		if glossary.Find(entries, keyword) == nil {
			t.Errorf("%s is not explained", keyword)
		}
	}
}

func TestEveryKindAndCodeIsExplained(t *testing.T) {
	entries, _ := glossary.Read()
	for _, e := range wire.ExitCodes {
		number := "exit " + fmt.Sprint(e.Code)
		if e.Kind == wire.Signal {
			number = "exit 130"
		}
		found := glossary.Find(entries, number)
		if len(found) != 1 || e.Kind != wire.OK && !slices.Contains(found[0].Words, string(e.Kind)) {
			t.Errorf("exit code %d, %q: %v", e.Code, e.Kind, found)
		}
	}
	for _, code := range []int{-32700, -32600, -32601, -32602, -32603, -32002, -32020, -32021, -32022, -32042, -32001, -32003, -32004, -1} {
		found := glossary.Find(entries, fmt.Sprint(code))
		if len(found) != 1 || found[0].Words[0] != fmt.Sprint(code) {
			t.Errorf("code %d: %v", code, found)
		}
	}
	for _, kind := range connect.Kinds {
		for _, word := range []string{kind.One, kind.Method} {
			if glossary.Find(entries, word) == nil {
				t.Errorf("%s is not explained", word)
			}
		}
	}
}

// Every word of mcpc log about an exchange can be explained.
func TestEveryWordOfTheLogIsExplained(t *testing.T) {
	entries, _ := glossary.Read()
	words := []string{rows.MethodStream, rows.MethodPipe}
	for _, text := range []string{"channel:x", "is:x"} {
		_, err := filter.Parse(text, time.Now(), nil)
		wrong, ok := errors.AsType[*filter.Error](err)
		if !ok {
			t.Fatal(err)
		}
		words = append(words, wrong.Known...)
	}
	for _, word := range words {
		if glossary.Find(entries, word) == nil {
			t.Errorf("%s is not explained", word)
		}
	}
}

func TestTheSearchForRulesCanFail(t *testing.T) {
	rules := map[string]bool{}
	module.EachFile(t, func(name string, _ *token.FileSet, file *ast.File) {
		if name == "internal/wire/message.go" {
			for _, r := range rulesIn(file) {
				rules[r] = true
			}
		}
	})
	for _, want := range []string{"bom", "surrogate", "empty_batch", "nested_batch", "duplicate_member", "jsonrpc", "shape", "method", "params", "error", "error_code", "error_message", "id"} {
		if !rules[want] {
			t.Errorf("the rule %s of message.go was not found", want)
		}
	}
}
