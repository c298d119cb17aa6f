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

// The ways to draw a picture on a terminal.
const (
	NoPictures = iota
	// HalfBlocks are characters of two coloured halves, for every terminal with 256 colours.
	HalfBlocks
	// Kitty, ITerm and Sixel are protocols for pixels. A terminal that does not support one can
	// print it as text.
	Kitty
	ITerm
	Sixel
)

// A Canvas describes how pictures are drawn on a terminal. The zero Canvas draws nothing.
type Canvas struct {
	Method int
	// Rows is the height of the terminal; 0 is 24.
	Rows int
	// CellWidth and CellHeight are a character's size in pixels; 0 is 8 by 16.
	CellWidth, CellHeight int
	// TrueColor allows 24-bit colours in half blocks; otherwise they use the palette of 256.
	TrueColor bool
}

// maxPixels is the largest image that is decoded: 80 MB of memory. A file of some kilobytes can
// claim gigabytes.
const maxPixels = 20_000_000

// A decoder reads one image format: the size in pixels, and the first picture.
type decoder struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// decoderFor returns the decoder of a media type, or nil.
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

// CanDraw reports whether mcpc can draw pictures of a media type.
func CanDraw(mime string) bool { return decoderFor(mime) != nil }

// PictureSize returns the size in pixels in the header of a picture. mime must be a type that
// CanDraw.
func PictureSize(mime string, data []byte) (image.Point, error) {
	c, err := decoderFor(mime).config(bytes.NewReader(data))
	return image.Pt(c.Width, c.Height), err
}

// decodePNG decodes a PNG without its ancillary chunks, a colour profile for instance. Go's decoder
// fails if one has a wrong checksum; other programs show the picture, and real servers send it.
func decodePNG(r io.Reader) (image.Image, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	const (
		signature = 8
		frame     = 12 // length, name and checksum of a chunk
	)
	needed := append([]byte(nil), data[:min(signature, len(data))]...)
	for rest := data[len(needed):]; len(rest) >= frame; {
		size := uint64(binary.BigEndian.Uint32(rest)) + frame
		if size > uint64(len(rest)) {
			size = uint64(len(rest)) // truncated: the decoder fails
		}
		// The name of an ancillary chunk begins with a lower-case letter (PNG, section 5.4). tRNS has
		// the transparency.
		if name := string(rest[4:8]); name[0]&0x20 == 0 || name == "tRNS" {
			needed = append(needed, rest[:size]...)
		}
		rest = rest[size:]
	}
	return png.Decode(bytes.NewReader(needed))
}

// decodePicture decodes an image of at most maxPixels.
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

// DrawPicture returns the bytes that draw a picture on the terminal, with a line end. mime must be
// a type that CanDraw.
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

// maxSide is the largest width and height of a picture that PNG returns.
const maxSide = 2048

// PNG encodes a picture again as a PNG of at most maxSide, without any byte of the original.
func PNG(mime string, data []byte) ([]byte, error) {
	if !CanDraw(mime) {
		return nil, errors.New("not a PNG, JPEG, GIF or WebP")
	}
	img, err := decodePicture(mime, data)
	if err != nil {
		return nil, err
	}
	size := shrinkTo(img.Bounds().Size(), image.Pt(maxSide, maxSide))
	var out bytes.Buffer
	if err := png.Encode(&out, scalePicture(img, size)); err != nil {
		return nil, errors.New("it could not be encoded")
	}
	return out.Bytes(), nil
}

// draw writes a picture and a line end.
func (c Canvas) draw(out *bytes.Buffer, img image.Image, columns int) error {
	cells, size := c.fitCells(img.Bounds().Size(), columns)
	scaled := scalePicture(img, size)
	switch c.Method {
	case HalfBlocks:
		c.drawHalfBlocks(out, scaled)
		return nil
	case Kitty:
		// Quiet 2: the terminal sends no response, because mcpc would not read it. Without a size in
		// cells the terminal does not stretch the picture.
		err := kitty.EncodeGraphics(out, scaled, &kitty.Options{
			Action:       kitty.TransmitAndPut,
			Transmission: kitty.Direct,
			Format:       kitty.PNG,
			Quiet:        2,
			Chunk:        true,
		})
		out.WriteByte('\n')
		return err
	case ITerm:
		var b bytes.Buffer
		err := png.Encode(&b, scaled)
		out.WriteString(ansi.ITerm2(iterm2.File{
			Size:    int64(b.Len()),
			Width:   iterm2.Cells(cells.X),
			Height:  iterm2.Cells(cells.Y),
			Inline:  true,
			Content: base64.StdEncoding.AppendEncode(nil, b.Bytes()),
		}) + "\n")
		return err
	case Sixel:
		var b bytes.Buffer
		err := (&sixel.Encoder{}).Encode(&b, scaled)
		// The 1 keeps the background under transparent pixels; the zeros are the defaults.
		out.WriteString(ansi.SixelGraphics(0, 1, 0, b.Bytes()) + "\n")
		return err
	}
	return errors.New("not supported by the terminal")
}

