package demo

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// contentTools returns tools that return each type of content.
func contentTools() []tool {
	return []tool{{
		name:        "get-tiny-image",
		title:       "Get Tiny Image Tool",
		description: "Returns a tiny logo image.",
		input:       `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}`,
		hints:       readOnlyHints(),
		run:         getTinyImage,
	}, {
		name:        "get-annotated-message",
		title:       "Get Annotated Message Tool",
		description: "Demonstrates how annotations can be used to provide metadata about content.",
		input: `{"type":"object","properties":{
			"messageType":{"type":"string","enum":["error","success","debug"],` +
			`"description":"Type of message to demonstrate different annotation patterns"},
			"includeImage":{"type":"boolean","default":false,"description":"Whether to include an example image"}
		},"required":["messageType"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		hints: readOnlyHints(),
		run:   getAnnotatedMessage,
	}, {
		name:        "get-resource-links",
		title:       "Get Resource Links Tool",
		description: "Returns up to ten resource links that reference different types of resources",
		input: `{"type":"object","properties":{
			"count":{"type":"integer","minimum":1,"maximum":10,"default":3,` +
			`"description":"Number of resource links to return (1-10)"}
		},"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		hints: readOnlyHints(),
		run:   getResourceLinks,
	}, {
		name:        "get-resource-reference",
		title:       "Get Resource Reference Tool",
		description: "Returns a resource reference that can be used by MCP clients",
		input: `{"type":"object","properties":{
			"resourceType":{"type":"string","enum":["Text","Blob"],"default":"Text","description":"Kind of the resource"},
			"resourceId":{"type":"integer","minimum":1,"default":1,"description":"ID of the text resource to fetch"}
		},"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`,
		hints: readOnlyHints(),
		run:   getResourceReference,
	}}
}

func getTinyImage(context.Context, call) (*mcp.CallToolResult, error) {
	return result(textContent("Here's the image you requested:"), &mcp.ImageContent{Data: logo(), MIMEType: "image/png"},
		textContent("The image above is the mcpc logo.")), nil
}

// getAnnotatedMessage returns a text with annotations that depend on the messageType, and an image
// if requested.
func getAnnotatedMessage(_ context.Context, c call) (*mcp.CallToolResult, error) {
	message := map[string]*mcp.TextContent{
		"error":   annotatedText("Error: Operation failed", 1, "user", "assistant"),
		"success": annotatedText("Operation completed successfully", 0.7, "user"),
		"debug":   annotatedText("Debug: Cache hit ratio 0.95, latency 150ms", 0.3, "assistant"),
	}[c.args.stringValue("messageType")]
	res := result(message)
	if c.args.boolValue("includeImage") {
		res.Content = append(res.Content, &mcp.ImageContent{
			Data:        logo(),
			MIMEType:    "image/png",
			Annotations: &mcp.Annotations{Audience: []mcp.Role{"user"}, Priority: 0.5},
		})
	}
	return res, nil
}

func annotatedText(s string, priority float64, audience ...mcp.Role) *mcp.TextContent {
	return &mcp.TextContent{Text: s, Annotations: &mcp.Annotations{Audience: audience, Priority: priority}}
}

// getResourceLinks returns links to the resources from 1. Odd numbers are blobs.
func getResourceLinks(_ context.Context, c call) (*mcp.CallToolResult, error) {
	count := c.args.intValue("count")
	res := result(textContent(fmt.Sprintf("Here are %d resource links to resources available in this server:", count)))
	for i := 1; i <= count; i++ {
		kind := "Blob"
		what := "binary blob resource"
		if i%2 == 0 {
			kind = "Text"
			what = "plaintext resource"
		}
		r := dynamicResource(kind, fmt.Sprint(i))
		res.Content = append(res.Content, &mcp.ResourceLink{
			URI:         r.URI,
			Name:        fmt.Sprintf("%s Resource %d", kind, i),
			Description: fmt.Sprintf("Resource %d: %s", i, what),
			MIMEType:    r.MIMEType,
		})
	}
	return res, nil
}

func getResourceReference(_ context.Context, c call) (*mcp.CallToolResult, error) {
	id := formatDecimal(c.args.numberValue("resourceId"))
	r := dynamicResource(c.args.stringValue("resourceType"), id)
	return result(textContent("Returning resource reference for Resource "+id+":"), &mcp.EmbeddedResource{Resource: r},
		textContent("You can access this resource using the URI: "+r.URI)), nil
}
