package term

import (
	"image/color"
	"testing"
)

// The nearest colour of 256 is found by looking at all of them.
func TestIndexedIsNearestOf256Colours(t *testing.T) {
	palette := map[int][3]int{}
	levels := []int{0, 95, 135, 175, 215, 255}
	for i := range 216 {
		palette[16+i] = [3]int{levels[i/36], levels[i/6%6], levels[i%6]}
	}
	for i := range 24 {
		palette[232+i] = [3]int{8 + 10*i, 8 + 10*i, 8 + 10*i}
	}
	for i := range 4096 {
		c := color.NRGBA{R: uint8(i / 256 * 17), G: uint8(i / 16 % 16 * 17), B: uint8(i % 16 * 17), A: 255}
		nearest := 1 << 30
		for _, p := range palette {
			nearest = min(nearest, distance(c, p[0], p[1], p[2]))
		}
		p := palette[paletteIndex(c)]
		if got := distance(c, p[0], p[1], p[2]); got > nearest {
			t.Fatalf("%v: %v is %d away, another %d", c, p, got, nearest)
		}
	}
}
