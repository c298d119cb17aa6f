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

// A Word is one argument as typed: PATH=TEXT, PATH:=JSON, PATH=@FILE or PATH:=@FILE. `mcpc help
// arguments` has the grammar.
type Word struct {
	Typed string
	Path  []Part
	// Raw is the value if its type is known. Otherwise it is nil, and the schema decides the type
	// of Text.
	Raw  json.RawMessage
	Text string
}

// A Part of a path selects a property of an object by Name, or an item of a list by its number.
type Part struct {
	Name   string
	isItem bool
	index  int // number of the item; appendIndex appends
}

// appendIndex is the number of an item that is appended.
const appendIndex = -1

// Key returns the path as typed.
func (w Word) Key() string {
	pathEnd, _ := Operator(w.Typed)
	return w.Typed[:pathEnd]
}

// ParseWord parses one word, and reads the file that it names. With flat, it has a name instead of a
// path. After an error the result has only Typed, and perhaps Path.
func ParseWord(e *host.Env, typed string, flat bool) (Word, error) {
	w := Word{Typed: typed}
	pathEnd, valueStart := Operator(typed)
	if pathEnd < 0 {
		return w, usage.New("not NAME=VALUE: "+Shortened(typed), `arguments are NAME=VALUE, or one JSON object: '{"a":1}'`)
	}
	if !utf8.ValidString(typed) {
		return w, usage.New(Shortened(typed)+" is not UTF-8, which JSON requires", "")
	}
	var err error
	w.Path, err = ReadPath(typed[:pathEnd], flat)
	if err != nil {
		return w, usage.New(Shortened(typed)+": "+err.Error(), wire.Run("help arguments"))
	}
	value := typed[valueStart:]
	isJSON := typed[pathEnd] == ':'
	source := "the value of " + w.Key()
	if strings.HasPrefix(value, "@") {
		raw, name, err := e.UI.Input(value)
		usageError, isUsage := errors.AsType[usage.Error](err)
		hasBetterHint := !isUsage || usageError.Hint != ""
		if err != nil && hasBetterHint {
			return w, err
		}
		if err != nil { // the user may have meant the string "@…", not a file
			return w, usage.New(
				err.Error(),
				wire.Hint(shellwords.Quote(w.Key()+":="+string(jsonraw.Quote(value)))+" sends this string"),
			)
		}
		if !isJSON && !utf8.Valid(raw) {
			return w, usage.New(name+" is not UTF-8, which JSON requires", "")
		}
		value = string(raw)
		source = name
		w.Raw = jsonraw.Quote(value) // PATH=@FILE is a string, whatever the schema says
	}
	w.Text = value
	if isJSON {
		w.Raw = json.RawMessage(strings.TrimSpace(value))
		if bad := jsonraw.Valid(w.Raw); bad != nil {
			return w, &usage.JSONError{
				Text:  source + " is not JSON: " + bad.Error(),
				Hint:  wire.Hint(w.Key() + "=… sends a string unchanged"),
				Facts: wire.InputFacts{Raw: w.Raw, Offset: bad.Offset},
			}
		}
	}
	return w, nil
}

// ReadPath parses a path such as a.b, a[0] or a[]. A backslash makes the next character a part of
// the name. With flat, the whole text is one name.
func ReadPath(text string, flat bool) (path []Part, err error) {
	name := []byte(nil)
	hasName := false // a name has begun; a \ may make it of any character
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			name = append(name, text[i])
			hasName = true
		case c == '\\':
			return nil, errors.New("a character is missing after the backslash")
		case flat || c != '.' && c != '[':
			name = append(name, c)
			hasName = true
		case c == '.':
			if !hasName && !endsWithItem(path) {
				return nil, errors.New("a name is missing before the dot")
			}
			path = appendName(path, &name, hasName)
			hasName = false
			if i+1 == len(text) {
				return nil, errors.New("a name is missing after the dot")
			}
		default: // [
			if !hasName && !endsWithItem(path) {
				return nil, errors.New("a name is missing before the [")
			}
			path = appendName(path, &name, hasName)
			hasName = false
			item, length, bad := readIndex(text[i:])
			if bad != nil {
				return nil, bad
			}
			path = append(path, item)
			i += length - 1 // to the ]
			if i+1 < len(text) && text[i+1] != '.' && text[i+1] != '[' {
				return nil, errors.New("only a dot or a [ can follow ]")
			}
		}
	}
	path = appendName(path, &name, hasName)
	if len(path) == 0 {
		return nil, errors.New("a name is missing before the =")
	}
	return path, nil
}

