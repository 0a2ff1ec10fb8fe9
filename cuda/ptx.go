package cuda

import "embed"

// The kernels, as text for the driver's compiler.
//
//go:embed *.ptx
var ptx embed.FS
