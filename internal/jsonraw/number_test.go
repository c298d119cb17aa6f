package jsonraw

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// A whole number is written quickly as any number is.
func TestPlainNumbersWrittenQuickly(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	quick := 0
	for range 20_000 {
		digits := make([]byte, 1+random.IntN(24))
		for i := range digits {
			digits[i] = "0000123456789"[random.IntN(13)]
		}
		number := string(digits)
		switch random.IntN(8) {
		case 0:
			number = "-" + number
		case 1:
			number += ".50"
		case 2:
			number += "e3"
		}
		got, ok := plainWhole(number)
		if ok {
			quick++
		}
		if want := plainAny(number); ok && got != want || PlainNumber(number) != want {
			t.Fatalf("%s is %s, want %s", number, got, want)
		}
		if few := len(number) <= 18 && number[0] != '0' && !strings.ContainsAny(number, "-.e"); few && !ok {
			t.Fatalf("%s is not written quickly", number)
		}
	}
	if quick == 0 {
		t.Error("none was written quickly")
	}
}