// withDefaults returns c with defaults for unknown sizes. A half block is one pixel wide and two
// high.
func (c Canvas) withDefaults() Canvas {
	if c.Rows <= 0 {
		c.Rows = 24
	}
	if c.Method == HalfBlocks {
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
	// maxCells is the largest width of a picture; its height leaves a third of the screen free.
	maxCells = 80
	// maxMagnifiedRows is the height that a small picture is magnified to, by a whole factor so
	// that its pixels stay squares.
	maxMagnifiedRows = 6
)

// fitCells returns the cells for a picture of a size in pixels, and its size in pixels there.
func (c Canvas) fitCells(size image.Point, columns int) (cells, scaled image.Point) {
	most := image.Pt(max(1, min(columns-1, maxCells))*c.CellWidth, max(1, c.Rows*2/3)*c.CellHeight)
	if c.Method != HalfBlocks { // the factor of a picture that is not small is 1
		size = size.Mul(max(1, min(maxMagnifiedRows*c.CellHeight/size.Y, most.X/size.X)))
	}
	size = shrinkTo(size, most)
	cells = image.Pt((size.X+c.CellWidth-1)/c.CellWidth, (size.Y+c.CellHeight-1)/c.CellHeight)
	return cells, size
}

// shrinkTo returns size, reduced in proportion to at most most.
func shrinkTo(size, most image.Point) image.Point {
	if size.X > most.X {
		size = image.Pt(most.X, size.Y*most.X/size.X)
	}
	if size.Y > most.Y {
		size = image.Pt(size.X*most.Y/size.Y, most.Y)
	}
	return image.Pt(max(1, size.X), max(1, size.Y))
}

// scalePicture returns a picture scaled to size.
func scalePicture(img image.Image, size image.Point) *image.NRGBA {
	scaled := image.NewNRGBA(image.Rectangle{Max: size})
	var scaler draw.Scaler = draw.NearestNeighbor // a magnified pixel stays a square
	if size.X < img.Bounds().Dx() {
		scaler = draw.ApproxBiLinear
		if img.Bounds().Dx() <= 4096 { // CatmullRom reads all pixels and is slow for larger pictures
			scaler = draw.CatmullRom
		}
	}
	scaler.Scale(scaled, scaled.Bounds(), img, img.Bounds(), draw.Src, nil)
	return scaled
}

// drawHalfBlocks draws two rows of pixels in each line. Transparent pixels show the terminal's
// background.
func (c Canvas) drawHalfBlocks(out *bytes.Buffer, img *image.NRGBA) {
	for y := 0; y < img.Rect.Dy(); y += 2 {
		previous := "" // the SGR parameters in effect
		var line strings.Builder
		for x := range img.Rect.Dx() {
			upper := c.pixelColor(img, x, y)
			lower := c.pixelColor(img, x, y+1)
			sgr := "0;3" + upper + ";4" + lower // 0 resets, 3… is the colour of the mark, 4… the background
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
			if sgr != previous {
				line.WriteString("\x1b[" + sgr + "m")
				previous = sgr
			}
			line.WriteString(mark)
		}
		out.WriteString(line.String() + "\x1b[0m\n")
	}
}

// pixelColor returns a pixel's colour as it follows the 3 or the 4 in an SGR sequence; "" if the
// pixel is transparent or outside the image.
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

// cubeStep returns the step of a primary's nearest value in the palette's cube, and that value.
func cubeStep(value uint8) (step, nearest int) {
	steps := []int{0, 95, 135, 175, 215, 255}
	if value < 48 {
		step = 0
	} else if value < 115 {
		step = 1
	} else {
		step = (int(value) - 35) / 40 // from 95 on the values differ by 40
	}
	return step, steps[step]
}

// paletteIndex returns the nearest colour of xterm's palette of 256: in its cube of six steps for each
// primary, which begins at 16, or among its 24 greys, which begin at 232.
func paletteIndex(c color.NRGBA) int {
	r, red := cubeStep(c.R)
	g, green := cubeStep(c.G)
	b, blue := cubeStep(c.B)
	// The greys are 8, 18, … 238.
	grey := max(0, min(23, (int(c.R)+int(c.G)+int(c.B)-3*3)/30))
	level := 8 + 10*grey
	if distance(c, level, level, level) < distance(c, red, green, blue) {
		return 232 + grey
	}
	return 16 + 36*r + 6*g + b
}

// distance returns the squared distance of two colours.
func distance(c color.NRGBA, r, g, b int) int {
	dr := r - int(c.R)
	dg := g - int(c.G)
	db := b - int(c.B)
	return dr*dr + dg*dg + db*db
}
