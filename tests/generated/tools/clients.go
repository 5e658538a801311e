// Package tools lists the imports of generated clients, so that go.mod keeps them.
package tools

import (
	_ "github.com/google/uuid"
	_ "github.com/oapi-codegen/runtime"
	_ "github.com/oapi-codegen/runtime/types"
	_ "gopkg.in/validator.v2"
)
