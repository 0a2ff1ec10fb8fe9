// Package devicetest is the tests of package cuda that run on whatever device the driver has: what a card has to pass
// before anybody believes its figures. All other tests of package cuda run on a simulated driver of theirs.
//
// Without a device the tests are skipped, or with REFRAIN_REQUIRE_GPU=1 they fail, so that a run on a card cannot pass by
// skipping. deploy/gpu-first-run runs them, and again under NVIDIA's compute-sanitizer.
//
// Nothing is promised of this package: see docs/ARCHITECTURE.md, Public packages.
package devicetest
