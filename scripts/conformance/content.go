package main

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// contentTools returns tools with a constant result.
func contentTools() []tool {
	rows := []tool{}
	for _, c := range []struct {
		name, description string
		result            *mcp.CallToolResult
	}{
		{"test_simple_text", "Returns a text", says("This is a simple text response for testing.")},
		{"test_image_content", "Returns an image", contents(redPixel())},
		{"test_audio_content", "Returns a sound", contents(&mcp.AudioContent{Data: []byte(silence), MIMEType: "audio/wav"})},
		{"test_embedded_resource", "Returns a resource", contents(
			embedded("test://embedded-resource", "text/plain", "This is an embedded resource content."))},
		{"test_multiple_content_types", "Returns a text, an image and a resource", contents(
			&mcp.TextContent{Text: "Multiple content types test:"}, redPixel(),
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`))},
		{"test_error_handling", "Returns a tool error", fails("This tool intentionally returns an error for testing")},
	} {
		rows = append(rows, tool{
			name: c.name, description: c.description,
			run: func(context.Context, *mcp.CallToolRequest, map[string]any) (*mcp.CallToolResult, error) {
				res := *c.result // a copy, because the SDK changes the result
				return &res, nil
			},
		})
	}
	return rows
}

func contents(content ...mcp.Content) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: content}
}

func embedded(uri, mimeType, text string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
}

func redPixel() *mcp.ImageContent { return &mcp.ImageContent{Data: pixel(), MIMEType: "image/png"} }

// pixel returns a PNG of one red pixel.
func pixel() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 1, 1))
	img.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// silence is a WAV file with two samples: mono, 8 bits, 8,000 Hz.
const silence = "RIFF\x26\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00" +
	"\x40\x1f\x00\x00\x40\x1f\x00\x00\x01\x00\x08\x00data\x02\x00\x00\x00\x80\x80"
