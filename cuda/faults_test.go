//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"strings"
	"testing"

	"refrain/cuda/driver"
)

// What a kernel must not do is found, wherever a device would go on: that it is right on a device may be luck.
func TestFaults(t *testing.T) {
	const halfWarp = "and.b32 %r20, %r1, 31; setp.lt.u32 %p3, %r20, 16;"
	const ownWord = "shl.b32 %r20, %r1, 2; mov.u32 %r21, shared; add.s32 %r22, %r21, %r20;"
	for name, c := range map[string]struct {
		body string
		want string // "": nothing
	}{
		"nothing":                         {"", ""},
		"beyond an allocation":            {"st.global.v2.u32 [%rd4+8], {%r10, %r11}; bra $end;", "thread 255: 8 bytes at"},
		"half beyond an allocation":       {"ld.global.v2.u32 {%r10, %r11}, [%rd1+3068];", "are not in one allocation of the device"},
		"before an allocation":            {"ld.global.u32 %r10, [%rd1+-4];", "are not in one allocation of the device"},
		"null":                            {"mov.u64 %rd7, 0; ld.global.u32 %r10, [%rd7];", "4 bytes at 0x0 are not in one allocation"},
		"not aligned":                     {"ld.global.v2.u32 {%r10, %r11}, [%rd1+4];", "8 bytes at"},
		"not aligned in shared memory":    {ownWord + "st.shared.v2.u32 [%r22], {%r2, %r3};", "not aligned"},
		"beyond shared memory":            {"mov.u32 %r21, shared; st.shared.u32 [%r21+4096], %r1;", "are not in shared memory"},
		"beyond the argument":             {"ld.param.u32 %r10, [probe_param_0+16];", "are not in the argument"},
		"a barrier between":               {ownWord + "st.shared.u32 [%r22], %r1; bar.sync 0; ld.shared.u32 %r10, [%r21];", ""},
		"no barrier between":              {ownWord + "st.shared.u32 [%r22], %r1; bar.sync 0; st.shared.u32 [%r22], %r2; ld.shared.u32 %r10, [%r21];", "a race in shared memory"},
		"no barrier before the next":      {ownWord + "st.shared.u32 [%r22], %r1; bar.sync 0; ld.shared.u32 %r10, [%r21]; st.shared.u32 [%r22], %r1;", "a race in shared memory"},
		"two write":                       {"mov.u32 %r21, shared; st.shared.u32 [%r21], %r1;", "a race in shared memory: writes what another thread writes"},
		"all add":                         {"mov.u32 %r21, shared; setp.eq.s32 %p3, %r1, 0; @%p3 st.shared.u32 [%r21], %r1; bar.sync 0; atom.shared.add.u32 %r10, [%r21], 1;", ""},
		"one adds, others read":           {"mov.u32 %r21, shared; atom.shared.add.u32 %r10, [%r21], 1; ld.shared.u32 %r10, [%r21];", "a race in shared memory: reads what another thread writes"},
		"a result twice":                  {"st.global.v2.u32 [%rd4], {%r10, %r11};", "a word of device memory is written twice"},
		"two write a result":              {"st.global.v2.u32 [%rd2], {%r10, %r11}; bra $end;", "a word of device memory is written twice"},
		"reads a result":                  {"st.global.v2.u32 [%rd4], {%r10, %r11}; ld.global.u32 %r10, [%rd4]; bra $end;", "is read that the launch writes"},
		"writes what was read":            {"ld.global.u32 %r10, [%rd2];", "is written that the launch reads"},
		"adds to what was read":           {"ld.global.u32 %r10, [%rd2]; atom.global.add.u64 %rd7, [%rd2], 1; bra $end;", "an atomic addition to what the launch reads"},
		"all vote":                        {halfWarp + "mov.u32 %r21, -1; @%p3 bra $vote; mov.u32 %r10, 1; $vote: vote.sync.any.pred %p4, %p1, %r21;", ""},
		"half of a warp votes":            {halfWarp + "mov.u32 %r21, -1; @%p3 bra $on; vote.sync.any.pred %p4, %p1, %r21; $on: mov.u32 %r10, 1;", ""}, // the others have ended by then
		"half of a warp waits":            {halfWarp + "mov.u32 %r21, -1; @%p3 bra $on; vote.sync.any.pred %p4, %p1, %r21; $on: bar.sync 0;", "a lane waits for others of its warp that went elsewhere"},
		"two votes":                       {halfWarp + "mov.u32 %r21, -1; @%p3 bra $on; vote.sync.any.pred %p4, %p1, %r21; bra $end; $on: vote.sync.any.pred %p4, %p1, %r21;", "went elsewhere"},
		"a mask without its own":          {"mov.u32 %r21, 1; vote.sync.any.pred %p4, %p1, %r21;", "a mask that not all lanes share, or without its own"},
		"a lane that is not there":        {halfWarp + "mov.u32 %r21, 65535; @!%p3 bra $end; shfl.sync.idx.b32 %r10, %r2, 20, 31, %r21;", "which is not there"},
		"a product after half have ended": {halfWarp + "@%p3 bra $end; mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%r10,%r11,%r20,%r21}, {%r2,%r3}, {%r4}, {%r2,%r3,%r4,%r2};", "went elsewhere"},
		"half of a warp at a barrier":     {halfWarp + "@%p3 bra $on; bar.sync 0; $on: mov.u32 %r10, 1;", "went elsewhere"},
		"one warp not at a barrier":       {"setp.lt.u32 %p3, %r1, 32; @%p3 bra $end; bar.sync 0;", "not all threads of the block come to this barrier"},
		"two barriers":                    {"setp.lt.u32 %p3, %r1, 32; @%p3 bra $on; bar.sync 0; bra $end; $on: bar.sync 0; bra $end;", "not all threads of the block come to this barrier"},
		"a register without a value":      {"add.s32 %r10, %r30, 1;", "uses a register that has no value"},
		"a register some have written":    {halfWarp + "@%p3 mov.u32 %r30, 1; add.s32 %r10, %r30, 1;", "uses a register that has no value"},
		"shared memory without a value":   {ownWord + "ld.shared.u32 %r30, [%r22]; add.s32 %r10, %r30, 1;", "uses a register that has no value"},
		"no end":                          {"$again: bra $again;", "does not come to an end"},
		"an unknown instruction":          {"add.f32 %r10, %r2, %r3;", "line 33: no such instruction here: add.f32"},
		"a register of another width":     {"add.s32 %r10, %rd5, %r3;", "no such instruction here: add.s32"},
		"no such label":                   {"bra $nowhere;", "no label $nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.fake.Complains, r.fake.Forget = true, c.want != ""
			_, code := r.probe(c.body, &probeInput{})
			log := r.fake.Log()
			if c.want == "" && (code != driver.Success || strings.Contains(log, "WRONG")) {
				t.Errorf("error %d:\n%s", code, log)
			}
			if c.want != "" && (code == driver.Success || !strings.Contains(log, c.want)) {
				t.Errorf("error %d, want %q:\n%s", code, c.want, log)
			}
		})
	}
}
