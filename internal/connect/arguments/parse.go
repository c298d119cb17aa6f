package arguments

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A Word is one argument as it is typed: PATH=TEXT, PATH:=JSON, PATH=@FILE or
// PATH:=@FILE. `mcpc help arguments` has the grammar.
type Word struct {
	Typed string
	Path  []Part
	// Raw is the value where it is settled already; else text is one that the
	// schema gives a type.
	Raw  json.RawMessage
	Text string
}

// A Part of a path goes into an object, by name, or into a list: to the item at, or behind
// the last one.
type Part struct {
	Name string
	list bool
	at   int // behindLast appends
}

const behindLast = -1

// Key is the path as a person writes it.
func (w Word) Key() string {
	at, _ := Operator(w.Typed)
	return w.Typed[:at]
}

// ParseWord reads one. A flat one has a name in the place of a path.
func ParseWord(e *host.Env, typed string, flat bool) (Word, error) {
	w := Word{Typed: typed}
	at, from := Operator(typed)
	if at < 0 {
		return w, usage.New("not NAME=VALUE: "+Shortened(typed), `arguments are NAME=VALUE, or one JSON object: '{"a":1}'`)
	}
	if !utf8.ValidString(typed) {
		return w, usage.New(Shortened(typed)+" is not UTF-8, which JSON requires", "")
	}
	var err error
	w.Path, err = ReadPath(typed[:at], flat)
	if err != nil {
		return w, usage.New(Shortened(typed)+": "+err.Error(), wire.Run("help arguments"))
	}
	value := typed[from:]
	isJSON := typed[at] == ':'
	whose := "the value of " + w.Key()
	if strings.HasPrefix(value, "@") {
		raw, name, err := e.UI.Input(value)
		known, ok := errors.AsType[usage.Error](err)
		if err != nil && (!ok || known.Hint != "") {
			return w, err
		}
		if err != nil {
			return w, usage.New(
				err.Error(),
				wire.Hint(shellwords.Quote(w.Key()+":="+string(jsonraw.Quote(value)))+" sends this string"),
			)
		}
		if !isJSON && !utf8.Valid(raw) {
			return w, usage.New(name+" is not UTF-8, which JSON requires", "")
		}
		value = string(raw)
		whose = name
		w.Raw = jsonraw.Quote(value)
	}
	w.Text = value
	if isJSON {
		w.Raw = json.RawMessage(strings.TrimSpace(value))
		if bad := jsonraw.Valid(w.Raw); bad != nil {
			return w, &usage.JSONError{
				Text:  whose + " is not JSON: " + bad.Error(),
				Hint:  wire.Hint(w.Key() + "=… sends a string unchanged"),
				Facts: wire.InputFacts{Raw: w.Raw, Offset: bad.Offset},
			}
		}
	}
	return w, nil
}

// ReadPath reads a.b, a[0], a[] and what is made of them. A backslash makes the
// character behind it a part of the name.
func ReadPath(text string, flat bool) (path []Part, err error) {
	name := []byte(nil)
	named := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			name = append(name, text[i])
			named = true
		case c == '\\':
			return nil, errors.New("a character is missing after the backslash")
		case flat || c != '.' && c != '[':
			name = append(name, c)
			named = true
		case c == '.':
			if !named && (len(path) == 0 || !path[len(path)-1].list) {
				return nil, errors.New("a name is missing before the dot")
			}
			path = flush(path, &name, named)
			named = false
			if i+1 == len(text) {
				return nil, errors.New("a name is missing after the dot")
			}
		default:
			if !named && (len(path) == 0 || !path[len(path)-1].list) {
				return nil, errors.New("a name is missing before the [")
			}
			path = flush(path, &name, named)
			named = false
			item, length, bad := readIndex(text[i:])
			if bad != nil {
				return nil, bad
			}
			path = append(path, item)
			i = i + length - 1
			if i+1 < len(text) && text[i+1] != '.' && text[i+1] != '[' {
				return nil, errors.New("only a dot or a [ can follow ]")
			}
		}
	}
	path = flush(path, &name, named)
	if len(path) == 0 {
		return nil, errors.New("a name is missing before the =")
	}
	return path, nil
}

// flush ends a name.
func flush(path []Part, name *[]byte, named bool) []Part {
	if named {
		path = append(path, Part{Name: string(*name)})
	}
	*name = nil
	return path
}

// readIndex reads [], which appends, or [3].
func readIndex(text string) (item Part, length int, err error) {
	inner, _, closed := strings.Cut(text[1:], "]")
	item = (Part{list: true, at: behindLast})
	if closed && inner == "" {
		return item, 2, nil
	}
	n, bad := strconv.ParseUint(inner, 10, 31)
	if !closed || bad != nil {
		return item, 0, errors.New("[ ] takes a number, or nothing to append; write \\[ for a literal [")
	}
	item.at = int(n)
	return item, len(inner) + 2, nil
}

// placed keeps which places words have filled, so that no word can undo
// another one unnoticed.
type placed struct {
	flat            bool
	filled, entered map[string]string
	lists           map[string]bool
	appended        int
}

func newPlaced(flat bool) *placed {
	return &placed{flat: flat, filled: map[string]string{}, entered: map[string]string{}, lists: map[string]bool{}}
}

// put notes a word; its error names the one that it contradicts.
func (p *placed) put(w Word) error {
	var place strings.Builder
	for i, s := range w.Path {
		if s.list {
			appends, known := p.lists[place.String()]
			if known && appends != (s.at == behindLast) {
				return usage.New(Shortened(w.Typed)+": use [] or numbers, not both", wire.Run("help arguments"))
			}
			p.lists[place.String()] = s.at == behindLast
		}
		switch {
		case !s.list:
			place.WriteString("." + strconv.Quote(s.Name))
		case s.at == behindLast:
			p.appended++
			fmt.Fprintf(&place, "[+%d]", p.appended)
		default:
			fmt.Fprintf(&place, "[%d]", s.at)
		}
		if i < len(w.Path)-1 {
			if p.entered[place.String()] == "" {
				p.entered[place.String()] = w.Typed
			}
			continue
		}
		if before := cmp.Or(p.filled[place.String()], p.entered[place.String()]); before != "" {
			hint := w.Key() + "[]=… for each value makes a list"
			if p.flat {
				hint = "use only one of them"
			}
			return usage.New(
				fmt.Sprintf("%s and %s give the same argument twice", Shortened(before), Shortened(w.Typed)),
				wire.Hint(hint),
			)
		}
		p.filled[place.String()] = w.Typed
	}
	return nil
}

// Shortened is a word as an error names it.
func Shortened(typed string) string { return strconv.Quote(jsonraw.Excerpt([]byte(typed), 60)) }
