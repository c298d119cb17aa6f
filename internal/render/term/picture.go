package term

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/iterm2"
	"github.com/charmbracelet/x/ansi/kitty"
	"github.com/charmbracelet/x/ansi/sixel"
	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

// The ways in which a terminal is shown a picture.
const (
	NoPictures = iota
	// HalfBlocks are characters of two coloured halves, which every terminal draws
	// that knows 256 colours.
	HalfBlocks
	// Kitty, ITerm and Sixel are protocols for pixels; a terminal that was not asked
	// whether it speaks one may print it as text.
	Kitty
	ITerm
	Sixel
)

// A Canvas says how pictures are drawn on a terminal. The zero Canvas draws none.
type Canvas struct {
	By int
	// Rows is the height of the terminal; 0 is 24.
	Rows int
	// CellWidth and CellHeight are a character's size in pixels; 0 is 8 by 16.
	CellWidth, CellHeight int
	// TrueColor is set where half blocks may have 24 bits of colour in place of the
	// palette of 256.
	TrueColor bool
}

// maxPixels is what an image may have to be decoded: 80 MB of memory. A file of
// some kilobytes can claim gigabytes.
const maxPixels = 20_000_000

// A decoder reads one format: the size in pixels, and the (first) picture.
type decoder struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// decoders gives the decoder of a type. Nothing is registered, and what the bytes are
// is found from the bytes.
func decoderFor(mime string) *decoder {
	switch mime {
	case "image/png":
		return &decoder{png.DecodeConfig, decodePNG}
	case "image/jpeg":
		return &decoder{jpeg.DecodeConfig, jpeg.Decode}
	case "image/gif":
		return &decoder{gif.DecodeConfig, gif.Decode}
	case "image/webp":
		return &decoder{webp.DecodeConfig, webp.Decode}
	}
	return nil
}

// CanDraw reports whether pictures of a media type can be drawn.
func CanDraw(mime string) bool { return decoderFor(mime) != nil }

// PictureSize is the size in pixels that the header of a picture gives.
func PictureSize(mime string, data []byte) (image.Point, error) {
	c, err := decoderFor(mime).config(bytes.NewReader(data))
	return image.Pt(c.Width, c.Height), err
}

// decodePNG leaves out what is about a picture and no part of it, a profile of its
// colours for instance, before Go's decoder finds that its checksum is wrong: other
// programs show such a picture, and real servers send them.
func decodePNG(r io.Reader) (image.Image, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	const signature, frame = 8, 12 // the frame of a chunk: its length, its name, its checksum
	needed := append([]byte(nil), data[:min(signature, len(data))]...)
	for rest := data[len(needed):]; len(rest) >= frame; {
		size := uint64(binary.BigEndian.Uint32(rest)) + frame
		if size > uint64(len(rest)) {
			size = uint64(len(rest)) // cut: the decoder says so
		}
		// A small first letter is an ancillary chunk (PNG, section 5.4); tRNS is one
		// that is drawn.
		if name := string(rest[4:8]); name[0]&0x20 == 0 || name == "tRNS" {
			needed = append(needed, rest[:size]...)
		}
		rest = rest[size:]
	}
	return png.Decode(bytes.NewReader(needed))
}

// pixels decodes an image, unless it claims to be too large.
func decodePicture(mime string, data []byte) (image.Image, error) {
	size, err := PictureSize(mime, data)
	if err != nil {
		return nil, errors.New("damaged header")
	}
	if size.X <= 0 || size.Y <= 0 {
		return nil, errors.New("it has no pixels")
	}
	if size.X > maxPixels/size.Y {
		return nil, fmt.Errorf("more than %d million pixels", maxPixels/1_000_000)
	}
	img, err := decoderFor(mime).decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	if img.Bounds().Empty() {
		return nil, errors.New("it has no pixels")
	}
	return img, nil
}

// DrawPicture gives what draws a picture of a media type that can be drawn, and the
// line end behind it.
func DrawPicture(st Style, mime string, data []byte) ([]byte, error) {
	img, err := decodePicture(mime, data)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := st.Canvas.withDefaults().draw(&out, img, st.Columns()); err != nil {
		return nil, errors.New("it could not be encoded")
	}
	return out.Bytes(), nil
}

// maxSide is how wide and how high PNG makes a picture.
const maxSide = 2048

// PNG gives a picture of a media type as a PNG that has nothing of its bytes, made smaller
// where it is large.
func PNG(mime string, data []byte) ([]byte, error) {
	if !CanDraw(mime) {
		return nil, errors.New("no PNG, JPEG, GIF or WebP")
	}
	img, err := decodePicture(mime, data)
	if err != nil {
		return nil, err
	}
	size := shrinkTo(img.Bounds().Size(), image.Pt(maxSide, maxSide))
	var out bytes.Buffer
	if err := png.Encode(&out, scale(img, size)); err != nil {
		return nil, errors.New("it could not be encoded")
	}
	return out.Bytes(), nil
}

