// Package refrain is where oapi-codegen writes a client of openapi.yaml. The test that runs api does it, in a copy of this
// module; by hand:
//
//go:generate go tool oapi-codegen -config oapi-codegen.yaml ../../../../../../api/openapi.yaml
package refrain

import _ "github.com/oapi-codegen/runtime" // what it writes needs it