// endsWithItem reports whether the last part of a path is an item such as [0]. No name has to follow
// it.
func endsWithItem(path []Part) bool { return len(path) > 0 && path[len(path)-1].isItem }

// appendName appends the name to the path if hasName is set, and empties the name in either case.
func appendName(path []Part, name *[]byte, hasName bool) []Part {
	if hasName {
		path = append(path, Part{Name: string(*name)})
	}
	*name = nil
	return path
}

// readIndex parses the [] or [3] that text begins with. length is its number of bytes.
func readIndex(text string) (item Part, length int, err error) {
	inner, _, closed := strings.Cut(text[1:], "]")
	item = Part{isItem: true, index: appendIndex}
	if closed && inner == "" {
		return item, 2, nil
	}
	n, bad := strconv.ParseUint(inner, 10, 31) // fits in an int on all systems
	if !closed || bad != nil {
		return item, 0, errors.New("[ ] takes a number, or nothing to append; write \\[ for a literal [")
	}
	item.index = int(n)
	return item, len(inner) + 2, nil
}

// assignments record which places the words have set, so that two words cannot set the same place.
type assignments struct {
	flat bool
	// set has the places that a word sets, entered the objects and lists that lead to one, each
	// with the word.
	set, entered map[string]string
	// appends says for each list whether words append to it.
	appends map[string]bool
	// appended counts the appended items.
	appended int
}

// newAssignments returns empty assignments. flat is the argument of ReadPath.
func newAssignments(flat bool) *assignments {
	return &assignments{flat: flat, set: map[string]string{}, entered: map[string]string{}, appends: map[string]bool{}}
}

// add records a word. It returns an error that names an earlier word if that set the same place or a
// place inside of it, and an error if a list has both [] and numbers. A place inside of an earlier
// word's value is no error here: putAt reports it if the value is neither an object nor a list.
func (p *assignments) add(w Word) error {
	var place strings.Builder // the path so far, in a form that differs for different places
	for i, part := range w.Path {
		if part.isItem {
			isAppending := part.index == appendIndex
			wasAppending, isKnown := p.appends[place.String()]
			if isKnown && isAppending != wasAppending {
				return usage.New(Shortened(w.Typed)+": use [] or numbers, not both", wire.Run("help arguments"))
			}
			p.appends[place.String()] = isAppending
		}
		if !part.isItem {
			place.WriteString("." + strconv.Quote(part.Name))
		} else if part.index == appendIndex { // each [] is a different place
			p.appended++
			fmt.Fprintf(&place, "[+%d]", p.appended)
		} else {
			fmt.Fprintf(&place, "[%d]", part.index)
		}
		isLast := i == len(w.Path)-1
		if !isLast {
			if p.entered[place.String()] == "" {
				p.entered[place.String()] = w.Typed // the first word is named in errors
			}
			continue
		}
		if before := cmp.Or(p.set[place.String()], p.entered[place.String()]); before != "" {
			hint := w.Key() + "[]=… for each value makes a list"
			if p.flat {
				hint = "use only one of them"
			}
			return usage.New(
				fmt.Sprintf("%s and %s give the same argument twice", Shortened(before), Shortened(w.Typed)),
				wire.Hint(hint),
			)
		}
		p.set[place.String()] = w.Typed
	}
	return nil
}

// Shortened returns a quoted word for an error message.
func Shortened(typed string) string { return strconv.Quote(jsonraw.Excerpt([]byte(typed), 60)) }