// draw writes a picture and the line end behind it.
func (c Canvas) draw(out *bytes.Buffer, img image.Image, columns int) error {
	cells, size := c.fit(img.Bounds().Size(), columns)
	scaled := scale(img, size)
	switch c.By {
	case HalfBlocks:
		c.halfBlocks(out, scaled)
		return nil
	case Kitty:
		// Quiet 2: the terminal sends no answer, because mcpc would not read it. The size
		// is that of the pixels: in whole cells the picture would be stretched.
		err := kitty.EncodeGraphics(out, scaled, &kitty.Options{Action: kitty.TransmitAndPut, Transmission: kitty.Direct,
			Format: kitty.PNG, Quiet: 2, Chunk: true})
		out.WriteByte('\n')
		return err
	case ITerm:
		var b bytes.Buffer
		err := png.Encode(&b, scaled)
		out.WriteString(
			ansi.ITerm2(iterm2.File{Size: int64(b.Len()), Width: iterm2.Cells(cells.X), Height: iterm2.Cells(cells.Y),
				Inline: true, Content: base64.StdEncoding.AppendEncode(nil, b.Bytes())}) + "\n",
		)
		return err
	case Sixel:
		var b bytes.Buffer
		err := (&sixel.Encoder{}).Encode(&b, scaled)
		out.WriteString(ansi.SixelGraphics(0, 1, 0, b.Bytes()) + "\n")
		return err
	}
	return errors.New("not supported by the terminal")
}

// settled puts in what is not known. A half block is one pixel wide and two high.
func (c Canvas) withDefaults() Canvas {
	if c.Rows <= 0 {
		c.Rows = 24
	}
	if c.By == HalfBlocks {
		c.CellWidth = 1
		c.CellHeight = 2
	}
	if c.CellWidth <= 0 || c.CellHeight <= 0 {
		c.CellWidth = 8
		c.CellHeight = 16
	}
	return c
}

const (
	// A picture is at most this wide; its height leaves a third of the screen.
	maxCells = 80
	// maxMagnifiedRows is the height in rows up to which a small picture is magnified, by a
	// whole factor so that its pixels stay squares.
	maxMagnifiedRows = 6
)

// fit gives the cells that a picture of so many pixels takes, and the pixels that it
// has there.
func (c Canvas) fit(size image.Point, columns int) (cells, scaled image.Point) {
	most := image.Pt(max(1, min(columns-1, maxCells))*c.CellWidth, max(1, c.Rows*2/3)*c.CellHeight)
	if c.By != HalfBlocks {
		size = size.Mul(max(1, min(maxMagnifiedRows*c.CellHeight/size.Y, most.X/size.X)))
	}
	size = shrinkTo(size, most)
	cells = image.Pt((size.X+c.CellWidth-1)/c.CellWidth, (size.Y+c.CellHeight-1)/c.CellHeight)
	return cells, size
}

// within makes a size smaller where it is larger than the most, in its proportions.
func shrinkTo(size, most image.Point) image.Point {
	if size.X > most.X {
		size = image.Pt(most.X, size.Y*most.X/size.X)
	}
	if size.Y > most.Y {
		size = image.Pt(size.X*most.Y/size.Y, most.Y)
	}
	return image.Pt(max(1, size.X), max(1, size.Y))
}

// scale gives a picture with so many pixels.
func scale(img image.Image, size image.Point) *image.NRGBA {
	scaled := image.NewNRGBA(image.Rectangle{Max: size})
	var by draw.Scaler = draw.NearestNeighbor
	if size.X < img.Bounds().Dx() {
		by = draw.ApproxBiLinear
		// Where very much is left out the mean of all of it is what is seen.
		if img.Bounds().Dx() <= 4096 {
			by = draw.CatmullRom
		}
	}
	by.Scale(scaled, scaled.Bounds(), img, img.Bounds(), draw.Src, nil)
	return scaled
}

// halfBlocks draws two rows of pixels in each line. What is transparent shows the
// terminal's own ground.
func (c Canvas) halfBlocks(out *bytes.Buffer, img *image.NRGBA) {
	for y := 0; y < img.Rect.Dy(); y += 2 {
		last := ""
		var line strings.Builder
		for x := range img.Rect.Dx() {
			upper := c.pixelColor(img, x, y)
			lower := c.pixelColor(img, x, y+1)
			sgr := "0;3" + upper + ";4" + lower
			mark := "▀"
			switch {
			case upper == "" && lower == "":
				sgr = "0"
				mark = " "
			case upper == "":
				sgr = "0;3" + lower
				mark = "▄"
			case lower == "":
				sgr = "0;3" + upper
			}
			if sgr != last {
				line.WriteString("\x1b[" + sgr + "m")
				last = sgr
			}
			line.WriteString(mark)
		}
		out.WriteString(line.String() + "\x1b[0m\n")
	}
}

// ground returns a pixel's colour as it follows the 3 or the 4 in an SGR sequence;
// "" where the pixel is transparent or outside.
func (c Canvas) pixelColor(img *image.NRGBA, x, y int) string {
	if y >= img.Rect.Dy() {
		return ""
	}
	pixel := img.NRGBAAt(x, y)
	if pixel.A < 128 {
		return ""
	}
	if c.TrueColor {
		return fmt.Sprintf("8;2;%d;%d;%d", pixel.R, pixel.G, pixel.B)
	}
	return fmt.Sprintf("8;5;%d", paletteIndex(pixel))
}

// indexed is the nearest colour of the palette of 256: of its cube of six steps each,
// or of its 24 greys.
func paletteIndex(c color.NRGBA) int {
	step := func(v uint8) (index, value int) {
		index = (int(v) - 35) / 40
		if v < 48 {
			index = 0
		} else if v < 115 {
			index = 1
		}
		return index, []int{0, 95, 135, 175, 215, 255}[index]
	}
	r, red := step(c.R)
	g, green := step(c.G)
	b, blue := step(c.B)
	grey := max(0, min(23, (int(c.R)+int(c.G)+int(c.B)-3*3)/30))
	level := 8 + 10*grey
	if distance(c, level, level, level) < distance(c, red, green, blue) {
		return 232 + grey
	}
	return 16 + 36*r + 6*g + b
}

func distance(c color.NRGBA, r, g, b int) int {
	r = r - int(c.R)
	g = g - int(c.G)
	b = b - int(c.B)
	return r*r + g*g + b*b
}
