package feed

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// What is wrong with a post, in our words.

func whatIsReplaced(quoted []byte) string {
	if utf8.Valid(quoted) {
		return "lone surrogate"
	}
	return "invalid UTF-8"
}

func wantedKind(f Field) string {
	switch f {
	case FieldID, FieldAuthor, FieldCreatedAt:
		return "a string or a number"
	}
	return "a string"
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	}
	return "an array"
}

// plainError says in our words what the JSON library found.
func plainError(err error) error {
	if err == nil {
		return nil
	}
	var syntax *jsontext.SyntacticError
	switch {
	case err == io.EOF:
		return errors.New("empty")
	case !errors.As(err, &syntax):
		return err
	case errors.Is(err, jsontext.ErrDuplicateName):
		return fmt.Errorf("%s: given twice", pointerPath(syntax.JSONPointer))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("malformed JSON: it ends too soon, at byte %d", syntax.ByteOffset)
	}
	if syntax.Err.Error() == libraryTooDeep {
		return fmt.Errorf("nested more than 10000 deep at byte %d, and the limit is %d", syntax.ByteOffset, MaxDepth)
	}
	return fmt.Errorf("malformed JSON at byte %d: %w", syntax.ByteOffset, syntax.Err)
}

// libraryTooDeep is what the JSON library says, with a value that it does not export, where it goes no deeper itself.
const libraryTooDeep = "exceeded max depth"

// pointerPath writes a JSON pointer with dots, as field maps do.
func pointerPath(p jsontext.Pointer) string {
	var names []string
	for name := range p.Tokens() {
		names = append(names, name)
	}
	path := strings.Join(names, ".")
	return path[:min(len(path), 100)]
}
