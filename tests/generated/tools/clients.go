// Package tools names what generated clients import, so that go.mod keeps it.
package tools

import (
	_ "github.com/google/uuid"
	_ "github.com/oapi-codegen/runtime"
	_ "github.com/oapi-codegen/runtime/types"
	_ "gopkg.in/validator.v2"
)
