package wire

import (
	"bytes"
	"testing"
)

func deepA(raw []byte) int {
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= MaxDepth { return -1 }
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			n := endOfString(raw[i+1:])
			if n < 0 { return -1 }
			i += n+1
		case '{', '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}
func endOfString(raw []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 { return -1 }
		i += n
		escapes := 0
		for k := i - 1; k >= 0 && raw[k] == '\\'; k-- { escapes++ }
		if escapes%2 == 0 { return i }
	}
}
var deepTable = func() (t [256]uint8) { t['"']=1; t['\\']=2; t['{']=3; t['[']=3; t['}']=4; t[']']=4; return }()

func deepB(raw []byte) int {
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= MaxDepth { return -1 }
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch deepTable[raw[i]] {
		case 1:
			i++
			for ; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' { i++ }
			}
		case 3:
			if depth++; depth > MaxDepth {
				return i
			}
		case 4:
			depth--
		}
	}
	return -1
}
func deepC(raw []byte) int {
	if bytes.Count(raw, []byte("{"))+bytes.Count(raw, []byte("[")) <= MaxDepth { return -1 }
	depth := 0
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c == '"' {
			i++
			for ; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' { i++ }
			}
			continue
		}
		if c < '[' { continue }
		switch c {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case '}', ']':
			depth--
		}
	}
	return -1
}

func BenchmarkDeep(b *testing.B) {
	for name, raw := range shapes(100 << 20) {
		for fn, f := range map[string]func([]byte) int{"0": tooDeep, "A": deepA, "B": deepB, "C": deepC} {
			b.Run(name+"/"+fn, func(b *testing.B) { for b.Loop() { f(raw) } })
		}
	}
}
